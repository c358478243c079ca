"""Behind the pack `file`: text in files, changes to it, and the listing and moving of files."""
