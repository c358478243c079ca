"""`onetool sdk-path`: the folder to import `ot_sdk` from, for an extension that is run by hand."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from onetool.cli import OK
from onetool.cli.printing import say
from ot.config.paths import state_folder
from ot.errors import ConfigError
from ot.processes.sdk_folder import sdk_folder

EPILOG = "PYTHONPATH=$(onetool sdk-path) uv run --script FILE runs an extension without OneTool."


def main(_: Namespace) -> int:
    state = state_folder(Path.home())
    try:
        say(str(sdk_folder(state)))
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror}", file=state) from error
    return OK
