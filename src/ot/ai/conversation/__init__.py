"""A conversation in a form that belongs to no provider, and what is remembered of it."""
