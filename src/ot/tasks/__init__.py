"""Tasks with one owner, and work that is done on a thread."""
