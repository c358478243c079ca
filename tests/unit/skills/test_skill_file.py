"""The file of a skill: read without executing it, and refused with its line if it is anything but one function."""

from __future__ import annotations

from pathlib import Path

import pytest

from ot.errors import PackLoadError
from ot.registry.definitions import Cancellation
from ot.skills.skill_file import MOST_BYTES, parse_skill

GOOD = '''"""A file with a docstring."""

from typing import Literal


async def report(*, repo: str, state: Literal["open", "closed"] = "open") -> dict[str, int]:
    """Count what is open.

    Args:
        repo: The repository.

    Example:
        skills.report(repo="x")
    """
    issues = await github.issues(repo=repo)
    return {"open": len(issues)}
'''

HEAD = 'def report():\n    """Report."""\n'

MISTAKES = {
    "code after the function": (
        f"{HEAD}import os\nos.system('x')\n",
        4,
        "only imports are allowed beside the function",
    ),
    "code before it": (f"open('x')\n{HEAD}", 1, "beside the function"),
    "a second text": (f'"""One."""\n"""Two."""\n{HEAD}', 2, "beside the function"),
    "a class": (f"{HEAD}class A: pass\n", 3, "beside the function"),
    "two functions": (f"{HEAD}def other(): pass\n", 3, "a skill is exactly one function; this file has 2"),
    "none": ('"""Nothing."""\n', None, "this file has 0"),
    "another name": ('def other():\n    """O."""\n', 1, "must have the name of the file, report"),
    "a decorator": (f"@open('x')\n{HEAD}", 1, "a skill has no decorators"),
    "a default that is a call": (
        'def report(*, a: int = open("x")):\n    """R."""\n',
        1,
        "the default of a is not a constant",
    ),
    "a default that is a name": (
        'def report(*, a: int = print):\n    """R."""\n',
        1,
        "the default of a is not a constant",
    ),
    "no type": ('def report(*,\n a):\n    """R."""\n', 2, "a has no type"),
    "anything": ('def report(**rest: int):\n    """R."""\n', 1, "**rest takes anything"),
    "any number": ('def report(*rest: int):\n    """R."""\n', 1, "*rest takes anything"),
    "by position only": ('def report(a: int, /):\n    """R."""\n', 1, "take no name"),
    "no docstring": ("def report(): pass\n", 1, "it has no docstring"),
    "a relative import": (f"from . import x\n{HEAD}", 1, "no package to import from"),
    "not Python": ("def report(:\n", 1, "not valid Python"),
    "a null byte": (f"{HEAD}#\0", None, "not valid Python"),
    "too deep": (f"{HEAD}    return {'(' * 5000}{')' * 5000}", None, ""),
    "too large": (f"{HEAD}    # {'x' * MOST_BYTES}\n", None, "larger than 200,000 bytes"),
}


def test_a_skill_is_defined_by_its_function(tmp_path: Path) -> None:
    skill = parse_skill(GOOD.encode(), tmp_path / "report.py")

    tool = skill.definition
    assert tool.signature == (
        "skills.report(*, repo: str, state: Literal['open', 'closed'] = 'open') -> dict[str, int]"
    )
    assert tool.description == "Count what is open."
    assert tool.parameters["required"] == ["repo"]
    assert tool.docs.example == 'skills.report(repo="x")'
    assert tool.cancellation is Cancellation.SKILL
    assert skill.text == GOOD


@pytest.mark.parametrize("name", MISTAKES)
def test_what_is_no_skill_is_refused_with_its_line(tmp_path: Path, name: str) -> None:
    text, line, reason = MISTAKES[name]

    with pytest.raises(PackLoadError) as refused:
        parse_skill(text.encode(), tmp_path / "report.py")

    assert reason in refused.value.reason
    assert line is None or refused.value.line == line


@pytest.mark.parametrize("stem", ["wéekly", "x" * 61], ids=["not ascii", "long"])
def test_a_name_that_code_should_not_have_to_write_is_refused(tmp_path: Path, stem: str) -> None:
    with pytest.raises(PackLoadError, match="at most 60 letters"):
        parse_skill(f'def {stem}():\n    """R."""\n'.encode(), tmp_path / f"{stem}.py")
