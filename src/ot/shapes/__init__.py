"""Shapes: the types of what tools returned, for those that do not declare it; never their values."""
