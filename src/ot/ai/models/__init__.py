"""Who is asked: what a model is, retries, failover, and what requests cost."""
