"""Stubs of hostile servers: always Python, and never more than declarations."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from onetool.stubs.pack_stub import KnownResult, StubbedTool, quote, write_pack
from onetool.stubs.stub_files import MARK, PACKAGE, write_stubs
from ot.errors import ConfigError
from ot.registry.from_schema import define_pack
from ot.shapes.deriving import shape_of

EVIL = 'x"""\nimport os; os.system("evil")\n"""\\'
TEXTS = [
    EVIL,
    '"',
    '""""',
    "\\",
    "a\\",
    "\x00\x1b[2J\r\nimport os",
    "\u202eevil\u2028import os\x0cimport os",
    "\ud800",
    "",
]
ALLOWED = (
    ast.Import, ast.ImportFrom, ast.ClassDef, ast.AnnAssign, ast.Assign, ast.FunctionDef, ast.Expr, ast.Pass,
)  # fmt: skip


def schema(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **more}


HOSTILE_SCHEMAS = {
    "keys": schema({text: schema({text: {"type": "string"}, "_b": {"type": "integer"}}) for text in TEXTS}),
    "keywords": schema({"class": {"type": "string"}, "__x": {"type": "integer"}, "self": {}, "_t": schema({"_t": {}})}),
    "literals": schema({"mode": {"enum": TEXTS}, "other": {"enum": ["a"] * 500}, "one": {"const": EVIL}}),
    "defaults": schema({"mode": {"type": "string", "default": EVIL}, "n": {"type": "integer", "default": None}}),
    "nonsense": schema({"a": {"type": EVIL}, "b": {"type": [EVIL, 3]}, "c": {"anyOf": 3}, "d": {"$ref": EVIL}, "e": 7}),
    "required": schema({"a": {}, "b": {}}, required=["b", EVIL, 3]),
    "open": schema({"a": {}}, additionalProperties={"type": EVIL}),
    "circle": {"$ref": "#"},
    "deep": {"type": "array", "items": {"type": "array", "items": {"type": "array", "items": {"$ref": "#"}}}},
}
NAMES = [
    "list",
    "_b",
    "_t",
    "_v",
    "_b_",
    "Any",
    "class",
    "import os",
    "a(): ...\nimport os\ndef b",
    "ToolsResult",
    "größe",
]


def declarations(text: str) -> list[ast.stmt]:
    module = ast.parse(text)
    inner = [node for each in module.body if isinstance(each, ast.ClassDef | ast.FunctionDef) for node in each.body]
    return [*module.body, *inner]


@pytest.mark.parametrize("name", HOSTILE_SCHEMAS)
def test_a_hostile_schema_gives_declarations_only(name: str) -> None:
    found = HOSTILE_SCHEMAS[name]
    tools: Any = [{"name": tool, "description": EVIL, "inputSchema": found, "outputSchema": found} for tool in NAMES]
    pack = define_pack("evil", "evil", tools, description=EVIL)
    result = KnownResult(found, EVIL)

    text = write_pack(pack, [StubbedTool(tool, EVIL, result) for tool in pack.tools.values()], [EVIL, "a", "list"])

    found_statements = declarations(text)
    assert all(isinstance(each, ALLOWED) for each in found_statements)
    for each in found_statements:
        if isinstance(each, ast.Expr):
            assert isinstance(each.value, ast.Constant)
        elif isinstance(each, ast.Import | ast.ImportFrom):
            assert ast.unparse(each).split(" as ")[0] in (
                "import builtins",
                "import typing",
                "from . import __values__",
            )
        elif isinstance(each, ast.FunctionDef):
            assert {ast.unparse(default) for default in each.args.defaults} <= {"..."}
        assert not any(
            isinstance(node, ast.Call) and "TypedDict" not in ast.unparse(node.func) for node in ast.walk(each)
        )
    functions = [each.name for each in found_statements if isinstance(each, ast.FunctionDef)]
    assert functions == list(pack.tools)
    assert not set(text) & set("\x00\x1b\r\x0c\u202e")


@pytest.mark.parametrize("text", TEXTS)
def test_a_docstring_is_one_string_whatever_is_in_it(text: str) -> None:
    [statement] = ast.parse(quote(text)).body

    assert isinstance(statement, ast.Expr)
    assert isinstance(statement.value, ast.Constant)


def test_a_learnt_shape_is_a_typed_dict() -> None:
    pack = define_pack("shop", "shop", [{"name": "orders", "inputSchema": {}}])
    shape = shape_of([{"id": 1, "tags": ["a"]}, {"id": 2.5, "class": None}])

    text = write_pack(pack, [StubbedTool(pack.tools["orders"], "", KnownResult(shape=shape))])

    assert "OrdersResultItem = _t.TypedDict('OrdersResultItem', {\n    'id': _b.float | _b.int,\n" in text
    assert "    'class': _t.NotRequired[None],\n    'tags': _t.NotRequired[_b.list[_b.str]],\n" in text
    assert (
        "def orders(**others: _t.Any) -> _b.list[OrdersResultItem]:" in text or "-> _b.list[OrdersResultItem]:" in text
    )


@pytest.mark.parametrize("place", ["stubs", f"stubs/{PACKAGE}"])
def test_nothing_is_written_where_a_link_leads(tmp_path: Path, place: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    link = tmp_path / place
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(elsewhere)

    with pytest.raises(ConfigError, match="is a link"):
        write_stubs(tmp_path / "stubs", {"a.pyi": MARK, f"{PACKAGE}/a.pyi": MARK})

    assert [*elsewhere.iterdir()] == []
