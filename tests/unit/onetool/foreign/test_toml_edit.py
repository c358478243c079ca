"""A table is put into a TOML text and taken out of it, and everything else of it stays as it was."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from onetool.foreign.table_edit import TomlEditError, put_table, remove_table

PATH = ("mcp_servers", "onetool")
TABLE: Any = {"command": "/bin/onetool", "args": ["serve", "--in", 'a "b" \\ \u00e9 \U0001f600']}
OURS = '[mcp_servers.onetool]\ncommand = "/bin/onetool"\n'
TEXTS = {
    "nothing": "",
    "keys": 'model = "m"  # mine\n',
    "tables": '# mine\n[tui]\ntheme = "x"\n\n[mcp_servers.a]\ncommand = "a"\n\n[mcp_servers.a.env]\nA = "1"\n',
    "odd names": '[mcp_servers."my server"]\ncommand = "a"\n[[profiles]]\nname = "p"\n',
    "odd strings": 'note = """\n[mcp_servers.b]\n"""\nlist = [\n  [1],\n]\n',
    "of Windows": 'model = "m"\r\n\r\n[tui]\r\na = 1\r\n',
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_what_is_put_in_is_read_and_taken_out_to_the_letter(text: str) -> None:
    put = put_table(text, PATH, TABLE, newline="\r\n" if "\r\n" in text else "\n")

    assert put.startswith(text)
    assert tomllib.loads(put)["mcp_servers"]["onetool"] == TABLE
    assert put_table(put, PATH, TABLE, newline="\r\n" if "\r\n" in text else "\n") == put
    assert remove_table(put, PATH) == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f'a = 1\n\n{OURS}\n[mcp_servers.onetool.env]\nB = "1"\n\n# about c\n[c]\n', "a = 1\n\n# about c\n[c]\n"),
        (f"{OURS}# the end\n", "# the end\n"),
        (f"[c]\nd = 1\n{OURS}[e]\n", "[c]\nd = 1\n[e]\n"),
        ('[mcp_servers."onetool"]\ncommand = "x"\n', ""),
        ("[mcp_servers.onetools]\ncommand = 1\n", "[mcp_servers.onetools]\ncommand = 1\n"),
    ],
)
def test_a_table_is_taken_out_with_those_below_it(before: str, after: str) -> None:
    assert remove_table(before, PATH) == after


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = {onetool = {command = "x"}}\n',
        'mcp_servers.onetool.command = "x"\n',
        "[mcp_servers\n",
        "a = 1\na = 2",
    ],
)
def test_what_cannot_be_edited_is_refused(text: str) -> None:
    with pytest.raises(TomlEditError):
        remove_table(text, PATH)
