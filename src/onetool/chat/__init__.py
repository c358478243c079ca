"""A conversation with the assistant in a terminal."""
