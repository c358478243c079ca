"""Checks of everything that OneTool depends on: each finding is green, yellow or red, with a fix."""
