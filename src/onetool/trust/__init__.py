"""Before a person trusts a project: a report on its files, and trial starts of what it brings.

Trial starts build the registry, the worker pool and the servers, and no kernel.
"""
