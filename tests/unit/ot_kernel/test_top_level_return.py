"""A `return` outside every function gives the run's value, and the code around it stays a module."""

from __future__ import annotations

import pytest

from tests.unit.ot_kernel.program import failure_of, reply_to, value_of


@pytest.mark.scenario("run/robust-result-capture/explicit-return")
@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("return 5", 5),
        ("x = 2\nreturn x * 2\nx = 1/0", 4),
        ("for i in range(10):\n    if i == 3:\n        return i\n99", 3),
        ("for i in range(2):\n    if i == 3:\n        return i\n99", 99),
        ("with open('/dev/null'):\n    return 'inside'", "inside"),
        ("while True:\n    return 1", 1),
        ("match 5:\n    case n:\n        return n", 5),
        ("if 1: return 2", 2),
        ("'''doc'''\nreturn __doc__", "doc"),
    ],
)
def test_the_returned_value_is_the_value_of_the_run(source: str, value: object) -> None:
    assert value_of(source) == value


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("try:\n    return 1\nfinally:\n    seen = 2", 1),
        ("try:\n    1/0\nexcept ZeroDivisionError as e:\n    return type(e).__name__", "ZeroDivisionError"),
        ("try:\n    pass\nexcept ValueError:\n    return 1\nelse:\n    return 3\nfinally:\n    done = 1", 3),
        (
            "try:\n    try:\n        return 1/0\n    finally:\n        x = 'cleaned'\nexcept ZeroDivisionError:\n    return x",
            "cleaned",
        ),
    ],
)
def test_return_runs_through_try_and_finally_as_in_a_function(source: str, value: object) -> None:
    assert value_of(source) == value


@pytest.mark.filterwarnings("ignore:'return' in a 'finally' block:SyntaxWarning")  # since Python 3.14
def test_the_last_return_counts() -> None:
    assert value_of("try:\n    return 1\nfinally:\n    return 2") == 2


@pytest.mark.parametrize(
    ("bindings", "name"),
    [
        ("name = 1", "name"),
        ("name: int = 1", "name"),
        ("name = 0; name += 1", "name"),
        ("a, (b, *name) = 1, (2, 3)", "name"),
        ("for name in [1]: pass", "name"),
        ("import math as name", "name"),
        ("import os.path", "os"),
        ("from math import pi as name", "name"),
        ("def name(): ...", "name"),
        ("async def name(): ...", "name"),
        ("class name: ...", "name"),
        ("if (name := 1): pass", "name"),
        ("[name := i for i in [1]]", "name"),
        ("[[(name := j) for j in [i]] for i in [1]]", "name"),
        ("def f(x=(name := 1)): ...", "name"),
        ("f = lambda x=(name := 1): x", "name"),
        ("@(name := lambda f: f)\ndef f(): ...", "name"),
        ("class A((name := object)): ...", "name"),
        ("import contextlib\nwith contextlib.nullcontext(1) as name: pass", "name"),
        ("match 1:\n    case name: pass", "name"),
        ("match [1, 2]:\n    case [_, *name]: pass", "name"),
        ("match {'a': 1}:\n    case {**name}: pass", "name"),
        ("match 1:\n    case int() as name: pass", "name"),
        ("global name\nname = 1", "name"),
        ("from math import *", "pi"),
        ("try:\n    raise ValueError\nexcept ValueError as e:\n    name = 1", "name"),
    ],
)
def test_names_are_global_to_the_functions_of_the_code(bindings: str, name: str) -> None:
    source = f"{bindings}\ndef look():\n    return '{name}' in globals() and {name} is not None\nreturn look()"

    assert value_of(source) is True


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("x = 1\ndel x\nreturn 'x' in globals()", False),
        ("class A:\n    n = 2\n    def get(self): return __class__.__qualname__, self.n\nreturn A().get()", ("A", 2)),
        ("class A:\n    x = 1\nx = 5\nreturn A.x, x", (1, 5)),
        ("def f():\n    x = 1\n    return x\nx = 5\nreturn f(), x", (1, 5)),
        ("def f():\n    global x\n    x = 9\nx = 5\nf()\nreturn x", 9),
        ("x = 0\ndef f():\n    return x\nx = 3\nreturn f()", 3),
        ("from math import *\nreturn floor(2.5)", 2),
        ("from __future__ import annotations\ndef f(a: nowhere): ...\nreturn f.__annotations__", {"a": "nowhere"}),
        ("'''doc'''\nfrom __future__ import annotations\nfrom __future__ import division\nreturn __doc__", "doc"),
        ("x: int\nreturn 'x' in globals()", False),
        ("class A:\n    pass\nA.x: int = 4\nreturn A.x", 4),
        ("def g():\n    yield 1\n    return 2\nreturn list(g())", [1]),
        ("import sys\nreturn sys.modules['__main__'].__dict__ is globals()", True),
        ("return [n for n in globals() if 'run' in n]", []),
        ("def twice(f): return lambda: f() * 2\n@twice\ndef f(): return 2\nreturn f()", 4),
    ],
)
def test_the_code_around_a_return_stays_a_module(source: str, value: object) -> None:
    assert value_of(source) == value


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("return await 5", 5),
        ("async def f(): return 3\nreturn await f()", 3),
        ("async def g():\n    yield 1\nreturn [n async for n in g()]", [1]),
        ("async def g():\n    yield 1\nasync for n in g():\n    return n", 1),
        ("async def f(): return 3\ndef h(a=await f()): return a\nreturn h()", 3),
        ("import asyncio\nreturn await asyncio.gather(1, 2)", [1, 2]),
        ("import asyncio\nasync with asyncio.timeout(5):\n    return 'in time'", "in time"),
        ("f = lambda: (x for x in [1])\nreturn list(f())", [1]),
        ("async def f(): await 5\nreturn 'not waiting at the top'", "not waiting at the top"),
    ],
)
def test_code_that_waits_may_return(source: str, value: object) -> None:
    assert value_of(source) == value


def test_a_return_that_is_never_reached_leaves_none_as_in_a_function() -> None:
    assert reply_to("if False:\n    return 1\nx = 2") == {"op": "value", "value": None}


def test_return_inside_functions_only_changes_nothing() -> None:
    assert reply_to("def f():\n    return 1\nx = lambda: 2") == {"op": "nothing"}


def test_a_yield_beside_the_return_is_refused_at_its_line() -> None:
    assert failure_of("x = 1\nif x:\n    y = yield x\nreturn x") == ("SyntaxError", "'yield' outside function", [3])
