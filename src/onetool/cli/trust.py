"""`onetool trust`: what a project's `.onetool` would do, shown to the person, who may trust it."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path

from onetool.cli import FAILED, OK, USAGE
from onetool.cli.printing import complain, confirm, say, say_json, visible
from onetool.trust.report import describe
from ot.config.paths import FOLDER, find_places, state_folder
from ot.config.project_trust import project_trust
from ot.errors import ConfigError
from ot.trust.folder_files import FolderFiles, read_folder
from ot.trust.project_trust import Comparison, ProjectTrust, compare
from ot.trust.store import TrustStore

_PAUSE = 0.5  # seconds between two looks, with --follow
EPILOG = (
    "Until you trust it, a project's .onetool configures nothing and starts nothing. Exit status: 0, 1 if nothing was "
    "trusted, 2 for usage or configuration."
)
_SAYS = "Trust covers these files and command lines, as they are; not the programs that they start."


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("folder", nargs="?", type=Path, metavar="FOLDER", help="the project, by default this folder's")
    parser.add_argument("--yes", action="store_true", help="trust it without asking")
    parser.add_argument("--follow", action="store_true", help="go on trusting every change until Ctrl-C, in a terminal")
    parser.add_argument("--list", action="store_true", dest="listing", help="list what you have trusted")
    parser.add_argument("--revoke", nargs="?", type=Path, const=Path(), metavar="FOLDER", help="trust it no longer")
    parser.add_argument("--json", action="store_true", help="with --list: print JSON")


def main(options: Namespace) -> int:
    store = TrustStore(state_folder(Path.home()))
    if options.json and not options.listing:
        complain("onetool trust: --json needs --list")
        return USAGE
    if options.listing:
        return _list(store, as_json=options.json)
    if options.revoke is not None:
        return _revoke(store, options.revoke.absolute())
    if options.follow and not _at_terminal():
        complain("onetool trust: --follow needs a terminal, in which you see what it accepts")
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
    """Show what is there, ask, and trust exactly the bytes that were shown."""
    files, record = read_folder(trust.folder), trust.record()
    found = compare(files, record)
    for line in found.refused:
        _tell(f"refused: {FOLDER}/{line}")
    if not found:
        _tell(f"Everything in {trust.folder} is trusted." if files.contents else f"{trust.folder} is empty.")
        return True
    _tell(f"{trust.folder}:")
    for line in describe(files, record, found, project=trust.project):
        _tell(f"  {line}")
    _tell(_SAYS)
    if not yes and not (_at_terminal() and confirm(f"Trust {visible(str(trust.project))}?")):
        complain("onetool: nothing was trusted; --yes trusts it without asking")
        return False
    _accept(trust, files)
    _tell(f"trusted: {_count(files, found)}")
    return True


def _follow(trust: ProjectTrust) -> int:
    _tell("Every change is trusted until you press Ctrl-C.")
    try:
        while True:
            time.sleep(_PAUSE)
            files, record = read_folder(trust.folder), trust.record()
            found = compare(files, record)
            if found:
                for line in describe(files, record, found, project=trust.project):
                    _tell(f"  {line}")
                _accept(trust, files)
                _tell(f"trusted: {_count(files, found)}")
    except KeyboardInterrupt:
        return OK


def _accept(trust: ProjectTrust, files: FolderFiles) -> None:
    try:
        trust.store.trust(trust.project, files.contents, whole=True)
    except OSError as error:
        raise ConfigError(f"cannot be remembered as trusted: {error.strerror}", file=trust.folder) from error


def _list(store: TrustStore, *, as_json: bool) -> int:
    projects = store.projects()
    if as_json:
        say_json([{"project": str(project), "files": count} for project, count in projects.items()])
        return OK
    for project, count in projects.items():
        _tell(f"{project}: {count} {'file' if count == 1 else 'files'}")
    if not projects:
        _tell("You have trusted no project.")
    return OK


def _revoke(store: TrustStore, folder: Path) -> int:
    try:
        project = find_places(cwd=folder, home=Path.home(), named=None).project
    except ConfigError:
        project = folder  # of another user by now, or gone
    if not any(store.revoke(each) for each in dict.fromkeys((folder, project))):
        complain(f"onetool: {visible(str(folder))} was not trusted")
        return FAILED
    _tell(f"no longer trusted: {folder}")
    return OK


def _count(files: FolderFiles, found: Comparison) -> str:
    changes = len(found.untrusted) + len(found.gone)
    return f"{changes} of {len(files.contents)} files in {files.folder}"


def _at_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _tell(text: str) -> None:
    """Write one line, whatever is in it."""
    say(visible(text))
