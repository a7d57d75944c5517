"""One package per pipeline stage; `dvc.yaml` says how they are connected."""
