"""`onetool import`: servers of other clients imported, and OneTool added to such a client."""

from __future__ import annotations

import difflib
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from functools import partial
from itertools import groupby
from pathlib import Path

from onetool.cli import FAILED, OK
from onetool.cli.printing import complain, confirm, say, visible
from onetool.foreign.clients import CLIENTS, System
from onetool.foreign.connecting import plan_connection, show_difference
from onetool.foreign.importing import NEW, Decision, Plan, carry_out, changed_text, make_plan, servers_in
from onetool.foreign.survey import Survey, survey
from onetool.foreign.text_files import replace_text_file
from ot.config.paths import CONFIG_FILE, FOLDER, SECRETS_FILE, Places, find_places
from ot.config.project_trust import trust_around
from ot.execution.wording import word_error
from ot.trust.folder_files import read_folder

EPILOG = (
    "Reads .mcp.json and the configuration of Claude Code, Claude Desktop, Cursor, VS Code, Windsurf and Zed. "
    "Servers you already have stay as they are; a file is copied before it is changed. Exit status: 0; 1 if a file "
    "could not be read or a change was not written; 2 for a usage or configuration error."
)
_WIDTH = 70


def add_arguments(parser: ArgumentParser) -> None:
    clients = ", ".join(CLIENTS)
    parser.add_argument("names", nargs="*", metavar="NAME", help="import only these servers")
    parser.add_argument("--from", action="append", choices=list(CLIENTS), metavar="CLIENT", dest="sources",
                        help=f"read only the files of this client: {clients}")  # fmt: skip
    parser.add_argument("--global", action="store_true", dest="everywhere", help="write to ~/.onetool for all projects")
    parser.add_argument("--connect", choices=list(CLIENTS), metavar="CLIENT",
                        help="add OneTool to this client's configuration instead")  # fmt: skip
    parser.add_argument("--project", action="store_true", help="with --connect: write the project's file, not your own")
    parser.add_argument("--yes", action="store_true", help="do not ask, neither about servers that come with the "
                        "project nor with --connect")  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="show everything and write nothing")


def main(options: Namespace) -> int:
    system = System(Path.home(), os.environ)
    named = options.config.absolute() if options.config is not None else None
    places = find_places(cwd=Path.cwd(), home=system.home, named=named)
    if options.connect:
        return _connect(options, system, places)
    return _import(options, system, places, named)


def _import(options: Namespace, system: System, places: Places, named: Path | None) -> int:
    found = survey(system, places.project, only=options.sources or ())
    own_folder = places.home_folder if options.everywhere else places.project_folder or places.project / FOLDER
    file = named or own_folder / CONFIG_FILE
    own = places.home_folder / CONFIG_FILE
    chosen = [each for each in found.found if not options.names or each.name in options.names]
    trust = trust_around(file, system.home)
    if trust is not None and not options.dry_run:
        trust.refuse_untrusted()
    plan_for = partial(
        make_plan,
        file=file,
        elsewhere={} if own == file else dict.fromkeys(servers_in(own), own),
        more_secrets=[places.home_folder / SECRETS_FILE],
        project=places.project if options.everywhere else None,
    )
    plan = plan_for(chosen)
    _show(plan, found, options.names)
    unasked = [] if options.yes or options.dry_run else _leave_to_the_project(plan)
    if unasked:
        plan = plan_for([each for each in chosen if each.source.project is None])
    for error in found.broken:
        complain(f"onetool: {word_error(error)}")
    missing = [name for name in options.names if name not in {each.name for each in found.found}]
    for name in missing:
        complain(f"onetool: no client knows a server {name!r}")
    if plan.servers:
        _write(plan, dry_run=options.dry_run)
        if trust is not None and not options.dry_run:
            trust.store.trust(trust.project, read_folder(trust.folder).contents, whole=True)
    return FAILED if found.broken or missing or unasked else OK


def _leave_to_the_project(plan: Plan) -> list[str]:
    """Ask about servers that the project's own files bring; return those that the person does not want."""
    theirs = [each.name for each in plan.decisions if each.state == NEW and each.found.source.project is not None]
    if not theirs:
        return []
    names = visible(", ".join(theirs))
    at_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if at_terminal and confirm(f"These come with the project, and would be started as you: {names}. Take them over?"):
        return []
    complain(f"onetool: {names}: left out, since they come with the project; --yes takes them over")
    return theirs


def _show(plan: Plan, found: Survey, names: list[str]) -> None:
    if not plan.decisions and not names:
        searched = f" (read: {', '.join(map(_near, found.files))})" if found.files else ""
        _tell(f"No servers were found{searched}.")
    for file, decisions in groupby(plan.decisions, key=lambda each: each.found.source.file):
        _tell(_near(file))
        for decision in decisions:
            _tell(f"  {decision.name}: {_describe(decision)}")
            for note in decision.notes:
                _tell(f"    {_near(note)}")


def _describe(decision: Decision) -> str:
    """One server in a line; its secrets are references by now, so it can be shown."""
    settings = decision.settings
    line = " ".join(map(str, [settings.get("command", settings.get("url", "")), *settings.get("args", ())]))
    line = line if len(line) <= _WIDTH else f"{line[:_WIDTH]}…"
    state = _near(decision.state)
    return f"{state} ({line})" if line else state


def _write(plan: Plan, *, dry_run: bool) -> None:
    names = [*plan.secrets, *plan.wanted]
    if dry_run:
        for line in _difference(plan):
            _tell(line)
        if names:
            _tell(f"would put {', '.join(names)} into {_near(plan.secrets_file)}")
        _tell("Nothing was written: this is a dry run.")
        return
    for file, backup in carry_out(plan).items():
        _tell_written(file, backup)
    if plan.secrets:
        _tell(f"Secrets are in {_near(plan.secrets_file)}: {', '.join(plan.secrets)}")
    for name, reason in plan.wanted.items():
        _tell(f"Set {name} in {_near(plan.secrets_file)} (for {reason})")
    servers = "1 server" if len(plan.servers) == 1 else f"{len(plan.servers)} servers"
    _tell(f"{servers} imported. `onetool check` checks them.")


def _difference(plan: Plan) -> Iterator[str]:
    original, text = changed_text(plan)
    source = _near(plan.file) if original.content is not None else "(a new file)"
    before, after = original.text.splitlines(), text.splitlines()
    return difflib.unified_diff(before, after, source, _near(plan.file), lineterm="", n=1)


def _connect(options: Namespace, system: System, places: Places) -> int:
    project = places.project if options.project or options.connect == "project" else None
    connection = plan_connection(options.connect, system, project=project, config=options.config)
    file = connection.original.file
    if not connection.changes:
        _tell(f"OneTool is already in {_near(file)}.")
        return OK
    for line in show_difference(connection):
        _tell(line)
    if options.dry_run:
        _tell("Nothing was written: this is a dry run.")
        return OK
    at_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if not options.yes and not (at_terminal and confirm(f"Write this to {_near(file)}?")):
        complain("onetool: nothing was written; --yes writes it")
        return FAILED
    _tell_written(file, replace_text_file(connection.original, connection.text))
    _tell(f"Restart {CLIENTS[options.connect]}, so that it reads the file.")
    return OK


def _tell_written(file: Path, backup: Path | None) -> None:
    _tell(f"wrote {_near(file)}" + (f" (backup: {backup.name})" if backup else ""))


def _tell(text: str) -> None:
    """Write a line; what others wrote into their files may not move the cursor of this terminal."""
    say(visible(text))


def _near(text: object) -> str:
    """The text with its paths as a person would type them here."""
    return str(text).replace(f"{Path.cwd()}{os.sep}", "").replace(f"{Path.home()}{os.sep}", f"~{os.sep}")
