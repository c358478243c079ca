"""A look at everything that OneTool stands on: each finding is green, yellow or red, and has its fix."""
