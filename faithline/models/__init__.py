"""Where models come from: a named model and its sources in, one local folder in Hugging Face layout out.

`spec` says what `params.yaml` may ask for, `resolve` picks the source, `registry`, `hub` and `folder` each know one
kind, `wheel` unpacks, `gguf` converts. Digests are checked before anything is parsed; nothing is ever unpickled.
"""
