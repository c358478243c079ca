"""References of other clients are written as OneTool writes them, and what nobody can fill in is remembered."""

from __future__ import annotations

from pathlib import Path

import pytest

from onetool.foreign.entries import Translator


def translator() -> Translator:
    return Translator({"SET": "x"}, Path("/home/ada"), Path("/work/site"), {"gh-token": "GitHub token"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("$HOME and $5", "$HOME and $5"),
        ("${env:SET}", "${SET}"),
        ("${SET}", "${SET}"),
        ("a-${SET}-b", "a-${SET}-b"),
        ("${workspaceFolder}/src", "/work/site/src"),
        ("${workspaceFolderBasename}", "site"),
        ("${userHome}/x", "/home/ada/x"),
        ("${SET:-other}", "${SET}"),
        ("${UNSET:-other}", "other"),
        ("${UNSET:-}", ""),
        ("${", "$${"),
        ("${command:pick}", "$${command:pick}"),
    ],
)
def test_a_reference_is_translated(text: str, expected: str) -> None:
    assert translator().translate(text) == expected


def test_what_a_person_is_asked_for_gets_the_name_of_its_variable() -> None:
    one = translator()

    assert one.translate("${input:gh-token}", "GITHUB_TOKEN") == "${GITHUB_TOKEN}"
    assert one.translate("Bearer ${input:gh-token}") == "Bearer ${GH_TOKEN}"
    assert one.wanted == {"GITHUB_TOKEN": "GitHub token", "GH_TOKEN": "GitHub token"}


def test_a_variable_that_nobody_has_set_is_wanted() -> None:
    one = translator()
    one.translate("${env:SET} ${env:UNSET} ${OTHER}")

    assert one.wanted == {"UNSET": "", "OTHER": ""}


def test_what_only_the_client_can_fill_in_is_remembered() -> None:
    one = translator()
    one.translate("${command:pick} ${config:a.b}")

    assert one.unknown == ["${command:pick}", "${config:a.b}"]
