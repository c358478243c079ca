"""Behind the pack `shell`: which programs may be run, and what is kept of their output."""
