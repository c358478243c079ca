"""`onetool upgrade`: how OneTool was installed here, and the command that brings its newest version."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from mcp_core.distribution import DISTRIBUTION, VERSION
from mcp_core.installation import Installation, Way, find_installation, upgrade_command
from onetool.cli import FAILED, OK
from onetool.cli.printing import confirm, fail, say
from ot.workers.extension import find_uv

EPILOG = (
    "Nothing else looks for newer versions, and this does so with --check only, at the index that your uv uses "
    "(UV_DEFAULT_INDEX, or uv.toml). Exit status with --check: 0 if this is the newest, 1 if there is a newer one or "
    "the index does not answer."
)
_WAIT = 60.0  # seconds for an index to answer
_WORDS = {
    Way.BUNDLE: "is the bundle that a client has installed in",
    Way.CHECKOUT: "runs from the checkout",
    Way.PIP: "was installed by pip, in",
    Way.PIPX: "was installed by pipx, in",
    Way.UV_TOOL: "was installed by `uv tool`, in",
    Way.UVX: "was started by `uvx`, in",
}


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--check", action="store_true", help="only say whether there is a newer version")
    parser.add_argument("--yes", action="store_true", help="run the command without asking")


def main(options: Namespace) -> int:
    found = find_installation()
    if options.check:
        return _check(found)
    say(f"OneTool {VERSION} {_WORDS[found.way]} {found.folder if found.way is Way.CHECKOUT else sys.prefix}.")
    if found.way is Way.BUNDLE:
        say("Open the newer bundle (onetool-VERSION.mcpb) with the same client, which then replaces this one.")
        return OK
    command = upgrade_command(found)
    if not command:
        say(f"It came from {found.file}. Install the newer file in the same way.")
        return OK
    say(f"This upgrades it:\n\n    {command}\n")
    if options.yes or confirm("Run it?"):
        sys.stdout.flush()
        os.execvp("sh", ["sh", "-c", command])  # it replaces the files of this program, which ends here
    return OK


def _check(found: Installation) -> int:
    if not found.from_index:
        say(f"OneTool {VERSION} comes from {found.folder or found.file}, and no index was asked.")
        return OK
    newest = _find_newest()
    if newest is None:
        return FAILED
    if _order(newest) <= _order(VERSION):
        say(f"OneTool {VERSION} is the newest version.")
        return OK
    say(f"OneTool {newest} is there; this is {VERSION}. `onetool upgrade` brings it.")
    return FAILED


def _find_newest() -> str | None:
    """Ask the index; None if it does not answer, which has been reported."""
    uv = find_uv(os.environ)
    if uv is None:
        fail("onetool upgrade: uv was not found; `onetool doctor` says how to install it")
        return None
    ask = (
        str(uv), "pip", "compile", "--quiet", "--no-deps", "--no-header", "--no-annotate", "--refresh-package",
        DISTRIBUTION, "--python", sys.executable, "-",
    )  # fmt: skip
    try:
        # Elsewhere than in this folder, which may hold another project's settings of uv.
        done = subprocess.run(
            ask, input=DISTRIBUTION, cwd=Path.home(), capture_output=True, text=True, timeout=_WAIT, check=False
        )
    except subprocess.TimeoutExpired:
        fail(f"onetool upgrade: the index did not answer within {_WAIT:.0f} s")
        return None
    answer = re.search(rf"^{DISTRIBUTION}==(\S+)", done.stdout, re.MULTILINE)
    if answer is None:
        fail(f"onetool upgrade: the index gave no version of {DISTRIBUTION}. uv says:\n{done.stderr.strip()}")
    return answer[1] if answer else None


def _order(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]
