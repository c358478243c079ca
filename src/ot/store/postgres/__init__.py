"""The store that replicas share: PostgreSQL, through one link a process, with one schema that migrations make."""
