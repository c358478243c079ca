"""Source code: the files of a project, an index of their words, and matches of their syntax.

The `index` is an FTS5 table without text: deleting from it takes the old text, so a changed file gets a new number,
and numbers without a file are skipped. A word in a fifth of the files is not ranked by. Looking at 10,000 files takes
100 ms and more, so it is done only if `ot.files.folder_watch` has seen a change. The parser runs in a helper without
files: the server sends it their content. A rewrite is planned whole before anything is written, and diffs are made
from the edits, since comparing texts by lines can take the square of their length.
"""
