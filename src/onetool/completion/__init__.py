"""Completion of commands, options and names in a shell: quick, from what is remembered, and starting nothing."""
