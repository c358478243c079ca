"""Source code: the files of a project, an index of their words, and matches of their syntax."""
