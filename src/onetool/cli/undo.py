"""`onetool undo`: take back what a run of this project has changed, after asking at the terminal."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from functools import partial

from onetool.cli import FAILED, OK
from onetool.cli.definitions import read_registry
from onetool.cli.printing import add_json_argument, fail, say, say_json, say_table
from onetool.cli.run import run_command
from onetool.cli.start import load
from ot.clients.person import LOCAL
from ot.config.loader import LoadedConfig
from ot.errors import RunNotResumableError, RunNotUndoableError, UnknownRunError
from ot.journal.inverse import find_inverse
from ot.journal.journal import open_journal
from ot.journal.recorded import RecordedRun, describe_run
from ot.parts.stores import open_own_store
from ot_packs.undo.plan import count_changes

EPILOG = (
    "Without RUN, the latest run that changed something is undone. You are shown what is taken back, and asked; what "
    "has changed since is left as it is. An undo is a run too, and can be undone."
)
_HEADINGS = ("run", "began", "changes", "command")
_WIDTHS = (20, 19, 9, 100)  # characters at most


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("run", nargs="?", metavar="RUN", help="the id of the run, as `onetool runs` lists it")
    parser.add_argument("--list", action="store_true", help="list the runs that can be undone, the newest last")
    add_json_argument(parser)


def main(options: Namespace) -> int:
    loaded = load(options, tolerant=True)
    if options.list:
        return _list(loaded, as_json=options.json)
    if not sys.stdin.isatty() or not sys.stderr.isatty():
        return fail("onetool undo: it asks first, and there is no terminal to ask on", FAILED)
    if (name := options.run) is None:
        found = _find_undoable(loaded)
        if not found:
            return fail("onetool undo: no run of this project has changed anything that is kept", FAILED)
        name = found[-1][0].id
    return run_command(f"ot.undo(run={json.dumps(name)})", loaded)


def _list(loaded: LoadedConfig, *, as_json: bool) -> int:
    found = _find_undoable(loaded)
    if as_json:
        say_json([{**describe_run(run), "changes": count} for run, count in found])
    elif not found:
        say("No run of this project has changed anything that is kept.")
    else:
        rows = [(run.id, str(describe_run(run)["began"]), str(n), " ".join(run.command.split())) for run, n in found]
        say_table(rows, _WIDTHS, _HEADINGS)
    return OK


def _find_undoable(loaded: LoadedConfig) -> list[tuple[RecordedRun, int]]:
    """Return the runs with changes that are kept, and how many those are."""
    registry, config = read_registry(loaded), loaded.config
    has_inverse = partial(find_inverse, config=config, registry=registry)
    any_inverse = any(has_inverse(tool.name) for tool in registry.definitions())  # else no run need be read whole
    found = []
    with open_own_store(loaded) as store:
        journal = open_journal(loaded, store)
        for run in journal.recent(LOCAL):
            try:
                whole = journal.find(LOCAL, run.id, ended=False) if any_inverse else run
                count = count_changes(whole, journal.changes_of(run), has_inverse)
            except (RunNotResumableError, RunNotUndoableError, UnknownRunError):
                continue
            if count:
                found.append((run, count))
    return found
