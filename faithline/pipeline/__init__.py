"""What every stage and every orchestrator binding shares; imports no torch, kfp or airflow at module level."""
