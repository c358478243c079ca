"""What stands behind built-in packs that need more than their one file: a room for each."""
