"""The files that tools may reach: the allowed roots, and the one way to a file in them."""
