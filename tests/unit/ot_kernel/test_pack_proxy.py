"""Packs and tools as code finds them: called, imported, looked at, and failing as Python's own would."""

from __future__ import annotations

import builtins
import inspect
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ot_kernel.pack_proxy import ToolError, Tools, build_error, build_packs, name_tools
from ot_kernel.project_path import ProjectPath
from ot_kernel.values import UnsupportedValueError, decode, encode
from ot_kernel.wire import HEADER, Channel, frame, pack, unpack

Answer = Callable[[Any], Any]


def answer(question: Any) -> Any:
    """A server with one pack: it shouts, repeats, fails, and has a project."""
    match question:
        case {"op": "call", "tool": "demo.upper", "kwargs": {"text": text}}:
            return {"value": encode(str(decode(text)).upper())}
        case {"op": "call", "tool": "demo.echo", "args": args, "kwargs": kwargs}:
            return {"value": {"args": args, "kwargs": kwargs}}
        case {"op": "call", "tool": "demo.fail", "kwargs": {"kind": kind}}:
            return {"error": {"kind": kind, "message": f"no luck with {kind}"}}
        case {"op": "attribute", "name": "home"}:
            return {"value": encode(ProjectPath("home", "/home"))}
        case {"op": "attribute", "name": "upper" | "echo" | "fail" | "know" | "_hidden"}:
            return {"value": None}
        case {"op": "attribute", "pack": name, "name": tool}:
            return {"error": {"kind": "AttributeError", "message": f"{name} has no {tool}"}}
        case {"op": "describe", "name": "demo"}:
            return {"value": {"doc": "A pack to try.", "names": ["echo", "upper"]}}
        case {"op": "describe", "name": "demo.upper"}:
            return {"value": {"doc": "Shout.", "signature": "demo.upper(*, text: str, times: int = 1) -> str"}}
    raise AssertionError(question)


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[dict[str, Any]]:
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    ours, theirs = socket.socketpair()
    server = threading.Thread(target=serve, args=(theirs,), daemon=True)
    server.start()
    with ours:
        packs = build_packs(Tools(Channel(ours.fileno(), str(tmp_path))), ["demo", "ot", "json"])
        yield name_tools(packs, {"shout": "demo.upper"})
    sys.modules.pop("demo", None)
    server.join(60)


def serve(end: socket.socket) -> None:
    with end, end.makefile("rb") as incoming:
        while header := incoming.read(HEADER.size):
            question = unpack(incoming.read(HEADER.unpack(header)[0]))
            end.sendall(frame(pack(answer(question) | {"id": question["id"]})))


def test_a_call_gives_the_tools_value(names: dict[str, Any]) -> None:
    assert names["demo"].upper(text="abc") == "ABC"
    assert names["shout"](text="abc") == "ABC"


def test_arguments_arrive_by_position_and_under_any_name(names: dict[str, Any]) -> None:
    given = names["demo"].echo(1, {2}, **{"self": (3,), "not-a-name": b"4"})

    assert given == {"args": [1, {2}], "kwargs": {"self": (3,), "not-a-name": b"4"}}


def test_an_argument_that_cannot_cross_is_refused_with_its_name_where_the_call_is_made(names: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedValueError, match=r"^argument text of demo\.upper\(\): a value of type function"):
        names["demo"].upper(text=lambda: 0)
    with pytest.raises(UnsupportedValueError, match=r"^argument 2 of demo\.echo\(\)\['a'\]: a value of type module"):
        names["demo"].echo(1, {"a": sys})


@pytest.mark.parametrize(
    "kind",
    ["ValueError", "TypeError", "KeyError", "TimeoutError", "PermissionError", "ConnectionError", "StopIteration"],
)
def test_a_failed_call_is_a_tool_error_and_also_the_builtin_that_it_was(names: dict[str, Any], kind: str) -> None:
    with pytest.raises(getattr(builtins, kind)) as caught:
        names["demo"].fail(kind=kind)

    assert isinstance(caught.value, names["ToolError"])
    assert (str(caught.value), type(caught.value).__name__) == (f"no luck with {kind}", kind)


@pytest.mark.parametrize(
    "kind", [*(name for name in dir(builtins) if isinstance(getattr(builtins, name), type)), "NoSuchError", "print", ""]
)
def test_any_word_makes_an_error_that_can_be_raised(kind: str) -> None:
    with pytest.raises(ToolError, match=r"^the message$"):
        raise build_error(kind, "the message")


def test_leaving_the_program_is_not_in_the_power_of_a_tool() -> None:
    assert type(build_error("SystemExit", "x")) is ToolError
    assert type(build_error("KeyboardInterrupt", "x")) is ToolError


def test_an_unknown_tool_is_an_attribute_error_so_that_code_can_ask(names: dict[str, Any]) -> None:
    with pytest.raises(AttributeError, match="demo has no nosuch"):
        _ = names["demo"].nosuch
    assert not hasattr(names["demo"], "nosuch")
    assert hasattr(names["demo"], "upper")
    assert getattr(names["demo"], "nosuch", 5) == 5


def test_what_is_no_tool_is_the_value_that_the_server_gives(names: dict[str, Any]) -> None:
    assert str(names["demo"].home / "x") == "/home/x"


@pytest.mark.parametrize("tool", ["know", "_hidden"])
def test_a_tool_may_have_any_name(names: dict[str, Any], tool: str) -> None:
    assert repr(getattr(names["demo"], tool)) == f"<tool demo.{tool}>"


def test_packs_and_tools_can_be_looked_at(names: dict[str, Any]) -> None:
    demo = names["demo"]

    assert dir(demo) == ["echo", "upper"]
    assert (demo.__doc__, demo.__name__, repr(demo)) == ("A pack to try.", "demo", "<pack demo>")
    assert (demo.upper.__doc__, demo.upper.__name__, demo.upper.__qualname__) == ("Shout.", "upper", "demo.upper")
    assert str(inspect.signature(demo.upper)) == "(*, text: 'str', times: 'int' = 1) -> 'str'"
    assert inspect.getdoc(demo.upper) == "Shout."
    assert callable(demo.upper)


def test_a_tool_has_no_tools_of_its_own(names: dict[str, Any]) -> None:
    with pytest.raises(AttributeError, match=r"demo\.upper is a tool and has no attribute 'more'; call it"):
        _ = names["demo"].upper.more


@pytest.mark.parametrize(
    "statement",
    [
        "import demo; result = demo.upper(text='a')",
        "import demo as d; result = d.upper(text='a')",
        "from demo import upper; result = upper(text='a')",
        "from demo import *; result = upper(text='a')",
        "import importlib; result = importlib.import_module('demo').upper(text='a')",
    ],
)
def test_packs_can_be_imported(names: dict[str, Any], statement: str) -> None:
    scope: dict[str, Any] = {}

    exec(statement, scope)

    assert scope["result"] == "A"


@pytest.mark.parametrize("statement", ["import demo.upper", "from demo import nosuch", "import ot_nosuch"])
def test_what_a_pack_does_not_have_cannot_be_imported(names: dict[str, Any], statement: str) -> None:
    with pytest.raises(ImportError):
        exec(statement, {})


def test_an_import_of_the_standard_library_is_never_a_pack(names: dict[str, Any]) -> None:
    scope: dict[str, Any] = {}

    exec("import json", scope)

    assert scope["json"].dumps([1]) == "[1]"
    assert names["json"] is not scope["json"]


def test_an_alias_of_what_the_kernel_does_itself_is_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))

    names: dict[str, Any] = name_tools(
        build_packs(Tools(Channel(-1, "")), ["ot"]), {"par": "ot.parallel", "lost": "nosuch.tool"}
    )

    assert names["par"](lambda: 1, lambda: 2) == [1, 2]
    assert names["par"] is names["ot"].parallel
    assert "lost" not in names
