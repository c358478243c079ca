"""The pack context7: libraries, their documentation, and the versions that the project has."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from ot_packs.locks import READERS
from tests.services.context7 import PlayedContext7
from tests.services.played import Caller, open_caller, open_caller_of, play


@pytest.fixture
async def context7() -> AsyncIterator[PlayedContext7]:
    async with play(PlayedContext7()) as service:
        yield service


@pytest.fixture
async def caller(tmp_path: Path, context7: PlayedContext7) -> AsyncIterator[Caller]:
    async with open_caller_of(tmp_path, context7, pack="context7", path="/api") as opened:
        yield opened


def lock(tmp_path: Path, version: str) -> None:
    (tmp_path / "project" / "uv.lock").write_text(f'[[package]]\nname = "pydantic"\nversion = "{version}"\n')


async def test_libraries_are_found_with_the_version_of_the_project(caller: Caller, tmp_path: Path) -> None:
    lock(tmp_path, "2.10.1")
    seen = await caller.run(
        'found = context7.search(query="pydantic")\n'
        'print([(each["id"], each["versions"][:1], each["locked"]) for each in found["libraries"]], found["total"])'
    )

    assert seen.startswith("[('/pydantic/pydantic', ['v2.12.0'], '2.10.1'), ('/pydantic/pydantic-settings', [], '')] 2")


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        ('library="pydantic"', "/pydantic/pydantic"),
        ('library="/pydantic/pydantic"', "/pydantic/pydantic"),
        ('library="pydantic", version="1.10.2"', "/pydantic/pydantic/v1.10.2"),
        ('library="/pydantic/pydantic/v1.10.2"', "/pydantic/pydantic/v1.10.2"),
        ('library="pydantic", version="locked"', "/pydantic/pydantic/v2.10.1"),
    ],
)
async def test_documentation_is_of_the_version_that_was_meant(
    caller: Caller, context7: PlayedContext7, tmp_path: Path, arguments: str, asked: str
) -> None:
    lock(tmp_path, "2.10.4")  # not documented: the nearest is

    assert f"Source: {asked}" in await caller.run(f'context7.docs(topic="validators", {arguments})["text"]')
    assert context7.requests[-1].query == {"query": "validators", "libraryId": asked, "type": "txt"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ('library="pydantic", topic=" "', "say what you want to know"),
        ('library="nothing", topic="x"', "Context7 has no library 'nothing'; it has none of a similar name"),
        ('library="/pydantic/other", topic="x"', "Context7 has no library"),
        ('library="/../..", topic="x"', "Context7 has no library"),
        ('library="/a b", topic="x"', "is not an id such as"),
        (
            'library="pydantic", topic="x", version="9"',
            "does not document version 9. Documented: v2.12.0, v2.10.1, v1.10.2; the project has 3.0.0",
        ),
        ('library="pydantic", topic="x", version="locked"', "documents no version near 3.0.0"),
    ],
)
async def test_what_cannot_be_found_is_named_with_what_there_is(
    caller: Caller, tmp_path: Path, arguments: str, words: str
) -> None:
    lock(tmp_path, "3.0.0")

    assert words in await caller.mistake(f"context7.docs({arguments})")


async def test_no_key_is_needed(tmp_path: Path, context7: PlayedContext7) -> None:
    options = {"base_url": f"{context7.address}/api"}
    async with open_caller(tmp_path, packs={"context7": options}, secrets={}) as caller:
        assert await caller.run('context7.search(query="pydantic")["total"]') == "2"

    assert "authorization" not in context7.requests[0].headers


async def test_a_wrong_key_is_named(tmp_path: Path, context7: PlayedContext7) -> None:
    options = {"base_url": f"{context7.address}/api"}
    async with open_caller(tmp_path, packs={"context7": options}, secrets={"CONTEXT7_API_KEY": "wrong1"}) as caller:
        message = await caller.mistake('context7.search(query="pydantic")')

    assert "rejected the key in the secret CONTEXT7_API_KEY (Invalid API key)" in message


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("package-lock.json", json.dumps({"packages": {"": {}, "node_modules/pydantic": {"version": "2.10.1"}}})),
        ("Pipfile.lock", json.dumps({"default": {"pydantic": {"version": "==2.10.1"}}})),
        ("requirements.txt", "# pins\nPydantic[email]==2.10.1 \\\n    --hash=sha256:00\nother>=1\n"),
        ("poetry.lock", '[[package]]\nname = "pydantic"\nversion = "2.10.1"\n'),
        ("pylock.toml", '[[packages]]\nname = "pydantic"\nversion = "2.10.1"\n'),
        ("yarn.lock", '# yarn lockfile v1\n\n\n"pydantic@^2.0", pydantic@2:\n  version "2.10.1"\n'),
        ("yarn.lock", '__metadata:\n  version: 8\n\n"pydantic@npm:^2.0":\n  version: 2.10.1\n  checksum: 00\n'),
        ("pnpm-lock.yaml", "lockfileVersion: 5.4\n\npackages:\n\n  /pydantic/2.10.1_react@18.0.0:\n    dev: false\n"),
        (
            "pnpm-lock.yaml",
            "lockfileVersion: '6.0'\n\npackages:\n\n  /pydantic@2.10.1(react@18.0.0):\n    dev: false\n",
        ),
        (
            "pnpm-lock.yaml",
            (
                "lockfileVersion: '9.0'\nimporters:\n  .:\n    dependencies:\n      pydantic:\n        specifier: ^2.0\n"
                "        version: 2.10.1(react@18.0.0)\npackages:\n  pydantic@1.0.0:\n    engines: {node: '>=6'}\n"
            ),
        ),
        (
            "go.mod",
            "module x\ngo 1.22\nreplace example.org/pydantic v9.0.0 => ../x\nrequire example.org/pydantic/v2 v2.10.1\n",
        ),
        (
            "go.mod",
            "module x\nexclude (\n\texample.org/pydantic v9.0.0\n)\nrequire (\n\texample.org/pydantic v2.10.1 // indirect\n)",
        ),
    ],
)
async def test_every_kind_of_lock_file_is_read(caller: Caller, tmp_path: Path, file: str, text: str) -> None:
    (tmp_path / "project" / file).write_text(text)

    assert await caller.run('context7.search(query="pydantic")["libraries"][0]["locked"]') == "2.10.1"


@pytest.mark.parametrize("text", ["[[", "[" * 100_000, '{"packages": 7}', "\x00\xff", "[[package]]\nname = 7"])
async def test_a_lock_file_that_makes_no_sense_counts_as_empty(caller: Caller, tmp_path: Path, text: str) -> None:
    for file in READERS:
        (tmp_path / "project" / file).write_text(text)

    assert await caller.run('context7.search(query="pydantic")["libraries"][0]["locked"] == ""') == "True"


@pytest.mark.parametrize(
    "text", ["a." * 200_000, "replace (\n" * 40_000, "\n" * 100_000, "a[\n" * 100_000, "a@" * 100_000]
)
def test_no_text_takes_a_reader_the_square_of_its_length(text: str) -> None:
    for read in READERS.values():
        with suppress(ValueError, RecursionError):
            assert "pydantic" not in [package.name for package in read(text)]
