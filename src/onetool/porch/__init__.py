"""The porch: answers a client on stdin from bytes that the server itself has sent before, while that is being loaded.

Standard library only, and little of it: everything here is loaded before the first answer.
"""
