"""What a cluster run needs beyond the pipeline: pools, tasks, manifests' rules, plan, doctor."""
