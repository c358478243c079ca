"""CONTRIBUTING, SECURITY and CHANGELOG are true: the pack works, files, targets and keys exist."""

from __future__ import annotations

import re
from importlib.metadata import version as installed_version
from pathlib import Path

import pytest

from mcp_core.distribution import DISTRIBUTION, VERSION
from ot.config.keys import known_keys
from tests.engine import open_engine

ROOT = Path(__file__).parents[2]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SECURITY = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"^```(\w+)\n(.*?)\n```$", CONTRIBUTING, re.MULTILINE | re.DOTALL))
CHANGES: dict[str, str] = dict(re.findall(r"^\| (an? [^|]+?) \| (.*) \|$", CONTRIBUTING, re.MULTILINE))


async def test_the_pack_of_ten_minutes_answers_as_shown(tmp_path: Path) -> None:
    [code] = re.findall(r"^onetool run '(.*)'$", BLOCKS["sh"])

    async with open_engine(tmp_path, packs={"words": BLOCKS["python"]}) as app:
        example = app.registry.get("words.most_common").docs.example
        answer = await app.runner.run(code)
        mistake = await app.runner.run("words.most_common(text='a', limit=0)")

    assert code == example
    assert answer.text == BLOCKS["text"]
    assert "limit must be 1 or more" in mistake.text
    assert not app.problems


def test_a_newcomer_has_six_changes_described() -> None:
    assert list(CHANGES) == [
        "a pack",
        "a configuration key",
        "a command",
        "an error's words",
        "a provider of models",
        "a platform",
    ]


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_touches_at_most_three_files_that_are_where_it_says(change: str) -> None:
    files = re.findall(r"`((?:src|tests)/[^`]+|pyproject\.toml)`", CHANGES[change])

    assert 1 <= len(files) <= 3
    for file in files:
        there = ROOT / file
        assert there.parent.is_dir() if "NAME" in there.name else there.exists(), file


def test_every_target_that_is_named_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    targets = set(re.findall(r"`make (\w+)", CONTRIBUTING + SECURITY + CHANGELOG))

    assert targets <= set(re.findall(r"^(\w+):", makefile, re.MULTILINE))


def test_every_key_that_is_named_exists() -> None:
    known = {".".join(key.path[:length]) for key in known_keys() for length in range(1, len(key.path) + 1)}

    named = re.findall(r"`((?:execution|policy|results|security)\.\w+)", SECURITY + CHANGELOG)

    assert set(named) <= known
    assert named


def test_links_lead_to_files() -> None:
    for link in re.findall(r"\]\((?!https?:)([^)#]+)", CONTRIBUTING + SECURITY + CHANGELOG):
        assert (ROOT / link).exists(), link


def test_the_version_of_the_project_is_in_the_changelog() -> None:
    assert f"\n## {VERSION}\n" in CHANGELOG
    assert installed_version(DISTRIBUTION) == VERSION


@pytest.mark.parametrize(("file", "name"), re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", SECURITY))
def test_every_test_that_holds_a_promise_exists(file: str, name: str) -> None:
    assert re.search(rf"^(async )?def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
