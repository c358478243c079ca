"""Skills: code that worked, kept as functions that a run executes in its own kernel."""
