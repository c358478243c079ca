"""Shared by every command that works with the engine at a terminal: its caller, thread, prompt and safe output."""
