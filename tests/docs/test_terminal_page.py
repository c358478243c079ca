"""The page about the terminal is true; its examples are played where the repl and the stubs are tested."""

from __future__ import annotations

import json
import re
from pathlib import Path

from onetool.cli import load_command
from onetool.cli.stubs import STUBS
from onetool.repl.console import HISTORY
from ot.config.paths import kept_log

PAGE = (Path(__file__).parents[2] / "docs" / "terminal.md").read_text(encoding="utf-8")


def test_the_commands_and_the_setting_can_be_used() -> None:
    commands = re.findall(r"^(?:source <\()?onetool (\w+) *([^#\n)]*)", PAGE, re.MULTILINE)

    assert {"repl", "stubs", "doctor", "completion"} <= {command for command, _ in commands}
    for command, arguments in commands:
        load_command(command)[1].parse_args(arguments.partition(">")[0].split())
    assert json.loads(re.findall(r"```json\n(.*?)\n```", PAGE)[0]) == {"stubPath": STUBS}
    assert f"~/.onetool/state/{HISTORY}" in PAGE
    assert str(kept_log(Path("~"))) in PAGE
