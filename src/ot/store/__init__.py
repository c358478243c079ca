"""What outlives a process, behind narrow protocols."""
