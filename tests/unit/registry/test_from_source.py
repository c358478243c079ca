"""Definitions read from a pack's source: nothing of it runs."""

from __future__ import annotations

import ast
import gc
import logging
from pathlib import Path
from typing import Any

import pytest

from ot.errors import PackLoadError
from ot.registry.definitions import Cancellation
from ot.registry.from_source import read_pack
from tests.opened_executor import write_pack


def schema_of(tmp_path: Path, annotation: str, before: str = "") -> Any:
    file = write_pack(tmp_path, f"{before}\nasync def tool(*, value: {annotation}): ...\n")
    properties: Any = read_pack(file).tools["tool"].parameters["properties"]
    return properties["value"]


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        ("str", {"type": "string"}),
        ("int", {"type": "integer"}),
        ("float", {"type": "number"}),
        ("bool", {"type": "boolean"}),
        ("None", {"type": "null"}),
        ("Any", {}),
        ("typing.Any", {}),
        ("bytes", {}),
        ("list", {"type": "array"}),
        ("list[int]", {"type": "array", "items": {"type": "integer"}}),
        ("Sequence[str]", {"type": "array", "items": {"type": "string"}}),
        ("set[str]", {"type": "array", "uniqueItems": True, "items": {"type": "string"}}),
        ("dict[str, list]", {"type": "object", "additionalProperties": {"type": "array"}}),
        ("tuple[int, ...]", {"type": "array", "items": {"type": "integer"}}),
        (
            "tuple[int, str]",
            {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2},
        ),
        ("str | None", {"type": ["string", "null"]}),
        ("Optional[int]", {"type": ["integer", "null"]}),
        ("Union[int, str, None]", {"type": ["integer", "string", "null"]}),
        ("str | list[str]", {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
        ("int | Any", {}),
        ("'str | None'", {"type": ["string", "null"]}),
        ("Literal['a', 'b']", {"enum": ["a", "b"], "type": "string"}),
        ("Literal[1, None]", {"enum": [1, None]}),
        ("Annotated[int, 'How many']", {"type": "integer", "description": "How many"}),
    ],
    ids=str,
)
def test_annotations_become_schemas(tmp_path: Path, annotation: str, schema: dict[str, Any]) -> None:
    assert schema_of(tmp_path, annotation) == schema


def test_types_and_constants_of_the_same_file_are_followed(tmp_path: Path) -> None:
    before = """
from dataclasses import dataclass, field
from typing import ClassVar, Literal, NotRequired, TypedDict
Mode = Literal["fast", "slow"]
class Base(TypedDict):
    name: str
class Row(Base, total=False):
    mode: Mode
    parent: "Row"
@dataclass(frozen=True)
class Point:
    kind: ClassVar[str] = "point"
    x: float
    tags: list[str] = field(default_factory=list)
"""
    assert schema_of(tmp_path, "Row", before) == {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "mode": {"enum": ["fast", "slow"], "type": "string"},
            "parent": {},
        },
        "required": ["name"],
        "additionalProperties": False,
    }
    assert schema_of(tmp_path, "Point", before) == {
        "type": "object",
        "properties": {"x": {"type": "number"}, "tags": {"type": "array", "items": {"type": "string"}}},
        "required": ["x"],
        "additionalProperties": False,
    }


def test_types_that_all_mention_each_other_are_followed_only_so_far(tmp_path: Path) -> None:
    names = [f"T{n}" for n in range(40)]
    fields = "".join(f"    {name.lower()}: {name}\n" for name in names)
    before = "".join(f"class {name}(TypedDict):\n{fields}" for name in names)

    schema = schema_of(tmp_path, "T0", before)

    assert schema["properties"]["t0"] == {}
    assert set(schema["properties"]["t1"]["properties"]) == {name.lower() for name in names}


@pytest.mark.parametrize("annotation", ["Path", "datetime.date", "Callable[[int], str]", "Missing['x']", "1 + 1"])
def test_an_annotation_outside_the_closed_set_accepts_anything_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, annotation: str
) -> None:
    with caplog.at_level(logging.WARNING, logger="ot"):
        assert schema_of(tmp_path, annotation) == {}

    assert annotation in caplog.text


def test_defaults_descriptions_and_required_names(tmp_path: Path) -> None:
    file = write_pack(
        tmp_path,
        '''
        """Things. More."""
        pack = "things"
        secrets = ("THINGS_KEY",)
        LIMIT = 20

        async def find(query: str, *, count: int = LIMIT, deep: bool = bool(1), **options: str) -> list[str]:
            """Find things.

            Args:
                query: What to find.
            """
        ''',
    )

    pack = read_pack(file)

    find = pack.tools["find"]
    assert (pack.name, pack.description, find.name, find.secrets) == (
        "things",
        "Things. More.",
        "things.find",
        ("THINGS_KEY",),
    )
    assert find.signature == (
        "things.find(query: str, *, count: int = LIMIT, deep: bool = bool(1), **options: str) -> list[str]"
    )
    assert find.parameters == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What to find."},
            "count": {"type": "integer", "default": 20},
            "deep": {"type": "boolean"},
        },
        "required": ["query"],
        "additionalProperties": {"type": "string"},
    }


def test_the_kind_of_cancellation_is_read_from_the_source(tmp_path: Path) -> None:
    file = write_pack(
        tmp_path,
        """
        import ot.isolate
        async def a(): ...
        def b(): ...
        @ot.isolate.isolated
        def c(): ...
        @in_kernel
        async def d(*calls): ...
        """,
    )

    kinds = {name: tool.cancellation for name, tool in read_pack(file).tools.items()}

    assert kinds == {
        "a": Cancellation.ASYNC,
        "b": Cancellation.PLAIN,
        "c": Cancellation.ISOLATED,
        "d": Cancellation.KERNEL,
    }


def test_only_public_functions_of_the_file_are_tools(tmp_path: Path) -> None:
    source = "from os.path import join\ndef _hidden(): ...\ndef shown(): ...\nclass C:\n    def method(self): ...\n"

    assert list(read_pack(write_pack(tmp_path, source)).tools) == ["shown"]
    assert list(read_pack(write_pack(tmp_path, source + "def other(): ...\n__all__ = ['other']\n")).tools) == ["other"]


def test_nothing_of_the_file_is_executed(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    source = f"open({str(marker)!r}, 'w')\ndef tool(*, x=open({str(marker)!r}, 'w')): ...\n"

    read_pack(write_pack(tmp_path, source))

    assert not marker.exists()


@pytest.mark.parametrize(
    ("source", "reason", "line"),
    [
        (b"def broken(:\n", "not valid Python", 1),
        (b"x = 1\ndef tool(a, /): ...\n", "positional-only", 2),
        (b"def tool(a, *rest): ...\n", "before *rest", 1),
        (b"pack = 'not a name'\n", "not an identifier", None),
        (b"x = '\xff'\n", "not valid Python", None),
        (b"\x00", "not valid Python", None),
        (b"x = " + b"(" * 5000 + b")" * 5000, "", None),
    ],
    ids=["syntax", "positional-only", "varargs", "name", "encoding", "null byte", "parentheses"],
)
def test_a_file_that_cannot_be_understood_is_one_problem(
    tmp_path: Path, source: bytes, reason: str, line: int | None
) -> None:
    file = tmp_path / "sample.py"
    file.write_bytes(source)

    with pytest.raises(PackLoadError) as raised:
        read_pack(file)

    assert reason in raised.value.reason
    assert line is None or raised.value.line == line


class _Parses:
    """Parses something when it is collected, as whoever shows a traceback does."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        ast.parse("1 + 1")


def test_a_file_is_read_while_what_is_collected_parses_too(tmp_path: Path) -> None:
    file = tmp_path / "many.py"
    file.write_text("".join(f"def tool_{number}(*, a: dict[str, list[int]] = {{}}): ...\n" for number in range(200)))
    thresholds = gc.get_threshold()
    gc.set_threshold(50)
    try:
        for _ in range(20):
            for _ in range(20):
                _Parses()
            assert len(read_pack(file).tools) == 200
    finally:
        gc.set_threshold(*thresholds)


def test_what_a_file_gives_a_name_to_is_written_out_in_signatures(tmp_path: Path) -> None:
    file = write_pack(
        tmp_path,
        '''
        from typing import Literal, NotRequired, TypedDict
        from elsewhere import Other

        Mode = Literal["fast", "slow"]

        class Comment(TypedDict):
            path: str
            line: NotRequired[int]

        class Page(TypedDict):
            items: list[Comment]
            next: str | None

        async def review(*, comments: list[Comment], mode: Mode = "fast", other: Other = None) -> Page:
            """Review."""

        async def plain(*, other: Other) -> Other:
            """Nothing of this file."""
        ''',
    )

    tools = read_pack(file).tools

    assert tools["review"].signature == (
        "sample.review(*, comments: list[{path: str, line?: int}], mode: Literal['fast', 'slow'] = 'fast', "
        "other: Other = None) -> {items: list[{path: str, line?: int}], next: str | None}"
    )
    assert tools["review"].python_signature == (
        "sample.review(*, comments: list[Comment], mode: Mode = 'fast', other: Other = None) -> Page"
    )
    assert tools["plain"].signature == tools["plain"].python_signature == "sample.plain(*, other: Other) -> Other"
