"""A pack from an OpenAPI description: one typed function for each operation, in a file that a person can read."""
