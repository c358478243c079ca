"""The store: everything that outlives a process, behind narrow protocols."""
