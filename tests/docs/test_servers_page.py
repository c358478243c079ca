"""The pages about servers and clients are true: their files are written, their commands run, and say what they show."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import yaml

from onetool.foreign.clients import CLIENTS
from ot.registry.from_schema import define_pack
from ot.registry.names import identifier, is_of_python
from tests.page_shell import run_commands, write_programs
from tests.reference_servers.servers import reference_server

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "servers.md").read_text(encoding="utf-8")
# What is said about clients goes on from a project whose servers are imported.
BOTH = PAGE + (DOCS / "clients.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", BOTH, re.MULTILINE | re.DOTALL)
# They end with their input; `everything` would otherwise be waited for, two seconds after each command.
ENDS_WITH_INPUT = "data:text/javascript,process.stdin.on('end',()=>process.exit())"
# Installed already: whoever runs the tests has no need to download them as the page's reader does.
NPX = """#!/bin/sh
package=$2; shift 2
case $package in
*-everything) exec {everything} "$@" ;;
*-filesystem) exec {filesystem} "$@" ;;
esac
exit 1
"""


def test_every_line_works_in_the_order_of_the_page(tmp_path: Path) -> None:
    here, expected = tmp_path / "project", ""
    here.mkdir()
    programs = _programs(tmp_path)
    said: list[str] = []
    for language, text in BLOCKS:
        match language:
            case "json" if text.startswith("//"):
                name, _, content = text.removeprefix("// ").partition("\n")
                (here / name).write_text(content)
            case "yaml":
                name, _, content = text.removeprefix("# ").partition("\n")
                assert (here / name).read_text() == content
            case "sh":
                said.append(run_commands(text, here, home=tmp_path, programs=programs))
            case "text":
                expected += text

    assert _without_figures("".join(said)) == _without_figures(expected)


def test_no_kind_of_block_is_left_out() -> None:
    assert {language for language, _ in BLOCKS} <= {"json", "sh", "text", "yaml"}
    assert BOTH.count("```") == 2 * len(BLOCKS)


def test_the_table_names_every_client() -> None:
    assert re.findall(r"^\| `([a-z-]+)` \| ", PAGE, re.MULTILINE) == list(CLIENTS)


def test_the_table_of_names_is_true() -> None:
    rows = re.findall(r"^\| (tool|parameter|server) `([^`]+)` \| `([^`]+)`", PAGE, re.MULTILINE)
    assert len(rows) == 7
    for kind, name, code in rows:
        short = identifier(name, fallback="x")
        match kind:
            case "tool":
                assert code.endswith(f".{short}(...)")
                assert list(define_pack("s", "s", [{"name": name}]).tools) == [short]
            case "parameter":
                assert code.startswith(f"{short}=")
            case "server":
                assert code.startswith(f"{short}{'_' if is_of_python(short) else ''}.")


def test_every_yaml_block_is_yaml() -> None:
    for language, text in BLOCKS:
        if language == "yaml":
            assert yaml.safe_load(text)


def _without_figures(text: str) -> str:
    """The lines without what differs from start to start, and from version to version of a server."""
    return re.sub(r"tools, +[\d,]+ tokens, +[\d.]+ m?s$", "tools, … tokens, … s", text, flags=re.MULTILINE)


def _programs(folder: Path) -> Path:
    """A folder with an `npx` that starts the servers which `make test` has installed, and a `onetool` that is loaded."""
    work = folder / "work"
    work.mkdir()
    commands = {
        name: shlex.join([server.command, "--import", ENDS_WITH_INPUT, server.args[0]])
        for name in ("everything", "filesystem")
        for server in [reference_server(name, work)]
    }
    return write_programs(folder / "programs", npx=NPX.format(**commands))
