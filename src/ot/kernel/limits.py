"""How much a run may take, beside the memory that the configuration gives it."""

from __future__ import annotations

FILE_SIZE = 64 * 1024 * 1024
SCRATCH = 256 * 1024 * 1024  # bytes in all files of a run, with a name or without
SCRATCH_FILES = 20_000  # and folders
THREADS = 256
MEMORY_MARGIN = 64 * 1024 * 1024  # libraries and the interpreter itself are counted as used, not as the code's
