"""An extension's file looked at for its author: what its imports lead to, and what its annotations say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from anyio import fail_after

from ot.workers.examining import examine
from tests.wheels import write_wheel
from tests.worker_pool import host_of, write_extension

pytestmark = pytest.mark.anyio

HEADER = """\
# /// script
# requires-python = ">=3.11"
# dependencies = [
#   {wanted}
# ]
# [tool.uv]
# no-index = true
# find-links = ["{wheels}"]
# ///
"""


async def look(folder: Path, source: str, *wanted: str, header: bool = True) -> list[tuple[int, str]]:
    """The lines and mistakes of an extension beside the packages thing, and inner, which thing needs."""
    wheels = folder / "wheels"
    write_wheel(wheels, "1.0", needs="inner")
    write_wheel(wheels, "1.0", name="inner")
    head = HEADER.format(wheels=wheels, wanted=", ".join(f'"{each}"' for each in wanted)) if header else "\n" * 9
    extension = write_extension(folder, head + source)
    with fail_after(60):
        found = await examine(extension, host_of(folder, os.environ))
    assert all(mistake.file == extension.file for mistake in found)
    return [(mistake.line, mistake.text) for mistake in found]


async def test_an_import_that_the_header_does_not_declare_is_named_with_its_fix(tmp_path: Path) -> None:
    (tmp_path / "beside.py").touch()
    source = """\
import json, thing
import inner.deep
from beside import x
from . import relative
try:
    import orjson
except ImportError:
    orjson = None
if TYPE_CHECKING:
    import numpy
def f() -> None:
    import yaml
"""

    assert await look(tmp_path, source, "thing") == [
        (11, 'it imports inner by luck, because thing happens to need inner: add "inner" to dependencies'),
        (21, 'it imports yaml, which nothing in its header brings: add "pyyaml" to dependencies'),
    ]


async def test_a_file_without_a_header_has_the_standard_library_only(tmp_path: Path) -> None:
    [(line, text)] = await look(tmp_path, "import json\nimport ot_sdk\nimport PIL.Image\n", header=False)

    assert line == 12
    assert '`# dependencies = ["pillow"]`' in text


async def test_what_cannot_be_installed_is_told_at_its_line_of_the_header(tmp_path: Path) -> None:
    [(line, text)] = await look(tmp_path, "import thing\n", "thing", "absent>=3")

    assert line == 4
    assert text.startswith("its dependencies cannot be resolved. uv says:")
    assert "absent" in text
    assert text.endswith("Correct dependencies or requires-python in its header")


async def test_an_annotation_that_checks_nothing_or_does_not_exist_is_named(tmp_path: Path) -> None:
    source = """\
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypedDict
import ot_sdk
class Plain: ...
@dataclass
class Point:
    x: int
class Stop(TypedDict):
    at: Point
def fine(*, a: list[Stop] | None, b: datetime, c: Literal["x"], d: bytes, e: ot_sdk.Image) -> ot_sdk.Image: ...
def wrong(*, one: Plain,
          two: strng) -> Nothing: ...
def _private(x: Plain) -> None: ...
"""

    found = await look(tmp_path, source, header=False)

    assert [line for line, _ in found] == [21, 22, 22]
    assert found[0][1].startswith(
        "the parameter one of wrong is annotated with Plain, which cannot be checked, so any value passes and arrives as it is: "
    )
    assert [text for _, text in found[1:]] == [
        "the parameter two of wrong is annotated with strng, which the file neither defines nor imports",
        "the result of wrong is annotated with Nothing, which the file neither defines nor imports",
    ]
