"""A new extension with its test, written to disk: all of it or nothing, and never over anything."""

from __future__ import annotations

import errno
import keyword
import os
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path

from ot.errors import NewExtensionError
from ot.registry.names import PROTECTED, is_of_python

_EXTENSION = '''\
# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""Greetings, to begin with: this line is what people read about the pack."""

from __future__ import annotations

import ot_sdk

pack = "PACK"


def hello(*, name: str, times: int = 1) -> str:
    """Greet somebody.

    Args:
        name: Who is greeted.
        times: How often, at least once.

    Returns:
        The greeting.

    Example:
        PACK.hello(name="Ada", times=2)
    """
    if times < 1:
        raise ot_sdk.ToolError(f"times must be at least 1, not {times}")
    return " ".join([f"Hello, {name}!"] * times)


if __name__ == "__main__":
    ot_sdk.serve()
'''

_TEST = '''\
"""Tests of the pack PACK. In this folder:

PYTHONPATH=$(onetool sdk-path) uv run --no-project --with pytest --with-requirements PACK_tools.py pytest
"""

from __future__ import annotations

import ot_sdk
import pytest
from PACK_tools import hello


def test_hello_greets_as_often_as_it_is_told() -> None:
    assert hello(name="Ada", times=2) == "Hello, Ada! Hello, Ada!"


def test_hello_refuses_to_greet_less_than_once() -> None:
    with pytest.raises(ot_sdk.ToolError, match="at least 1"):
        hello(name="Ada", times=0)
'''


def write_extension(folder: Path, name: str, *, project: Path, taken: Collection[str]) -> tuple[Path, Path]:
    """Write an extension to start from below `folder`, and its test; returns both. Raises NewExtensionError."""
    test = f"test_{name}.py"
    source, check = (text.replace("PACK", name) for text in (_EXTENSION, _TEST))
    file = write_pack(folder, name, source, project=project, taken=taken, others={test: check})
    return file, file.with_name(test)


def write_pack(
    folder: Path, name: str, source: str, *, project: Path, taken: Collection[str], others: Mapping[str, str]
) -> Path:
    """Write `<name>/<name>_tools.py` with other files beside it. Raises NewExtensionError."""
    # All are written beside their place, then renamed: renaming a folder over one that holds anything fails.
    check_name(name, taken)
    target = folder / name
    try:
        check_place(folder, project)
        if target.exists() or target.is_symlink() or (folder / f"{name}.py").exists():
            raise NewExtensionError(name, f"{target} is there already")
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = target.with_name(f".{name}-{os.urandom(4).hex()}")
        beside.mkdir()
        try:
            for file, text in {f"{name}_tools.py": source, **others}.items():
                (beside / file).write_text(text, encoding="utf-8")
            beside.rename(target)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    except OSError as error:
        raise NewExtensionError(name, f"{target} cannot be written: {error.strerror}") from error
    return target / f"{name}_tools.py"


def check_name(name: str, taken: Collection[str]) -> None:
    """Raise NewExtensionError for a name that no pack can have, or that one has already."""
    reason = ""
    if not name.isidentifier() or not name.isascii() or keyword.iskeyword(name):
        reason = "a pack's name is the part before the dot in code: use letters, digits and underscores"
    elif name.startswith(("_", "test_")) or name == "conftest":
        reason = "a file with this name is not recognized as a pack"
    elif name in PROTECTED or name in taken:
        reason = "a pack with this name already exists"
    elif is_of_python(name):
        reason = "Python itself uses this name"
    if reason:
        raise NewExtensionError(name, reason)


def check_place(folder: Path, project: Path) -> None:
    """Refuse a link that points outside the project. Raises OSError."""
    if not folder.resolve().is_relative_to(project.resolve()):
        raise OSError(errno.EXDEV, "a symbolic link points outside the project")
