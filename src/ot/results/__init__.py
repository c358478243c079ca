"""Results too long for an answer: kept on disk under a handle, read page by page, and given back to code.

- The server never decodes one: the kernel writes the stored form, with one item per line, and the server copies the
  file, counts line breaks and masks known secrets. `ot.load` goes the same way back.
- One file per result (`stored_file`): header, content, line counts. It is synced before its handle is told, so a
  handle survives a `kill -9` and a power cut. The modification time says when it expires; an expired result leaves an
  empty `.gone`, to tell it from a handle that never existed.
- Searches run in a helper that is killed after 20 s: a regular expression can be made to run for ever.
- A page takes at most two thirds of `results.inline_limit`; otherwise reading a result would give another handle.
- Kept values are stored results under names. What is replaced expires a minute later, for whoever is about to read it.
"""
