"""Gates on the prepared data: what must hold before anything is trained, and whether the data have drifted.

One pass over the tables measures (`profile`), limits of `params.yaml` become checks (`limits`, `checks`), Great
Expectations judges them and renders Data Docs (`gx`), and the same pass gives the snapshot that later data are compared
with (`snapshot`, `drift`). `gate.check_data` runs it all.
"""
