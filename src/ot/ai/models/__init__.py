"""Models: their interface, retries, failover, and the cost of requests."""
