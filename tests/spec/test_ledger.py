"""The ledger of specified scenarios: each one has a test, and no test names one that nobody specified."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

LEDGER = Path(__file__).with_name("scenarios.txt")
TESTS = LEDGER.parent.parent


def test_every_specified_scenario_has_a_test() -> None:
    specified, named = _specified(), _named()

    lost = [scenario for scenario in specified if scenario not in named]

    assert not lost


def test_every_scenario_that_a_test_names_is_specified() -> None:
    specified, named = _specified(), _named()

    unknown = {scenario: file for scenario, file in named.items() if scenario not in specified}

    assert not unknown


def test_the_ledger_names_each_scenario_once() -> None:
    specified = _specified()

    assert len(specified) == len(set(specified)) == 168


def test_a_mark_counts_on_a_test_and_nowhere_else() -> None:
    source = """
@pytest.mark.scenario("a/b/on-a-test")
async def test_it(): pytest.mark.scenario("a/b/in-a-body")

@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.scenario("a/b/on-a-case"))])
def test_table(x): ...

# @pytest.mark.scenario("a/b/in-a-comment")
@pytest.mark.scenario("a/b/on-a-helper")
def helper(): ...
"""

    assert list(_marks(ast.parse(source))) == ["a/b/on-a-test", "a/b/on-a-case"]


def _specified() -> list[str]:
    return LEDGER.read_text(encoding="utf-8").split()


def _named() -> dict[str, str]:
    """Each scenario that a test names, with a file that names it."""
    files = sorted(TESTS.rglob("test_*.py"))
    own = [file for file in files if "node_modules" not in file.parts and ".venv" not in file.parts]
    texts = {file: text for file in own if ".scenario(" in (text := file.read_text(encoding="utf-8"))}
    return {
        scenario: str(file.relative_to(TESTS)) for file, text in texts.items() for scenario in _marks(ast.parse(text))
    }


def _marks(module: ast.Module) -> Iterator[str]:
    """Scenarios named in the decorators of test functions."""
    for function in module.body:
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and function.name.startswith("test_"):
            for decorator in function.decorator_list:
                yield from _scenarios_of(decorator)


def _scenarios_of(decorator: ast.expr) -> Iterator[str]:
    for node in ast.walk(decorator):
        match node:
            case ast.Call(func=ast.Attribute(attr="scenario"), args=[ast.Constant(value=str(scenario))]):
                yield scenario
