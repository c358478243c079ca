"""A live connection to one server, the attempt at one, and what the server asks through it."""
