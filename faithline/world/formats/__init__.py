"""Writers of the public data sets' own formats, one module each, and the streaming files they share."""
