"""`onetool trust`: show what a project's `.onetool` would do, and let the person trust it.

Everything in the report was written by others: whatever an eye would miss in it is made visible.
"""

from __future__ import annotations

import difflib
import itertools
import re
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from mcp_core.json_types import list_of, mapping_of
from mcp_core.visible_text import visible
from onetool.cli import FAILED, OK, USAGE
from onetool.cli.printing import add_json_argument, at_terminal, complain, confirm, fail, say_json, say_visibly
from onetool.console.clean_text import count_of
from ot.config.documents import parse_document
from ot.config.keys import INCLUDE
from ot.config.paths import FOLDER, PROMPTS_FILE, SECRETS_FILE, SKILLS, TOOLS, find_places, state_folder
from ot.config.project_trust import project_trust
from ot.config.secrets import references
from ot.config.tightening import Tightening
from ot.errors import ConfigError, PackLoadError
from ot.registry.from_source import parse_pack
from ot.skills.skill_file import parse_skill
from ot.trust.project_trust import Comparison, FolderFiles, ProjectTrust, compare, read_folder
from ot.trust.store import TrustStore
from ot.workers.discovery import SUFFIX
from ot.workers.installing import LockDamagedError, read_versions
from ot.workers.pep723 import parse_header


def _describe_changes(trust: ProjectTrust, files: FolderFiles, found: Comparison) -> Iterator[str]:
    """Describe every file that is new, changed or gone; a changed one with the difference."""
    record = trust.record()
    for name in found.untrusted:
        content, before = files.contents[name], record.copy(name)
        yield f"  {name} ({'changed' if name in found.changed else 'new'}, {len(content):,} bytes)"
        yield from (f"    {line}" for line in _describe_file(name, content, files.folder, trust.project))
        if name in found.changed and before is not None and name != SECRETS_FILE:
            with suppress(UnicodeDecodeError):
                old, new = before.decode().split("\n"), content.decode().split("\n")
                lines = difflib.unified_diff(old, new, "as you trusted it", "as it is now", lineterm="", n=2)
                yield from (f"    {line}" for line in lines)
    yield from (f"  {name} (gone)" for name in found.gone)


def _describe_file(name: str, content: bytes, folder: Path, project: Path) -> Iterator[str]:
    if name.startswith(f"{TOOLS}/") and name.endswith(".py"):
        yield from _describe_tools(name, content, folder)
    elif name.startswith(f"{SKILLS}/") and name.endswith(".py"):
        try:
            skill = parse_skill(content, folder / name)
        except PackLoadError as error:
            yield f"cannot be used: {f'line {error.line}: ' if error.line else ''}{error.reason}"
            return
        yield f"code that runs confined, with access to all your tools, when a run calls {skill.definition.signature}"
        yield from (f"  | {line}" for line in skill.text.split("\n"))
    elif name.startswith(f"{TOOLS}/") and name.endswith(".py.lock"):
        try:
            versions = read_versions(content)
        except LockDamagedError as error:
            yield f"cannot be read: {error}"
            return
        addresses = re.findall(r"[a-z+]+://[^/\"'\s]+", content.decode())
        yield f"locks {len(versions)} packages, from: {', '.join(sorted(set(addresses))) or 'folders'}"
    elif name == SECRETS_FILE:
        try:
            yield f"contains the secrets: {', '.join(map(str, parse_document(content, folder / name, private=True)))}"
        except ConfigError as error:
            yield f"cannot be read: {error.reason}"
    elif name.endswith(".yaml"):
        yield from _describe_configuration(name, content, folder, project)


def _describe_configuration(name: str, content: bytes, folder: Path, project: Path) -> Iterator[str]:
    try:
        document = parse_document(content, folder / name)
    except ConfigError as error:
        yield f"cannot be read: {error.reason}"
        return
    if name == PROMPTS_FILE and list(document) != ["prompts"]:
        document = {"prompts": document}
    for server, each in mapping_of(document.get("servers")).items():
        entry = mapping_of(each)
        if "command" in entry:
            words = [entry["command"], *list_of(entry.get("args"))]
            yield f"starts, as the server {server}: {' '.join(map(str, words))}"
        if "url" in entry:
            yield f"connects, as the server {server}, to: {entry['url']}"
    tightening = Tightening(project)
    with suppress(ValueError, TypeError):  # wrong types, which are reported when the file is loaded
        tightening.apply({}, document)
    left_out = {refusal.key: refusal.reason for refusal in tightening.refused}
    for path, value in _leaves(document, ()):
        key = ".".join(path)
        above = itertools.accumulate(path, "{}.{}".format)
        reason = next((left_out[each] for each in above if each in left_out), "")
        note = f" (left out: {reason})" if reason else ""
        first, *others = str(value).split("\n")
        yield f"{'includes' if path[0] == INCLUDE else 'sets'} {key}: {first}{note}"
        yield from (f"  | {line}" for line in others)
    named = sorted({each for _, value in _leaves(document, ()) for each in references(str(value))})
    if named:
        yield f"reads the variables or secrets: {', '.join(named)}"


def _describe_tools(name: str, content: bytes, folder: Path) -> Iterator[str]:
    try:
        file = folder / name
        own_folder = file.name == f"{file.parent.name}{SUFFIX}"
        pack = parse_pack(content, file, name=file.parent.name if own_folder else file.stem)
    except PackLoadError as error:
        yield f"cannot be read: {error.reason}"
        return
    tools = ", ".join(pack.tools) or "none"
    yield f"runs as you, as the pack {pack.name}, when one of its tools is called: {tools}"
    secrets = sorted({secret for tool in pack.tools.values() for secret in tool.secrets})
    if secrets:
        yield f"reads the secrets: {', '.join(secrets)}"
    header, _ = parse_header(content.decode("utf-8-sig", "replace"))
    if header is not None and header.dependencies:
        yield f"installs: {', '.join(header.dependencies)}"
    if header is not None and header.tool:
        yield f"configures uv: {header.tool}"


def _leaves(value: object, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], object]]:
    if isinstance(value, dict) and value:
        for name, item in value.items():
            yield from _leaves(item, (*path, str(name)))
    elif path:
        yield path, value


_PAUSE = 0.5  # seconds between two looks, with --follow
EPILOG = (
    "Until you trust it, a project's .onetool is ignored. Exit status: 0, 1 if nothing was trusted, 2 for usage or "
    "configuration errors."
)


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
        return fail("onetool trust: --json needs --list", USAGE)
    if options.listing:
        projects = store.projects()
        if options.json:
            say_json([{"project": str(project), "files": count} for project, count in projects.items()])
        else:
            listed = [f"{project}: {count_of(count, 'file')}" for project, count in projects.items()]
            say_visibly(*(listed or ["You have not trusted any project."]))
        return OK
    if options.revoke is not None:
        folder = project = options.revoke.absolute()
        with suppress(ConfigError):  # of another user by now, or gone
            project = find_places(cwd=folder, home=Path.home(), named=None).project
        if not any(store.revoke(each) for each in dict.fromkeys((folder, project))):
            return fail(f"onetool: {folder} was not trusted")
        say_visibly(f"no longer trusted: {folder}")
        return OK
    if options.follow and not at_terminal():
        return fail("onetool trust: --follow needs a terminal that shows what it accepts", USAGE)
    cwd = (options.folder or Path()).absolute()
    places = find_places(cwd=cwd, home=Path.home(), named=None)
    trust = project_trust(places.project, Path.home())
    if trust is None or places.project_folder is None:
        raise ConfigError(f"there is no project with a {FOLDER} folder here", file=cwd)
    if not _trust(trust, yes=options.yes):
        return FAILED
    return _follow(trust) if options.follow else OK


def _trust(trust: ProjectTrust, *, yes: bool) -> bool:
    """Show the files, ask, and trust exactly the bytes that were shown."""
    files = read_folder(trust.folder)
    found = compare(files, trust.record())
    say_visibly(*(f"refused: {FOLDER}/{line}" for line in found.refused))
    if not found:
        say_visibly(f"Everything in {trust.folder} is trusted." if files.contents else f"{trust.folder} is empty.")
        return True
    say_visibly(f"{trust.folder}:", *_describe_changes(trust, files, found))
    say_visibly("Trust covers these files and command lines as they are now, but not the programs that they start.")
    if not yes and not (at_terminal() and confirm(f"Trust {visible(str(trust.project))}?")):
        complain("onetool: nothing was trusted; --yes trusts it without asking")
        return False
    _accept(trust, files, found)
    return True


def _follow(trust: ProjectTrust) -> int:
    say_visibly("Every change is trusted until you press Ctrl-C.")
    try:
        while True:
            time.sleep(_PAUSE)
            files = read_folder(trust.folder)
            if found := compare(files, trust.record()):
                say_visibly(*_describe_changes(trust, files, found))
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
