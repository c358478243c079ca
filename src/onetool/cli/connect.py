"""`onetool connect CLIENT`: OneTool added to the configuration of another client, or removed from it."""

from __future__ import annotations

import os
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from mcp_core.nearest_names import nearest
from mcp_core.visible_text import visible
from onetool.cli import OK, USAGE
from onetool.cli.printing import add_json_argument, complain, fail, say, say_json, say_table, say_visibly
from onetool.foreign import connecting
from onetool.foreign.clients import CLIENTS, System
from onetool.foreign.entries import own_command_line
from ot.config.layers import CONFIG_VARIABLE
from ot.config.paths import CONFIG_FILE, Places, absolute, find_places
from ot.config.project_trust import project_trust
from ot.errors import ConfigError
from ot.execution.wording import word_error

EPILOG = (
    "Without CLIENT, lists the clients and which of them have OneTool. Everything else in a client's file stays as it "
    "is, and a backup is kept beside it. In WSL, the file of a client that is installed only on Windows is meant. "
    "Exit status: 0; 2 for a usage or configuration error."
)
_WIDTHS = (24, 80, 120)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("clients", nargs="*", type=_client, metavar="CLIENT", help=", ".join(CLIENTS))
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--remove", action="store_true", help="remove OneTool from the client's configuration")
    what.add_argument("--print", action="store_true", dest="only_show", help="only show what would be written where")
    parser.add_argument("--project", action="store_true", help="write the project's file, not your own")
    add_windows_argument(parser, "write the file")
    add_json_argument(parser)


def add_windows_argument(parser: ArgumentParser, action: str) -> None:
    parser.add_argument("--windows-user", default="", metavar="NAME", help=f"in WSL: {action} of this user of Windows")


def _client(name: str) -> str:
    if name not in CLIENTS:
        raise ArgumentTypeError(f"there is no client {name!r}; nearest: {', '.join(nearest(name, CLIENTS)[:3])}")
    return name


def main(options: Namespace) -> int:
    system = System.local()
    if not options.clients:
        if options.remove or options.only_show or options.project:
            return fail("onetool connect: name the CLIENT", USAGE)
        return _list_clients(options, system)
    places = find_places(cwd=Path.cwd(), home=system.home, named=named_file(options.config, system))
    for client in options.clients:
        project = places.project if options.project or client == "project" else None
        owner = connecting.owner_of(client, system, project=project, windows_user=options.windows_user)
        if options.remove:
            connection = connecting.plan_removal(client, owner, project=project)
            say_visibly(*connecting.show_difference(connection))
            if connection.changes:
                _write(connection, client)
            else:
                say_visibly(f"OneTool is not in {near(connection.original.file)}.")
        elif options.only_show:
            arguments, _ = _arguments_for(options.config, system, places, shared=project is not None)
            file, text = connecting.show_entry(client, owner, project=project, arguments=arguments)
            complain(f"for {near(file)}:")
            say(text.rstrip("\n"))
        else:
            connect_client(client, system, places, owner=owner, config=options.config, project=project)
    return OK


def _list_clients(options: Namespace, system: System) -> int:
    found, rows = list(connecting.survey_connections(system)), []
    if (windows := find_windows(options.windows_user)) is not None:
        found += connecting.survey_connections(windows)
    for each in found:
        state = each.problem or (f"connected: {near(each.command)}" if each.command else "not connected")
        name = f"{each.client} (Windows)" if each.windows_user else each.client
        rows.append((name, near(each.file), state if each.installed else "not found on this machine"))
    if options.json:
        say_json([{**asdict(each), "file": str(each.file)} for each in found])
    else:
        say_table(rows, _WIDTHS)
    return OK


def find_windows(user: str) -> System | None:
    """Return the Windows around this distribution of WSL, to be read; complains if it is not clear whose it is."""
    try:
        return System.windows(user)
    except ConfigError as error:
        if user:
            raise
        complain(f"onetool: {visible(word_error(error))}")
        return None


def connect_client(
    client: str,
    system: System,
    places: Places,
    *,
    owner: System,
    config: Path | None,
    project: Path | None,
    agrees: Callable[[Path], bool] = lambda _: True,
) -> bool:
    """Add OneTool to a client's file, if the person `agrees` to the difference that is shown; False if they do not.

    `owner` is the system whose file it is.
    """
    arguments, note = _arguments_for(config, system, places, shared=project is not None)
    connection = connecting.plan_connection(client, owner, project=project, arguments=arguments)
    say_visibly(*connecting.show_difference(connection))
    if not connection.changes:
        say_visibly(f"OneTool is already in {near(connection.original.file)}.")
        if arguments and own_command_line(connection.entry)[1][-len(arguments) :] != arguments:
            command = near(connecting.word_command(connection.entry))
            say_visibly(f"It is started there as `{command}`, without {' '.join(arguments)}.")
            say_visibly("Use `--remove` first to replace that entry.")
    if note:
        say_visibly(note)
    agreed = not connection.changes or agrees(connection.original.file)
    if connection.changes and agreed:
        _write(connection, client)
    return agreed


def _arguments_for(config: Path | None, system: System, places: Places, *, shared: bool) -> tuple[list[str], str]:
    """Return the arguments with which a client's OneTool finds the configuration of this folder, and a note about it.

    In a file that the project shares, only a named file: the client starts OneTool in the project.
    """
    named = named_file(config, system)
    trust = project_trust(places.project, system.home)
    trusted = trust is None or CONFIG_FILE not in trust.compare().untrusted
    return ([], "") if shared and named is None else connecting.find_arguments(named, places, trusted=trusted)


def named_file(config: Path | None, system: System) -> Path | None:
    """Return the configuration file that the person has named for this command, if they have."""
    text = str(config) if config is not None else system.environ.get(CONFIG_VARIABLE, "").strip()
    return absolute(text, folder=Path.cwd(), home=system.home) if text else None


def _write(connection: connecting.Connection, client: str) -> None:
    tell_written(connection.original.file, connection.write(), removed=not connection.text)
    who = "the clients that read it" if client == "project" else CLIENTS[client]
    say_visibly(f"Restart {who} to apply the change.")


def tell_written(file: Path, backup: Path | None = None, *, removed: bool = False) -> None:
    say_visibly(f"{'removed' if removed else 'wrote'} {near(file)}" + (f" (backup: {backup.name})" if backup else ""))


def near(text: object) -> str:
    """Return a text with paths shortened: relative to this folder, or with ~."""
    return str(text).replace(f"{Path.cwd()}{os.sep}", "").replace(f"{Path.home()}{os.sep}", f"~{os.sep}")
