"""The parts of docs/reference that are derived from the source, each from the place that the program itself reads."""
