"""Cluster runs: a stage in a pod is a DVC run whose inputs, outputs and lock travel through the store.

A run R in a store:

    dvc/                          a DVC remote: files/md5 (objects by hash), runs (DVC's run cache)
    runs/R/run.json               what the run is: params document, digest of dvc.yaml, git commit
    runs/R/STAGE/lease.json       who runs the stage now; counts as released once it is old
    runs/R/STAGE/fragment.yaml    the stage's part of dvc.lock; written last, never changed: the stage is done
    runs/R/STAGE/attempts/        one record per attempt
    runs/R/STAGE/tombstone.json   the stage failed for good: later attempts with `--tombstone` end at once
    runs/R/STAGE/checkpoints/     PPO checkpoints (`faithline.store.checkpoints`)

What makes it right is that objects are named by their content and that the fragment is written last, once. The lease
only saves work: were it to fail, two runners would do the same thing twice and the first fragment would count.
"""
