"""What is told to the server before anything runs: calls of tools that the program is certain to make."""

from __future__ import annotations

import sys

import pytest

from ot_kernel.compiler import compile_program
from ot_kernel.references import Reference


def references(
    source: str, *, aliases: dict[str, str] | None = None, packs: tuple[str, ...] = ("demo",)
) -> list[Reference]:
    return compile_program(source, packs=packs, aliases=aliases or {}, values={}).references


def called(source: str) -> list[str]:
    return [f"{r['pack']}.{r['tool']}" for r in references(source)]


def test_a_call_is_described_by_pack_tool_arguments_and_line() -> None:
    assert references("x = 1\n\ndemo.upper(x, 2, text='a', sep='b')") == [
        {
            "pack": "demo",
            "tool": "upper",
            "keywords": ["text", "sep"],
            "positional": 2,
            "open": False,
            "given_calls": False,
            "line": 3,
            "first": False,
            "alias": "",
        }
    ]


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        ("demo.upper(text='a')", True),
        ("[demo.upper(text='a'), 2]", True),
        ("[demo.upper(text=t) for t in 'ab']", True),
        ("(demo.upper(text=t) for t in 'ab')", True),
        ("lambda: demo.upper(text='a')", False),
        ("[lambda t=t: demo.upper(text=t) for t in 'ab']", False),
        ("len('a')", False),
        ("make(demo.upper)", False),
        ("named=demo.upper(text='a')", False),
    ],
)
def test_calls_given_to_a_call_are_told_from_functions(arguments: str, *, given: bool) -> None:
    assert references(f"ot.parallel({arguments})")[0]["given_calls"] is given


@pytest.mark.parametrize("arguments", ["*names", "**options", "1, *names, text=2", "text=1, **options"])
def test_arguments_that_only_a_run_knows_leave_the_call_open(arguments: str) -> None:
    assert [r["open"] for r in references(f"demo.upper({arguments})")] == [True]


@pytest.mark.parametrize(
    "source",
    [
        "demo.upper()",
        "def f():\n    return [demo.upper() for _ in range(3)]",
        "class A:\n    x = demo.upper()",
        "lambda: demo.upper()",
        "f'{demo.upper()}'",
        "async def f(): await demo.upper()",
        "print(demo.upper())",
        "demo.upper().strip().title()",
        "@demo.upper()\ndef f(): ...",
        "def f(x=demo.upper()): ...",
        "try:\n    pass\nexcept ValueError:\n    demo.upper()",
        "try:\n    pass\nfinally:\n    demo.upper()",
        "try:\n    pass\nexcept ValueError:\n    pass\nelse:\n    demo.upper()",
        "return demo.upper()",
    ],
)
def test_a_call_is_found_wherever_it_stands(source: str) -> None:
    assert called(source) == ["demo.upper"]


def test_calls_of_packs_that_nobody_has_are_found_too() -> None:
    assert called("nosuch.tool(); demo.nosuch()") == ["nosuch.tool", "demo.nosuch"]


@pytest.mark.parametrize(
    "binding",
    [
        "demo = 1",
        "demo: object = 1",
        "demo += 1",
        "a, [b, *demo] = 1, [2, 3]",
        "(demo := 1)",
        "[0 for demo in []]",
        "{0: demo for demo in []}",
        "import demo",
        "import demo.sub",
        "import os as demo",
        "from os import path as demo",
        "from os import demo",
        "def demo(): ...",
        "async def demo(): ...",
        "class demo: ...",
        "def f(demo): ...",
        "def f(*demo): ...",
        "def f(**demo): ...",
        "def f(*, demo): ...",
        "def f(demo, /): ...",
        "lambda demo: 0",
        "for demo in []: pass",
        "async def f():\n    async for demo in x: pass",
        "with open('x') as demo: pass",
        "async def f():\n    async with x as demo: pass",
        "try:\n    pass\nexcept ValueError as demo:\n    pass",
        "try:\n    pass\nexcept* ValueError as demo:\n    pass",
        "match 1:\n    case demo: pass",
        "match 1:\n    case [*demo]: pass",
        "match 1:\n    case {**demo}: pass",
        "match 1:\n    case int() as demo: pass",
        "def f():\n    global demo",
        "del demo",
        "class A:\n    demo = 1",
    ],
)
def test_a_name_that_the_program_binds_in_any_way_is_its_own(binding: str) -> None:
    assert references(f"{binding}\ndemo.upper()") == []


if sys.version_info >= (3, 12):

    def test_a_type_parameter_is_a_name_of_the_program() -> None:
        assert references("def f[demo](): demo.upper()\nclass A[*demo]: ...\ntype X[**demo] = int") == []


@pytest.mark.parametrize(
    "source",
    [
        "try:\n    demo.nosuch()\nexcept Exception:\n    pass",
        "try:\n    if 1:\n        demo.nosuch()\nfinally:\n    pass",
        "try:\n    pass\nexcept ValueError:\n    try:\n        demo.nosuch()\n    except ValueError:\n        pass",
        "try:\n    demo.nosuch()\nexcept* ValueError:\n    pass",
        "from math import *\ndemo.nosuch()",
        "exec('demo = 1')\ndemo.nosuch()",
        "globals()['x'] = 1\nx.y()",
        "import builtins\nbuiltins.x = 1\nx.y()",
        "vars().update(x=1)\nx.y()",
        "getattr(demo, 'nosuch')()",
        "d = demo\nd.nosuch()",
        "demo.some.thing()",
        "demo.nosuch",
        "nosuch()",
        "(1).nosuch()",
        "'demo.nosuch()'",
        "# demo.nosuch()",
    ],
)
def test_what_may_yet_succeed_is_left_to_run_time(source: str) -> None:
    assert references(source) == []


def test_a_call_behind_a_guarded_one_is_still_found() -> None:
    assert called("try:\n    demo.one()\nexcept ValueError:\n    pass\ndemo.two()") == ["demo.two"]


@pytest.mark.parametrize(
    "source", ["str.join('', [])", "int.from_bytes(b'')", "__builtins__.len('')", "ToolError.mro()"]
)
def test_what_python_itself_defines_is_no_pack(source: str) -> None:
    assert references(source) == []


def test_a_pack_that_carries_a_builtin_name_is_a_pack() -> None:
    assert [r["pack"] for r in references("filter.rows(text='a')", packs=("filter",))] == ["filter"]


def test_a_call_through_an_alias_is_the_call_of_its_tool() -> None:
    aliases = {"ws": "w", "w": "demo.upper"}

    assert references("ws(text='a')", aliases=aliases)[0] | {"line": 0} == {
        "pack": "demo",
        "tool": "upper",
        "keywords": ["text"],
        "positional": 0,
        "open": False,
        "given_calls": False,
        "line": 0,
        "first": True,
        "alias": "ws",
    }
    assert references("def ws(): ...\nws()", aliases=aliases) == []
    assert references("try:\n    ws()\nexcept ValueError:\n    pass", aliases=aliases) == []


def test_only_aliases_that_the_program_uses_are_passed_on() -> None:
    program = compile_program("ws", packs=["demo"], aliases={"ws": "demo.upper", "no": "demo.foo"}, values={})

    assert program.aliases == {"ws": "demo.upper"}
