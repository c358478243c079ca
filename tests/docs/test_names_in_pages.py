"""Commands and tools that pages and messages name exist, with their options, or are made by the page itself."""

from __future__ import annotations

import argparse
import ast
import io
import re
import shlex
from collections.abc import Iterator
from contextlib import redirect_stderr
from functools import cache
from pathlib import Path

import pytest

import mcp_guide.main
import zwave_mcp.main
from onetool.cli import COMMANDS, load_command
from scripts.pack_pages import read_packs

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PACKAGES = sorted(folder for folder in (ROOT / "src").iterdir() if (folder / "__init__.py").exists())
TOOLS = {pack.name: set(pack.tools) for pack in read_packs()}
MISTAKES = {"file.lst", "file.wrte", "scaffold.extention"}  # what pages show the answer to
SERVERS = {"servers.md": {"notes"}}  # a server of the page, in place of the pack of that name

PROGRAM = r"(?:onetool|zwave-mcp|mcp-guide)"
REST_OF_LINE = re.compile(r"\s*(?:\|\|?|&&|[;>#]|\))(?:\s|$)")  # what a shell does not give to the command


def by_place(place: Path) -> str:
    return str(place.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=by_place)
def test_every_tool_that_is_named_exists(page: Path) -> None:
    code = "\n".join(re.findall(r"`[^`\n]+`|^```.*?^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL))
    calls = re.findall(r"(?:`|\b)([a-z]\w*)\.([a-z]\w*)\(", code)

    packs = TOOLS.keys() - SERVERS.get(page.name, set())
    assert {f"{pack}.{tool}" for pack, tool in calls if pack in packs and tool not in TOOLS[pack]} <= MISTAKES


@pytest.mark.parametrize("page", PAGES, ids=by_place)
def test_every_command_of_a_page_is_understood(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    typed = [line for block in blocks for line in re.findall(rf"^{PROGRAM} .*", block, re.MULTILINE)]
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    quoted = re.findall(rf"`({PROGRAM} [^`]+)`", prose)

    assert [problem for command in (*typed, *quoted) if (problem := misunderstood(command))] == []


@pytest.mark.parametrize("package", PACKAGES, ids=by_place)
def test_every_command_of_a_message_is_understood(package: Path) -> None:
    sources = [file.read_text(encoding="utf-8") for file in package.rglob("*.py")]
    texts = [text for source in sources if re.search(f"{PROGRAM} ", source) for text in messages(ast.parse(source))]
    quoted = [command for text in texts for command in re.findall(rf"`({PROGRAM} [^`]+)`", text)]
    known = "|".join(COMMANDS)
    said = [found for text in texts for found in re.findall(rf"(?<![`\w/.~-])onetool (?:{known})\b(?!:)[^`\n]*", text)]

    assert [problem for command in quoted if (problem := misunderstood(command))] == []
    assert [problem for sentence in said if (problem := misunderstood(sentence, followed=True))] == []


def messages(tree: ast.Module) -> Iterator[str]:
    """The texts of a module that are not docstrings, with X for what is filled in."""
    nodes = list(ast.walk(tree))
    filled = [node for node in nodes if isinstance(node, ast.JoinedStr)]
    silent: set[ast.AST] = {part for node in filled for part in node.values}
    silent |= {node.value for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in silent:
            yield node.value
    for node in filled:
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)


@cache
def parser_of(program: str, command: str) -> argparse.ArgumentParser:
    if program == "onetool":
        return load_command(command)[1]
    return zwave_mcp.main._build_parser() if program == "zwave-mcp" else mcp_guide.main._build_parser()


def misunderstood(text: str, *, followed: bool = False) -> str:
    """Say what is wrong with a command, as its own parser sees it; nothing if it is right, or a mere name.

    One that is `followed` by the rest of a sentence ends where it makes sense, but not before an option.
    """
    words = split(text)
    last = max((place for place, word in enumerate(words) if word.startswith("--")), default=1) if followed else 0
    ends = range(len(words), last, -1) if followed else [len(words)]
    problems = [mistake_in(words[:end]) for end in ends]
    return "" if "" in problems else f"{text}: {problems[0]}"


def split(text: str) -> list[str]:
    """The words that a shell would give to a command; of a text over several lines the first opens a quotation."""
    found = " ".join(text.split()) if text.count("'") % 2 == 0 else f"{text}'"
    sentence = re.split(r"[.;,]\s", found, maxsplit=1)[0].rstrip(".,;)")
    for candidate in (REST_OF_LINE.split(found, maxsplit=1)[0], sentence):
        try:
            return shlex.split(re.sub(r"\[/\]|[\[\]]", "", candidate))  # what may be left out, and markup
        except ValueError:
            continue
    return found.split()


def mistake_in(words: list[str]) -> str:
    program, *arguments = words
    command = ""
    if program == "onetool":
        while arguments and arguments[0] == "--config":
            arguments = arguments[2:]
        if not arguments or arguments[0] == "--version":
            return ""
        command, *arguments = arguments
        if command not in COMMANDS:
            return "there is no such command"
    said = io.StringIO()
    try:
        with redirect_stderr(said):
            parser_of(program, command).parse_args(arguments)
    except SystemExit as end:
        mistake = said.getvalue().rpartition("error: ")[2].strip()
        is_name = "the following arguments are required" in mistake and not any(w.startswith("-") for w in arguments)
        left_open = re.search(r"'[A-Z]+'", mistake)  # a choice that the reader makes
        return "" if end.code == 0 or is_name or left_open else mistake or "it ends"
    return ""


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("onetool accept NAME --forgot", "unrecognized arguments: --forgot"),
        ("onetool keys rewoke", "invalid choice: 'rewoke'"),
        ("zwave-mcp --adress ws://host", "unrecognized arguments: --adress ws://host"),
        ("onetool unknown", "there is no such command"),
    ],
)
def test_a_command_that_is_wrong_is_noticed(text: str, mistake: str) -> None:
    assert mistake in misunderstood(text)


def test_a_command_ends_where_it_makes_sense_but_not_before_an_option() -> None:
    assert misunderstood("onetool chat --list shows them", followed=True) == ""
    assert "unrecognized arguments: --lost" in misunderstood("onetool chat --lost shows them", followed=True)
