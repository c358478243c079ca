"""Code that is being typed: what completes it, whether it is whole, and what its `_` is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from onetool.repl.completion import (
    CodeCompleter,
    OpenCall,
    Position,
    find_position,
    indentation_after,
    is_whole,
    uses_last,
    with_last,
)
from ot.registry.definitions import PackDefinition
from ot.registry.from_schema import define_pack
from ot.registry.registry import ToolRegistry

MODE = {"anyOf": [{"enum": ["fast", "full", "fu'); pay('", 'fu"', "fu\\", "fu{x}"]}, {"type": "null"}]}
TOOLS: Any = [
    {"name": "find", "inputSchema": {"properties": {"query": {"type": "string"}, "from": {}, "mode": MODE}}},
    {"name": "find-all", "inputSchema": {}},
]


@pytest.fixture(scope="module")
def complete() -> Callable[[str], list[str]]:
    """Complete code with one server and an alias; the texts."""
    registry = ToolRegistry()
    pack = define_pack("shop", "shop", TOOLS)

    async def call(_: object) -> None: ...

    registry.register_pack(pack, dict.fromkeys(pack.tools, call))
    registry.register_pack(PackDefinition("proj", "Projects."), {})
    names = CodeCompleter(registry, {"look": "shop.find"}, ["notes"])
    return lambda code: [found.text for found in names.complete(code)]


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("sh", ["shop"]),
        ("x = [sh", ["shop"]),
        ("shop.", ["shop.find(", "shop.find_all("]),
        ("print(shop.find_", ["shop.find_all("]),
        ("proj.n", ["proj.notes"]),
        ("nobody.", []),
        ("shop.find.x", []),
        ("shop.find(", ["query=", "from_=", "mode="]),
        ("shop.find(query='a, (b', ", ["from_=", "mode="]),
        ("shop.find(\n    fr", ["from_="]),
        ("look(m", ["mode="]),
        ("shop.find(query=sh", ["shop"]),
        ("shop.find(mode='", ["fast", "full"]),
        ('shop.find(query="x", mode="fu', ["full"]),
        ("shop.find(query='", []),
        ("shop.find(query=(m", ["map", "max", "memoryview", "min"]),
        ("shop.find_all(", ["look", "proj", "shop"]),
        ("# sh", []),
        ("'sh", []),
        ("'a' # b\nsh", ["shop"]),
        ("\\", ["look", "proj", "shop"]),
    ],
)
def test_completions(complete: Callable[[str], list[str]], code: str, found: list[str]) -> None:
    assert complete(code) == found


def test_any_text_has_a_position() -> None:
    odd = ['"', "'''", "f'{", ")", "([{", "é.è(", "\x00", "0x.", "a.b.c(d=e, f", "x = r'\\"]

    for text in odd:
        find_position(text)
    assert find_position("a.b(c=1, d=") == Position("", call=OpenCall("a.b", frozenset({"c"}), "d"))


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("1 + 1", True),
        ("for x in y:", False),
        ("for x in y:\n    z(x)", False),
        ("for x in y:\n    z(x)\n", True),
        ("for x in y:\n    z(x)\n    ", True),
        ("f(1,", False),
        ("'''a", False),
        ("x = 1 +\\", False),
        ("1 +* 2", True),
        ("await x()", True),
        ("async with x() as y:", False),
        ("$snippet a b", True),
        ("```python\n1", False),
        ("```python\n1\n```", True),
    ],
)
def test_code_is_whole_or_goes_on(text: str, *, whole: bool) -> None:
    assert is_whole(text) is whole


def test_a_line_begins_below_the_one_before() -> None:
    assert [indentation_after(line) for line in ("x", "    x", "if x:", "  if x:  ")] == ["", "    ", "    ", "      "]


@pytest.mark.parametrize(
    ("code", "becomes"),
    [
        ("_ + 1", "_ = v; _ + 1"),
        ("for x in _:\n    x", "_ = v\nfor x in _:\n    x"),
        ("# a\n_", "_ = v\n# a\n_"),
        ("for _ in y: _", None),
        ("1 +", None),
        ("x._", None),
    ],
)
def test_the_last_value_is_given_to_code_that_reads_it(code: str, becomes: str | None) -> None:
    assert uses_last(code) is (becomes is not None)
    assert becomes is None or with_last(code, "v") == becomes
