"""Stage generate_sample: the embedded evidence-world sample, in the public data sets' own formats."""
