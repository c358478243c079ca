"""A skill from code that worked: the file says what was given, and nothing else, or is not written."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from ot.errors import NewSkillError
from ot.skills.new_skill import NewSkill, write_text

FOLDER = Path("/project/.onetool/skills")

CODE = '''\
import json
text = """
  a margin
of its own
"""
rows = [f"""{n}
  and so on""" for n in range(days)]
# the answer
found = 1; {"rows": rows,
  "text": text}
'''

FILE = '''\
def weekly(*, repo: str, days: int = 7):
    """Report of a week.

    Args:
        repo: The repository.

    Returns:
        Rows and text.

    Example:
        skills.weekly(repo=...)
    """
    import json
    text = """
  a margin
of its own
"""
    rows = [f"""{n}
  and so on""" for n in range(days)]
    # the answer
    found = 1; return {"rows": rows,
      "text": text}
'''


def test_code_becomes_a_function_that_says_what_it_takes() -> None:
    new = NewSkill(
        "weekly",
        CODE,
        "Report\nof a week.",
        parameters="repo: str, days: int = 7",
        arguments={"repo": "The  repository."},
        returns="Rows and text.",
    )

    assert write_text(new, FOLDER) == FILE


@pytest.mark.parametrize(
    "code",
    [
        "return 5",
        "x = 1",
        '"only text"',
        "await demo.upper(text='x')",
        "async for x in y: print(x)",
        "[x async for x in y]",
        "async def f():\n    await x\nf",
        "if a:\n\tb = '''\n\tc\n'''\n\tb",
        "é = 'ü'; é",
        "def f():\n    return 1\n\n\nf()",
        "# first\n\nx\n# last",
        "x = 1\r\ny = 2\r\nx + y\r\n",
    ],
)
def test_every_code_of_a_run_keeps_its_meaning(code: str) -> None:
    text = write_text(NewSkill("made", code, "Made."), FOLDER)

    [function] = ast.parse(text).body
    assert isinstance(function, ast.AsyncFunctionDef | ast.FunctionDef)
    compile(text, "made.py", "exec")  # as a function too: people look at it with their tools
    last = function.body[-1]
    given = ast.parse(code).body[-1]
    if isinstance(given, ast.Expr):
        assert isinstance(last, ast.Return)
        assert last.value is not None
        assert ast.dump(last.value) == ast.dump(given.value)
    else:
        assert ast.dump(last) == ast.dump(given)


@pytest.mark.parametrize(
    "text", ['Say """hello""".', 'It is a "b".', "Back \\ slash \\n.", '"""', "x" * 500, "ünï \u202e code"]
)
def test_a_description_stays_text(text: str) -> None:
    [function] = ast.parse(write_text(NewSkill("made", "1", text), FOLDER)).body

    assert isinstance(function, ast.FunctionDef)
    assert (ast.get_docstring(function) or "").startswith(text)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "code that is not Python": ({"code": "x ="}, "the code is not valid Python: line 1"),
    "a margin": ({"code": "  x"}, "the code is not valid Python: line 1: unexpected indent"),
    "no code": ({"code": "# nothing"}, "there is no code"),
    "no description": ({"description": " \n"}, "there is no description"),
    "a description that is a heading": ({"description": "Example: do it"}, "do not form one function"),
    "parameters that close the brackets": ({"parameters": "a: int): pass\ndef g(*, b: int"}, "this file has 2"),
    "parameters with a body": (
        {"parameters": 'a: int):\n    """Made."""\n    evil()\n    return 1\n    (lambda b'},
        "not valid Python",
    ),
    "parameters without types": ({"parameters": "a"}, "a has no type"),
    "a default that is executed": ({"parameters": "a: int = open('x')"}, "is not a constant"),
    "arguments of nothing": ({"arguments": {"b": "text"}}, "arguments describes b, which is not in parameters"),
    "an example that is not Python": ({"example": "))"}, "the example is not valid Python"),
    "a lone surrogate": ({"code": "x = '\ud800'"}, "not valid Python"),
    "too much": ({"code": "x = 1\n" * 40_000}, "larger than 200,000 bytes"),
    "a megabyte": ({"code": f"x = '{'y' * 1_000_000}'"}, "larger than 200,000 bytes"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_be_something_else_is_not_written(name: str) -> None:
    parts, reason = REFUSED[name]

    with pytest.raises(NewSkillError) as refused:
        write_text(replace(NewSkill("made", "1", "Made."), **parts), FOLDER)

    assert reason in refused.value.reason


@pytest.mark.parametrize(
    "name", ["", "a.b", "../x", "__init__", "_x", "class", "test_x", "conftest", "é", "x" * 61, "a b"]
)
def test_a_name_that_no_skill_can_have_is_refused(name: str) -> None:
    with pytest.raises(NewSkillError):
        write_text(NewSkill(name, "1", "Made."), FOLDER)


def test_a_docstring_cannot_be_left() -> None:
    new = NewSkill("made", "1", dedent('''x\\"""; import os; os.system("true"); """'''))

    [function] = ast.parse(write_text(new, FOLDER)).body

    assert isinstance(function, ast.FunctionDef)
    assert len(function.body) == 2
