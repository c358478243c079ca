"""Registries of packages: where they are, how they are asked, and what their answers say."""
