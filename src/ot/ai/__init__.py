"""AI clients: a conversation with a model that uses our tools, the same whoever serves the model."""
