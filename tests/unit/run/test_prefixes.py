"""Prefixes in front of a command, and the prompts of a Python session."""

from __future__ import annotations

import pytest

from ot.errors import LegacyPrefixError
from ot.run.fence_processor import strip_prefix


@pytest.mark.parametrize("prefix", ["__ot", "__onetool", "__onetool__run", "mcp__onetool__run", ">>>"])
def test_an_accepted_prefix_is_taken_off(prefix: str) -> None:
    assert strip_prefix(f"{prefix} demo.upper(text='x')") == "demo.upper(text='x')"
    assert strip_prefix(f"{prefix} x = 1\nx") == "x = 1\nx"
    assert strip_prefix(f"{prefix}") == ""


def test_a_prefix_on_a_line_of_its_own_leaves_the_line() -> None:
    assert strip_prefix("__ot\nx") == "\nx"
    assert strip_prefix("\n__ot x\ny") == "\nx\ny"


@pytest.mark.parametrize(
    "code",
    ["__ot = 5", "__ot += 1", "__ot == 1", "__ot.x", "__ot(1)", "__other", "__onetool_x()", "a__ot b", "x >>> y"],
)
def test_code_that_uses_such_a_name_is_left_alone(code: str) -> None:
    assert strip_prefix(code) == code


@pytest.mark.scenario("run/robust-fence-stripping/legacy-prefix-rejected")
@pytest.mark.parametrize("command", ['!onetool upper(text="hello")', "  !onetool x", "\n!onetool", "\ufeff!onetool x"])
def test_the_legacy_prefix_is_refused(command: str) -> None:
    with pytest.raises(LegacyPrefixError):
        strip_prefix(command)


def test_a_session_is_read_as_doctest_reads_it() -> None:
    session = ">>> a = [1]\n>>> for x in a:\n...     x\n...\n1\n>>> a"

    assert strip_prefix(session).split("\n") == ["a = [1]", "for x in a:", "    x", "", "", "a"]


def test_a_session_may_be_indented_and_may_lack_the_space_behind_a_prompt() -> None:
    assert strip_prefix("  >>> if x:\n  ...     y\n  >>>z") == "if x:\n    y\nz"


def test_a_single_prompt_is_only_a_prefix() -> None:
    assert strip_prefix(">>> class A:\n    ...\n\nA()") == "class A:\n    ...\n\nA()"
