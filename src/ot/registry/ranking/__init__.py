"""Which tools fit a request: full text ranking without a model."""
