"""Where runs keep what all their machines share: objects on S3 or in a mounted folder, and checkpoints made of them.

Apart from `faithline.pipeline`, on which every stage depends: a change here re-runs no stage.
"""
