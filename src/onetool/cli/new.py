"""`onetool new pack NAME`: an extension to start from, with a test."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from onetool.cli import OK, USAGE
from onetool.cli.definitions import read_registry
from onetool.cli.printing import complain, say
from onetool.cli.start import load
from ot.config.paths import tool_folders
from ot.config.project_trust import project_trust
from ot.errors import NewExtensionError
from ot.execution.wording import word_error
from ot.workers.new_extension import write_extension

EPILOG = "Writes .onetool/tools/NAME in the project; never overwrites a file. What it has written is trusted."


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("what", choices=["pack"], metavar="pack", help="what to write: a pack")
    parser.add_argument("name", metavar="NAME", help="the pack's name, which comes before the dot in code")


def main(options: Namespace) -> int:
    loaded = load(options)
    trust = project_trust(loaded.project, loaded.home)
    if trust is not None:
        trust.refuse_untrusted()
    folder, _ = tool_folders(loaded.project, loaded.home)
    taken = [pack.name for pack in read_registry(loaded).packs()]
    try:
        written = write_extension(folder, options.name, project=loaded.project, taken=taken)
    except NewExtensionError as error:
        complain(f"onetool: {word_error(error)}")
        return USAGE
    if trust is not None:
        trust.accept([written.file, written.test])
    here = Path.cwd()
    for file in (written.file, written.test):
        say(f"wrote {file.relative_to(here) if file.is_relative_to(here) else file}")
    say(f"try it: onetool call {options.name}.hello name=Ada")
    return OK
