"""Tools ranked by how well they fit a request: full text search without a model."""
