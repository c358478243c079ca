"""The ways to reach a server: a process over its pipes, and HTTP in both of its forms."""
