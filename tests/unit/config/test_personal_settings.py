"""What people may say in settings of their own, and how mistakes are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from ot.config.loader import load_config
from ot.config.personal_settings import PersonalSettings, find_mistakes, with_own_settings
from ot.store.shelf import Shelf


def test_what_adds_names_or_tightens_is_taken() -> None:
    text = """
aliases: {find: ot.help}
snippets: {hi: {body: "'hi ${HOME}'"}}
prompts: {packs: {brave: Search in English.}}
policy: {ask: ["brave.*"], deny: ["web.*"]}
packs: {brave: {enabled: false}}
execution: {timeout: 30}
workers:
"""
    assert find_mistakes(text) == []
    assert find_mistakes("") == []


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: 1\nservers: {x: {url: http://127.0.0.1/}}", 2, "servers: only an administrator can set it"),
        ("policy:\n  allow: ['*']", 2, "policy.allow: only an administrator"),
        ("packs:\n  brave:\n    timeout: 900", 3, "packs.brave.timeout: only an administrator"),
        ("packs:\n  brave:\n    api_url: x", 3, "packs.brave.api_url: only an administrator"),
        ("include: /etc/passwd", 1, "include: only an administrator"),
        ("roots: [/]", 1, "roots: only an administrator"),
        ("execution:\n  sandbox: 'off'", 2, "execution.sandbox: only an administrator"),
        ("\npolicy:\n  ask: brave", 3, "policy.ask: must be a list"),
        ("alises: {a: b.c}", 1, "alises: unknown key"),
        ("aliases:\n  'a", 2, "line 2"),
    ],
)
def test_anything_else_is_refused_with_its_line(text: str, line: int, words: str) -> None:
    mistakes = find_mistakes(text)

    assert any(words in each and f"line {line}" in each for each in mistakes), mistakes


@pytest.mark.parametrize(("text", "seconds"), [("aliases: {find: ot.help}", 86000), ("execution: {timeout: 30}", 30)])
def test_a_limit_that_they_do_not_name_stays_as_the_team_has_it(tmp_path: Path, text: str, seconds: float) -> None:
    (tmp_path / ".onetool").mkdir()
    (tmp_path / ".onetool" / "onetool.yaml").write_text("execution: {timeout: 86000}")
    team = load_config(environ={}, cwd=tmp_path, home=tmp_path)
    own = PersonalSettings(Shelf(tmp_path / "shelf"))
    assert own.write(text) == []

    assert with_own_settings(team, own).config.execution.timeout == seconds
