"""The run tool for a person at a terminal."""
