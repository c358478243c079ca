"""`onetool init`: write a configuration file to start from, with every key as a comment."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from onetool.cli import OK
from onetool.cli.printing import say
from ot.config.paths import CONFIG_FILE, FOLDER
from ot.config.project_trust import trust_around
from ot.config.template import render_template
from ot.errors import ConfigError

EPILOG = (
    "Writes .onetool/onetool.yaml here, with --global ~/.onetool/onetool.yaml, or the file that --config names; "
    "never overwrites a file. The new file is trusted."
)


def add_arguments(parser: ArgumentParser) -> None:
    note = "write your own file, for every folder"
    parser.add_argument("--global", dest="everywhere", action="store_true", help=note)


def main(options: Namespace) -> int:
    file = options.config or (Path.home() if options.everywhere else Path()) / FOLDER / CONFIG_FILE
    trust = trust_around(file, Path.home())
    if trust is not None:
        trust.refuse_untrusted()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8") as stream:
            stream.write(render_template())
        if trust is not None:
            trust.accept([trust.folder / file.name])
    except FileExistsError:
        say(f"{file} already exists and was not changed")
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror}", file=file) from error
    else:
        say(f"wrote {file}")
    return OK
