"""The tools that a model is offered, and the calls that it asks for."""
