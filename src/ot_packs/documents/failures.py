"""Failures of libraries on files from anywhere, put as a sentence about the file.

A library that reads a damaged file raises whatever it happens to trip over, so every error of one means the same here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ot.errors import ToolError
from ot_packs.documents.kinds import damaged, locked

_PASSWORD = ("PasswordError",)  # of the reader of workbooks
_OURS = (KeyboardInterrupt, SystemExit, GeneratorExit)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what a library raises on a file into a ToolError."""
    try:
        yield
    except ToolError:
        raise
    except MemoryError:
        raise ToolError(f"{path.name} needs more memory than a helper process may hold") from None
    except RecursionError as error:
        raise ToolError(f"{path.name} is nested too deeply") from error
    except _OURS:
        raise
    except BaseException as error:  # libraries raise anything, and a panic of Rust is no Exception
        raise (locked(path) if type(error).__name__ in _PASSWORD else damaged(path, error)) from error
