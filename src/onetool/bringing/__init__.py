"""Servers brought in: found in the MCP registry or named by their package, installed once, and tried before they count.

An entry of a registry is a stranger's word (`entries`). It names a package, and what that may be given; the command is
ours, made from the package's kind and name (`candidate`, `installing`). What is installed lies in the state folder, one
folder for each version, with a link `current` to the one that is used, so an update is taken or left as a whole.
"""
