"""`onetool trust`: show what a project's `.onetool` would do, and let the person trust it."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from pathlib import Path

from onetool.cli import FAILED, OK, USAGE
from onetool.cli.printing import (
    add_json_argument,
    at_terminal,
    complain,
    confirm,
    say_json,
    say_visibly,
    visible,
)
from onetool.console.clean_text import count_of
from onetool.trust.report import describe
from ot.config.paths import FOLDER, find_places, state_folder
from ot.config.project_trust import project_trust
from ot.errors import ConfigError
from ot.trust.project_trust import Comparison, FolderFiles, ProjectTrust, compare, read_folder
from ot.trust.store import TrustStore

_PAUSE = 0.5  # seconds between two looks, with --follow
EPILOG = (
    "Until you trust it, a project's .onetool is ignored. Exit status: 0, 1 if nothing was trusted, 2 for usage or "
    "configuration errors."
)
_SAYS = "Trust covers these files and command lines as they are now, but not the programs that they start."


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("folder", nargs="?", type=Path, metavar="FOLDER", help="the project (default: this folder's)")
    parser.add_argument("--yes", action="store_true", help="trust it without asking")
    parser.add_argument("--follow", action="store_true", help="keep trusting every change until Ctrl-C, on a terminal")
    parser.add_argument("--list", action="store_true", dest="listing", help="list the projects that you trust")
    parser.add_argument("--revoke", nargs="?", type=Path, const=Path(), metavar="FOLDER", help="stop trusting it")
    add_json_argument(parser, "with --list: print JSON")


def main(options: Namespace) -> int:
    store = TrustStore(state_folder(Path.home()))
    if options.json and not options.listing:
        complain("onetool trust: --json needs --list")
        return USAGE
    if options.listing:
        return _list(store, as_json=options.json)
    if options.revoke is not None:
        return _revoke(store, options.revoke.absolute())
    if options.follow and not at_terminal():
        complain("onetool trust: --follow needs a terminal that shows what it accepts")
        return USAGE
    trust = _find(options.folder or Path())
    if not _trust(trust, yes=options.yes):
        return FAILED
    return _follow(trust) if options.follow else OK


def _find(folder: Path) -> ProjectTrust:
    cwd = folder.absolute()
    places = find_places(cwd=cwd, home=Path.home(), named=None)
    trust = project_trust(places.project, Path.home())
    if trust is None or places.project_folder is None:
        raise ConfigError(f"there is no project with a {FOLDER} folder here", file=cwd)
    return trust


def _trust(trust: ProjectTrust, *, yes: bool) -> bool:
    """Show the files, ask, and trust exactly the bytes that were shown."""
    files = read_folder(trust.folder)
    found = compare(files, trust.record())
    for line in found.refused:
        say_visibly(f"refused: {FOLDER}/{line}")
    if not found:
        say_visibly(f"Everything in {trust.folder} is trusted." if files.contents else f"{trust.folder} is empty.")
        return True
    say_visibly(f"{trust.folder}:")
    _show_changes(trust, files, found)
    say_visibly(_SAYS)
    if not yes and not (at_terminal() and confirm(f"Trust {visible(str(trust.project))}?")):
        complain("onetool: nothing was trusted; --yes trusts it without asking")
        return False
    _accept(trust, files, found)
    return True


def _show_changes(trust: ProjectTrust, files: FolderFiles, found: Comparison) -> None:
    for line in describe(files, trust.record(), found, project=trust.project):
        say_visibly(f"  {line}")


def _follow(trust: ProjectTrust) -> int:
    say_visibly("Every change is trusted until you press Ctrl-C.")
    try:
        while True:
            time.sleep(_PAUSE)
            files = read_folder(trust.folder)
            if found := compare(files, trust.record()):
                _show_changes(trust, files, found)
                _accept(trust, files, found)
    except KeyboardInterrupt:
        return OK


def _accept(trust: ProjectTrust, files: FolderFiles, found: Comparison) -> None:
    try:
        trust.store.trust(trust.project, files.contents, whole=True)
    except OSError as error:
        raise ConfigError(f"cannot be remembered as trusted: {error.strerror}", file=trust.folder) from error
    changes = len(found.untrusted) + len(found.gone)
    say_visibly(f"trusted: {changes} of {len(files.contents)} files in {files.folder}")


def _list(store: TrustStore, *, as_json: bool) -> int:
    projects = store.projects()
    if as_json:
        say_json([{"project": str(project), "files": count} for project, count in projects.items()])
        return OK
    for project, count in projects.items():
        say_visibly(f"{project}: {count_of(count, 'file')}")
    if not projects:
        say_visibly("You have not trusted any project.")
    return OK


def _revoke(store: TrustStore, folder: Path) -> int:
    try:
        project = find_places(cwd=folder, home=Path.home(), named=None).project
    except ConfigError:
        project = folder  # of another user by now, or gone
    if not any(store.revoke(each) for each in dict.fromkeys((folder, project))):
        complain(f"onetool: {folder} was not trusted")
        return FAILED
    say_visibly(f"no longer trusted: {folder}")
    return OK
