"""Code behaves as in a plain module, gives its last value, and every error names the author's line."""

from __future__ import annotations

import textwrap

import pytest

from ot_kernel.compiler import AliasCycle, compile_program
from tests.unit.ot_kernel.program import failure_of, reply_to, value_of


@pytest.mark.scenario("run/robust-result-capture/last-expression-in-block")
@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("1 + 1", 2),
        ("x = 5\nx * 2", 10),
        ("x = 5; x", 5),
        ("'text'", "text"),
        ("'''only a docstring'''", "only a docstring"),
        ("(y := 4)", 4),
        ("def f(): return 3\nf()", 3),
        ("x = [\n1,\n2]\nx\n# a comment behind it\n\n", [1, 2]),
        ("...", "Ellipsis"),
    ],
)
def test_the_last_expression_is_the_value(source: str, value: object) -> None:
    assert value_of(source) == value


@pytest.mark.scenario("run/robust-result-capture/no-return-value")
@pytest.mark.parametrize(
    "source",
    ["x = 1", "import math", "def f(): ...", "pass", "if True:\n    5", "for i in [1]:\n    i", "", "# no code"],
)
def test_code_that_ends_in_a_statement_has_no_value(source: str) -> None:
    assert reply_to(source) == {"op": "nothing"}


@pytest.mark.scenario("run/robust-result-capture/none-return")
@pytest.mark.parametrize("source", ["None", "[].clear()", "return None", "return", "def f(): ...\nreturn f()"])
def test_none_is_a_value(source: str) -> None:
    assert reply_to(source) == {"op": "value", "value": None}


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("import sys\nsys.modules['__main__'].__dict__ is globals(), __name__", (True, "__main__")),
        ("def f():\n    return later()\ndef later():\n    return 5\nf()", 5),
        ("def f():\n    global made\n    made = 3\nf()\nmade", 3),
        ("global x\nx = 4\nx", 4),
        ("class A:\n    x = 2\n    def get(self):\n        return x\nx = 1\nA().get(), A.x", (1, 2)),
        ("class A:\n    n = 3\n    rows = [n for _ in range(2)] if False else n\nA.rows", 3),
        ("x: int = 5\nx", 5),
        ("if (n := 10) > 5: m = n\nn, m", (10, 10)),
        ("[last := i for i in range(3)]\nlast", 2),
        ("def twice(f):\n    return lambda: f() * 2\n@twice\ndef f(): return 4\nf()", 8),
        ("def g():\n    yield 1\n    yield from [2, 3]\nlist(g())", [1, 2, 3]),
        (
            "match {'a': [1, 2, 3], 'b': 0}:\n    case {'a': [x, *rest], **others}: r = x, rest, others\nr",
            (1, [2, 3], {"b": 0}),
        ),
        ("from math import *\nsqrt(pi * 0 + 4)", 2.0),
        ("from __future__ import annotations\ndef f(x: nowhere): ...\nf.__annotations__['x']", "nowhere"),
        ("try:\n    1/0\nexcept ZeroDivisionError as e:\n    kind = type(e).__name__\nkind", "ZeroDivisionError"),
        (
            "try:\n    raise ExceptionGroup('', [KeyError()])\nexcept* KeyError as g:\n    n = len(g.exceptions)\nn",
            1,
        ),
        (
            "def outer():\n    n = 0\n    def inner():\n        nonlocal n\n        n += 3\n    inner()\n    return n\nouter()",
            3,
        ),
        (
            "import dataclasses\n@dataclasses.dataclass\nclass P:\n    x: int\nP(3).x, P.__module__, P.__qualname__",
            (3, "__main__", "P"),
        ),
        ("exec('made = 6')\nmade", 6),
        ("del ot\n'ot' in globals()", False),
        ("demo = 5\ndemo", 5),
    ],
)
def test_code_behaves_as_in_a_plain_module(source: str, value: object) -> None:
    assert value_of(source) == value


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("await 5", 5),
        ("x = await 'a'\nx", "a"),
        ("[await n for n in (1, 2)]", [1, 2]),
        ("async def f(n):\n    return await n + 1\nawait f(2)", 3),
        ("async def f():\n    for n in 1, 2:\n        yield n\n[n async for n in f()]", [1, 2]),
        ("import asyncio\nasync def f(): return 3\nawait asyncio.gather(f(), 4, f())", [3, 4, 3]),
        ("import asyncio\nawait asyncio.wait_for(5, timeout=1), await asyncio.create_task(6)", (5, 6)),
        ("import asyncio\nawait asyncio.sleep(0, 'slept')", "slept"),
        (
            "from contextlib import *\n@asynccontextmanager\nasync def c(): yield 8\nasync with c() as n: pass\nn",
            8,
        ),
        ("import types\n@types.coroutine\ndef old():\n    yield from ()\n    return 9\nawait old()", 9),
        ("class A:\n    async def get(self):\n        return await 4\nawait A().get()", 4),
        ("await (await 3)", 3),
        ("async def f(): return 2\nlater = f()\nawait later", 2),
    ],
)
def test_await_works_on_what_can_be_awaited_and_on_plain_values(source: str, value: object) -> None:
    assert value_of(source) == value


@pytest.mark.parametrize(
    "source",
    [
        "x = await 5",
        "import asyncio\nx = await asyncio.sleep(0)",
        "import asyncio\nasync with asyncio.timeout(5): pass",
    ],
)
def test_a_statement_that_waits_has_no_value_either(source: str) -> None:
    assert reply_to(source) == {"op": "nothing"}


@pytest.mark.scenario("run/error-context/syntax-error-location")
@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("x = 1\nif x\n    y = 2", 2),
        ("x = 1\n\n\nbreak", 4),
        ("def f():\n    return 1\n\nyield 5", 4),
        ("x = 1\nreturn 5\nyield 5", 3),
        ("x = 1\nfor i in []:\n    yield i\nreturn 1", 3),
        ("class A:\n    x = 1\n    return x", 3),
        ("x = 1\nnonlocal x", 2),
        ("def f(a, a): ...", 1),
        ("x = 1\nfrom __future__ import annotations", 2),
        ("x = 1\nfrom __future__ import annotations\nreturn x", 2),
        ("x = 1\ndef f():\n    from math import *", 3),
        ("    x = 1\n    y = = 2", 2),
        ("x = '''\n\n\n'''\ny = 1 +", 5),
        ("x = 1\nlambda: (yield)\ndef f():\n    await x", 4),
    ],
)
def test_a_syntax_error_names_the_authors_line(source: str, line: int) -> None:
    kind, _, lines = failure_of(source)

    assert kind in {"SyntaxError", "IndentationError"}
    assert lines == [line]


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("1/0", [1]),
        ("\n\nx = 1\n1/0", [4]),
        ("def f():\n    return 1/0\n\nf()", [4, 2]),
        ("x = [\n  1,\n  1/0,\n]", [3]),
        ("x = '''\n\n'''\n\n1/0", [5]),
        ("    x = 1\n    1/0", [2]),
        ("x = 1\n    1/0", [2]),
        ("if 1:\n    x = 1\n\t1/0", [3]),
        ("x = 1\r\n\r\n1/0", [3]),
        ("x = 1\n\x0c\n1/0", [3]),
        ("x = '\u2028'\n1/0", [2]),
        ("x = 1\n1/0\nreturn 5", [2]),
        ("def f():\n    1/0\nif 1:\n    return f()", [4, 2]),
        ("x = 1\nawait (1/0)", [2]),
        ("async def f():\n    return 1/0\n\nawait f()", [4, 2]),
        ("import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    1/0\nreturn await f()", [5, 4]),
        ("from math import *\n1/0", [2]),
        ("return 1\\\n/0", [1]),
    ],
)
def test_an_error_names_the_authors_lines_outermost_first(source: str, lines: list[int]) -> None:
    assert failure_of(source) == ("ZeroDivisionError", "division by zero", lines)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"], ids=repr)
def test_an_error_shows_the_text_of_its_line(newline: str) -> None:
    source = newline.join(["x = '\u2028\x1c'", "\x0c", "  ", "y = 1/0  # here"])

    assert reply_to(source)["frames"] == [(4, "<module>", "y = 1/0  # here")]


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("(" * 20_000 + ")" * 20_000, "SyntaxError"),
        ("x = " + "+".join(["1"] * 50_000), "RecursionError"),
        ("-" * 50_000 + "1", "MemoryError"),
        ("x" + ".a" * 50_000, "RecursionError"),
        ("if 1:\n" + "".join("    " * n + "if 1:\n" for n in range(1, 120)) + "    " * 120 + "1", "IndentationError"),
        ("x = 1\0", "SyntaxError"),
        ("9" * 5000, "SyntaxError"),
    ],
    ids=["parentheses", "sum", "signs", "attributes", "blocks", "null", "digits"],
)
def test_code_that_python_cannot_read_is_an_error_of_its_own(source: str, kind: str) -> None:
    assert failure_of(source)[0] == kind


def test_expressions_as_deep_as_python_takes_them_work() -> None:
    terms = 1_500

    assert value_of("x = 1\n" + "+".join(["x"] * terms)) == terms
    assert value_of("x = 1\nreturn " + "+".join(["x"] * terms)) == terms
    assert value_of("await " + "+".join(["1"] * terms)) == terms
    assert value_of("[" * 90 + "7" + "]" * 90 + "[0]" * 90) == 7


def test_ten_thousand_lines_work() -> None:
    source = "total = 0\n" + "total += 1\n" * 10_000

    assert value_of(source + "total") == 10_000
    assert value_of(source + "return total") == 10_000
    assert failure_of(source + "1/0")[2] == [10_002]


def test_names_of_ours_do_not_show_among_the_authors() -> None:
    names = value_of("x = 1\n[n for n in globals() if not (n.startswith('__') and n.endswith('__'))]")

    assert sorted(names) == ["ToolError", "demo", "ot", "x"]


@pytest.mark.scenario("run/alias-resolution/simple-alias")
def test_an_alias_is_the_tool_that_it_stands_for_in_the_end() -> None:
    aliases = {"w": "ws", "ws": "demo.upper"}

    assert value_of("repr(w), w.__qualname__", aliases=aliases) == ("<tool demo.upper>", "demo.upper")


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("ws = 5\nws", 5),
        ("def ws(): return 6\nws()", 6),
        ("[ws for ws in (1,)]", [1]),
        ("'ws'", "ws"),
        ("{'ws': 1}['ws']", 1),
        ("dict(ws=3)", {"ws": 3}),
        ("import math as ws\nws.floor(2.5)", 2),
    ],
)
def test_an_alias_yields_to_strings_and_to_names_that_the_code_defines(source: str, value: object) -> None:
    assert value_of(source, aliases={"ws": "demo.upper"}) == value


@pytest.mark.scenario("run/alias-resolution/unknown-alias-passthrough")
def test_a_name_that_is_no_alias_is_left_to_python() -> None:
    assert failure_of("unknown(arg=1)") == ("NameError", "name 'unknown' is not defined", [1])


def test_aliases_that_lead_in_a_circle_are_reported_only_when_they_are_used() -> None:
    aliases = {"a": "b", "b": "c", "c": "b", "ok": "demo.upper"}

    assert reply_to("a()", aliases=aliases) == {"op": "alias_cycle", "names": ["a", "b", "c", "b"]}
    assert reply_to("5", aliases=aliases) == {"op": "value", "value": 5}
    with pytest.raises(AliasCycle):
        compile_program("b", packs=[], aliases=aliases, values={})


def test_code_indented_as_a_whole_may_return_and_wait() -> None:
    source = textwrap.indent("async def f():\n    return '''\nx'''\nreturn await f()\n", "\t")

    assert value_of(source) == "\n\tx"
