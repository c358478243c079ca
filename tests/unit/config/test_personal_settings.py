"""What people may say in settings of their own, and how mistakes are told."""

from __future__ import annotations

import pytest

from ot.config.personal_settings import find_mistakes


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
        ("a: 1\nservers: {x: {url: http://127.0.0.1/}}", 2, "servers: only whoever looks after the server sets it"),
        ("policy:\n  allow: ['*']", 2, "policy.allow: only whoever"),
        ("packs:\n  brave:\n    timeout: 900", 3, "packs.brave.timeout: only whoever"),
        ("packs:\n  brave:\n    api_url: x", 3, "packs.brave.api_url: only whoever"),
        ("include: /etc/passwd", 1, "include: only whoever"),
        ("roots: [/]", 1, "roots: only whoever"),
        ("execution:\n  sandbox: 'off'", 2, "execution.sandbox: only whoever"),
        ("\npolicy:\n  ask: brave", 3, "policy.ask: must be a list"),
        ("alises: {a: b.c}", 1, "alises: unknown key"),
        ("aliases:\n  'a", 2, "line 2"),
    ],
)
def test_anything_else_is_refused_with_its_line(text: str, line: int, words: str) -> None:
    mistakes = find_mistakes(text)

    assert any(words in each and f"line {line}" in each for each in mistakes), mistakes
