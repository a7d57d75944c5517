"""The pipeline on Kubeflow: the compiled pipeline, the wrapper inside a task, the client."""
