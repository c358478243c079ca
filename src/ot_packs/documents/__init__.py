"""Files that people send each other, taken as hostile: what one is, what a zip holds, how a failure is put."""
