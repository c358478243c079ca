"""Trust: which files of a project's `.onetool` folder a person has looked at and accepted, byte by byte.

- The copy is what counts: configuration is parsed from, and extensions run from, the bytes that were trusted, so
  nothing can change between the comparison and the use. Copies are written before the record, under a lock.
- What is shown is what is trusted: the folder is read once. Links out of it, pipes and compiled
  Python are no part of it. A git worktree shares the record of its main folder if that one points back.
- Of what is not trusted only harmless names are read (`ot.config.project_layer`), and nothing wrong with it raises.
- A server is the project's if the project changes its `command` or `url`; the person's own have their home as `cwd`.
"""
