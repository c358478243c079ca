"""From nothing to a first answer with three servers of one's own, in each of four ways, by three commands at most.

A client whose file has the three is there before; it starts OneTool as its own file, or the bundle, says afterwards. The
commands are those of README and of the page about clients, for somebody whose index has OneTool.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import TextContent

from mcp_core.distribution import DISTRIBUTION
from scripts import shop_window
from scripts.bundle import build_bundle
from scripts.shop_window import read_facts, render_shop_window
from tests.proxied import PROGRAMS
from tests.shop.programs import claude, mcpb
from tests.wheel.newcomer import ROOT, UV, Person

pytestmark = [pytest.mark.release, pytest.mark.xdist_group("wheel")]

OWN = ("mail", "shop", "wiki")
QUESTION = '", ".join([mail.echo(text="one"), shop.echo(text="two"), wiki.echo(text="three")])'
UVX = UV.with_name("uvx")


class Newcomer:
    """Types commands, which are counted; the one question at a terminal, of `import`, may be answered either way."""

    def __init__(self, person: Person) -> None:
        self.person, self.typed = person, list[str]()
        self.home = Path(person.environ["HOME"])
        person.environ["UV_PYTHON"] = sys.executable
        servers = {name: {"command": sys.executable, "args": ["-S", str(PROGRAMS / "plain_server.py")]} for name in OWN}
        (self.home / ".claude.json").write_text(json.dumps({"mcpServers": servers}))

    def type(self, *words: object) -> str:
        done = self.person.type(*words)
        self.typed.append(" ".join(map(str, words)))
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def started_by_client(self) -> tuple[list[str], Mapping[str, str]]:
        entry = json.loads((self.home / ".claude.json").read_text())["mcpServers"]["onetool"]
        return [entry["command"], *entry["args"]], {}


Way = Callable[[Newcomer, Path, Path], tuple[list[str], Mapping[str, str]]]
"""Brings OneTool to a newcomer, and returns how their client then starts it."""


def by_uvx(newcomer: Newcomer, wheel: Path, folder: Path) -> tuple[list[str], Mapping[str, str]]:
    newcomer.type(UVX, DISTRIBUTION, "import", "--global")
    newcomer.type(UVX, DISTRIBUTION, "connect", "claude-code")
    command, environ = newcomer.started_by_client()

    assert command[:3] == [str(UVX), DISTRIBUTION, "serve"]  # not what lies in uv's cache, which may be gone tomorrow
    return command, environ


def by_checkout(newcomer: Newcomer, wheel: Path, folder: Path) -> tuple[list[str], Mapping[str, str]]:
    [line] = re.findall(r"^uv (tool install \.)", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    # What the line builds from the checkout is this wheel; tests/wheel/test_wheel.py has the line itself.
    newcomer.type(UV, *line.replace(" .", f" {wheel}").split())
    newcomer.type(newcomer.person.programs / "onetool", "import", "--global")
    newcomer.type(newcomer.person.programs / "onetool", "connect", "claude-code")
    return newcomer.started_by_client()


def by_bundle(newcomer: Newcomer, wheel: Path, folder: Path) -> tuple[list[str], Mapping[str, str]]:
    newcomer.type(UVX, DISTRIBUTION, "import", "--global")
    bundle = build_bundle(wheel, folder)
    newcomer.typed.append(f"open {bundle.name}")  # and one question of the client, whether to install it
    unpacked = mcpb("unpack", bundle, folder / "unpacked")
    assert unpacked.returncode == 0, unpacked.stderr
    manifest = json.loads((folder / "unpacked/manifest.json").read_text(encoding="utf-8"))
    start, unset = manifest["server"]["mcp_config"], manifest["user_config"]
    environ = {name: str(unset[value[len("${user_config.") : -1]]["default"]) for name, value in start["env"].items()}
    words = [word.replace("${__dirname}", str(folder / "unpacked")) for word in start["args"]]
    return [str(UV), *words], environ


def by_plugin(newcomer: Newcomer, wheel: Path, folder: Path) -> tuple[list[str], Mapping[str, str]]:
    newcomer.type(UVX, DISTRIBUTION, "import", "--global")
    ours = replace(read_facts(), namespace="io.github.ours", repository="https://github.com/ours/onetool")
    with pytest.MonkeyPatch.context() as patch:  # the plugin as somebody publishes it, by a name that is theirs
        patch.setattr(shop_window, "read_facts", lambda: ours)
        for file, text in render_shop_window().items():
            place = folder / "market" / file.relative_to(ROOT)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
    for words in (("marketplace", "add", folder / "market"), ("install", "onetool@onetool")):
        done = claude(newcomer.home, "plugin", *words)
        newcomer.typed.append(" ".join(map(str, ("/plugin", *words))))
        assert done.returncode == 0, done.stdout + done.stderr
    [file] = (newcomer.home / ".claude/plugins/cache").rglob(".mcp.json")
    entry = json.loads(file.read_text(encoding="utf-8"))["mcpServers"]["onetool"]
    return [str(UV.with_name(entry["command"])), *entry["args"]], {}


@pytest.mark.parametrize("way", [by_uvx, by_checkout, by_bundle, by_plugin])
async def test_a_newcomer_has_an_answer_after_three_commands(
    way: Way, person: Person, wheel: Path, tmp_path: Path
) -> None:
    newcomer = Newcomer(person)
    command, environ = way(newcomer, wheel, tmp_path)

    server = StdioServerParameters(
        command=command[0], args=command[1:], env={**person.environ, **environ}, cwd=newcomer.home
    )
    async with Client(server) as client:
        result = await client.call_tool("run", {"command": QUESTION})

    assert [block.text for block in result.content if isinstance(block, TextContent)] == ["one, two, three"]
    assert len(newcomer.typed) <= 3, newcomer.typed
