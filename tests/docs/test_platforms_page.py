"""The page about other systems is true as far as it can be here: ssh, which only carries bytes, starts a server that answers."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from mcp import Client, StdioServerParameters
from mcp_types import TextContent

from tests.page_shell import shell_environment, write_programs

PAGE = (Path(__file__).parents[2] / "docs" / "platforms.md").read_text(encoding="utf-8")
SERVERS = [json.loads(block)["mcpServers"]["onetool"] for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]
# What sshd does with the words after the host: a shell in the home has them as one line.
SSH = '#!/bin/sh\n[ "$1 $2" = "-T box" ] || exit 2\nshift 2\ncd && exec sh -c "$*"\n'


async def test_the_entry_for_ssh_starts_a_server(tmp_path: Path) -> None:
    programs = write_programs(tmp_path / "programs", ssh=SSH)
    place = tmp_path / ".local" / "bin"
    place.mkdir(parents=True)
    shutil.copy(programs / "onetool", place)
    entry = SERVERS[0]
    command = str(programs / entry["command"])
    server = StdioServerParameters(
        command=command, args=entry["args"], env=shell_environment(tmp_path, programs), cwd=tmp_path
    )

    async with Client(server) as client:
        result = await client.call_tool("run", {"command": "6 * 7"})

    assert [block.text for block in result.content if isinstance(block, TextContent)] == ["42"]


def test_every_entry_ends_in_the_server() -> None:
    assert [entry["command"] for entry in SERVERS] == ["ssh", "wsl.exe"]
    assert all(" ".join(entry["args"]).endswith("onetool serve") for entry in SERVERS)


def test_what_was_not_tried_says_so() -> None:
    states = re.findall(r"^\| (?:over|in|natively).* \| ((?:not )?tried|does not work)", PAGE, re.MULTILINE)

    assert states == ["tried", "not tried", "not tried", "not tried", "does not work"]
