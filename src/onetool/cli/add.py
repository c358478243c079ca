"""`onetool add`: a server from the MCP registry, a package or an address, installed once, tried, and written down."""

from __future__ import annotations

import difflib
import os
import re
import shutil
import sys
import tempfile
from argparse import REMAINDER, ArgumentParser, Namespace
from pathlib import Path

import anyio

from mcp_core.visible_text import visible
from onetool.bringing.answers import Answer, Answers, build_entry, escaped
from onetool.bringing.bundles import bring, fetch_bundle, read_bundle
from onetool.bringing.candidate import OWN_FOLDER, Candidate, candidates_of, package_candidate, remote_candidate
from onetool.bringing.installing import Installed, Program, origin_of
from onetool.bringing.trying import Tried, try_server
from onetool.cli import OK, USAGE
from onetool.cli.asking import Asking
from onetool.cli.connect import named_file, near, tell_written
from onetool.cli.printing import at_terminal, complain, confirm, fail, say, say_visibly
from onetool.cli.start import load
from onetool.console.clean_text import count_of
from onetool.foreign.clients import System
from onetool.foreign.entries import ServerEntry
from onetool.foreign.table_edit import add_entries
from onetool.foreign.text_files import read_text_file, replace_text_file
from ot.config.loader import LoadedConfig
from ot.config.paths import CONFIG_FILE, FOLDER, state_folder
from ot.config.reading import SettingsError
from ot.config.server_settings import ConfineSettings, ServerSettings
from ot.execution.wording import last_lines
from ot.parts.known_tools import load_built_in, proxy_host, worker_host
from ot.proxy import Acceptance
from ot.proxy.definitions.memory import BROUGHT
from ot.registry.names import PROTECTED, absent_name
from ot.services.mcp_registry import BringingError, Listed, McpRegistry

EPILOG = (
    "NAME is a server of the MCP registry (registry.url), in whole or in part; a command as clients have it, `npx -y "
    "PACKAGE ...` or `uvx PACKAGE ...`; an https address; or an .mcpb file. It is shown first, and nothing is "
    "installed without a yes. Its program is confined to its own files, without a network: --host, --read and --write "
    "open more. Exit status: 0; 1 if it was not added; 2 for usage or configuration errors."
)
_RUNNERS = ("npx", "uvx")
_WIDTH = 200  # characters of a stranger's words


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--as", metavar="NAME", dest="own_name", help="its name under `servers:`, and of its pack")
    parser.add_argument("--kind", choices=["npm", "pypi", "mcpb", "remote"], help="which of several ways to take")
    for option, what in (("--host", "a host that it may reach"), ("--read", "a path that it may read")):
        parser.add_argument(option, action="append", default=[], metavar=option[2:].upper(), help=what)
    parser.add_argument("--write", action="append", default=[], metavar="PATH", help="a path that it may also write")
    parser.add_argument("--set", action="append", default=[], metavar="VARIABLE=VALUE", help="a value that it asks for")
    parser.add_argument("--secret", action="append", default=[], metavar="VARIABLE=NAME",
                        help="a secret of yours for what it asks for")  # fmt: skip
    parser.add_argument("--sha256", default="", metavar="DIGEST", help="what the digest of a bundle must be")
    parser.add_argument("--keyring", action="store_true", help="keep new secrets in your system's keychain")
    parser.add_argument("--yes", action="store_true", help="do not ask whether to add it")
    parser.add_argument("what", nargs=REMAINDER, metavar="NAME", help="a server, a command or an address")


def main(options: Namespace) -> int:
    if not options.what:
        return fail("onetool add: name a server, or write a command or an address", USAGE)
    if options.what[0] not in _RUNNERS:  # whose arguments are their own
        parser = ArgumentParser("onetool add")
        add_arguments(parser)
        first = options.what[0]
        options = parser.parse_args(options.what[1:], options)
        options.what = [first, *options.what]
    loaded = load(options, tolerant=True)
    with tempfile.TemporaryDirectory(prefix="onetool-") as folder:
        try:
            return _bring_in(_find(options, loaded, Path(folder)), options, loaded)
        except BringingError as error:
            return fail(visible(f"onetool: {error}"))


def _bring_in(candidate: Candidate, options: Namespace, loaded: LoadedConfig) -> int:
    """Show the server, and add it after a yes; raises BringingError."""
    name = _name_for(candidate, options.own_name, loaded)
    _show(candidate, name, options, loaded)
    if not options.yes:
        if not (at_terminal() and confirm(visible(f"Add {name}?"))):
            return fail("onetool: nothing was added" + ("" if at_terminal() else "; --yes adds it as shown"))
        if candidate.kind != "remote" and not options.host:
            say_visibly(f"Hosts that {name} may reach, such as api.example.com, with blanks between (none):")
            options.host = sys.stdin.readline().split()
            _confinement(options)
    return anyio.run(_add, candidate, name, options, loaded)


def _find(options: Namespace, loaded: LoadedConfig, folder: Path) -> Candidate:
    """Return the one server that was named, a bundle of the registry in the folder.

    Raises BringingError where there is none, or more than one.
    """
    first, *others = options.what
    if first in _RUNNERS:
        words = others[1:] if first == "npx" and others[:1] in (["-y"], ["--yes"]) else others
        if not words or words[0].startswith("-"):
            raise BringingError(f"write it as `{first} PACKAGE ...`; options of {first} are not taken over")
        return package_candidate("npm" if first == "npx" else "pypi", words[0], words[1:])
    if others:
        raise BringingError(f"{first} takes nothing behind it")
    if "://" in first:
        return remote_candidate(first)
    if first.endswith(".mcpb"):
        return read_bundle(Path(first).absolute(), options.sha256)
    registry = McpRegistry(loaded.config.registry.url)
    found = _choose(anyio.run(_look_up, registry, first), options.kind, options.sha256.lower())
    if found.kind != "mcpb":
        return found
    say_visibly(f"Fetching {found.identifier} ...")
    return anyio.run(fetch_bundle, found, registry, folder)


def _choose(listed: Listed, kind: str | None, digest: str) -> Candidate:
    """Return the one way to have a server; raises BringingError where there is none, or more than one."""
    name = listed.entry.name
    if listed.status == "deleted":
        raise BringingError(f"{name} was deleted from the registry")
    if listed.status == "deprecated":
        complain(f"onetool: {name} is deprecated, says the registry")
    found, refused = candidates_of(listed.entry)
    fitting = [each for each in found if kind in (None, each.kind) and digest in ("", each.digest)]
    if len(fitting) == 1:
        return fitting[0]
    for line in refused:
        complain(visible(f"onetool: {name}: {line}"))
    if not fitting:
        raise BringingError(f"{name} offers nothing that can be added")
    options = (f"--sha256 {each.digest}" if each.digest else f"--kind {each.kind}" for each in fitting)
    ways = ", ".join(f"{option} ({each.identifier})" for option, each in zip(options, fitting, strict=True))
    raise BringingError(f"{name} can be had in several ways; choose one: {ways}")


async def _look_up(registry: McpRegistry, name: str) -> Listed:
    if "/" in name:
        return await registry.latest(name)
    found = await registry.search(name)
    if not found:
        raise BringingError(f"the registry has no server {name!r}")
    if len(found) > 1:
        for each in found:
            say_visibly(f"  {each.entry.name}: {each.entry.description[:_WIDTH]}")
        raise BringingError(f"{len(found)} servers fit {name!r}, and none was chosen; write the whole name of one")
    return found[0]


def _name_for(candidate: Candidate, wanted: str | None, loaded: LoadedConfig) -> str:
    """Return its name here; raises BringingError where a pack or a server of the person has it."""
    name = wanted or re.sub(r"[^A-Za-z0-9_-]+", "-", candidate.name.rpartition("/")[2]).strip("-_") or "server"
    taken = {absent_name(each): f"the server {each}" for each in loaded.config.servers}
    taken |= {pack.name: "a pack of OneTool's" for pack in load_built_in(loaded).packs()}
    taken |= dict.fromkeys(PROTECTED, "a pack of OneTool's")
    own = absent_name(name)
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,60}", name):
        raise BringingError("--as: a name has letters, digits, - and _")
    if own in taken:
        raise BringingError(f"{name} is already the name of {taken[own]}; choose another one with --as")
    if alike := difflib.get_close_matches(own, taken, 1, 0.8):
        complain(f"onetool: its name, {name}, is like that of {taken[alike[0]]} ({alike[0]}); it is another one")
    return name


def _show(candidate: Candidate, name: str, options: Namespace, loaded: LoadedConfig) -> None:
    kinds = {"npm": "the npm package", "pypi": "the Python package", "remote": "a server at", "mcpb": "the bundle"}
    version = f" {candidate.version}" if candidate.version and candidate.kind != "remote" else ""
    say_visibly(f"{candidate.name}: {kinds[candidate.kind]} {candidate.identifier}{version}")
    if candidate.description:
        say_visibly(f"  says of itself: {' '.join(candidate.description.split())[:_WIDTH]}")
    if candidate.author:
        say_visibly(f"  author: {candidate.author[:_WIDTH]} (as it says itself; nobody has proved it)")
    if candidate.publisher:
        page = f", {candidate.page[:_WIDTH]}" if candidate.page else ""
        say_visibly(f"  publisher: {candidate.publisher} (as the registry has it){page}")
    words = [
        "".join(part if isinstance(part, str) else f"<{part.name}>" for part in each) for each in candidate.arguments
    ]
    if candidate.kind != "remote":
        say_visibly(f"  starts: its program{''.join(f' {word!r}' for word in words)}")
    for label, templates in (("variable", candidate.env), ("header", candidate.headers)):
        for key, each in templates.items():
            text = "".join(part if isinstance(part, str) else f"<{part.name}>" for part in each)
            say_visibly(f"  {label} {key}: {text[:_WIDTH]}")
    for wanted in candidate.wanted:
        facts = ["secret" if wanted.secret else "", "required" if wanted.required else "may be left out"]
        facts += [f"else {wanted.default}" if wanted.default is not None else ""]
        about = " ".join(wanted.description.split())[:_WIDTH]
        say_visibly(f"  asks for {wanted.name} ({', '.join(filter(None, facts))}){f': {about}' if about else ''}")
    if candidate.kind != "remote":
        say_visibly(f"  may use: {_confinement(options).describe()}")
    say_visibly(f"  becomes: servers.{name} in {near(config_file(options))}")


def _confinement(options: Namespace) -> ConfineSettings:
    """Return what the program may use beside its own files; raises BringingError."""
    try:
        return ConfineSettings.model_validate({"hosts": options.host, "read": options.read, "write": options.write})
    except SettingsError as error:
        raise BringingError(f"{error.problems[0].reason}; {error.problems[0].fix}") from error


def config_file(options: Namespace) -> Path:
    return named_file(options.config, System.local()) or Path.home() / FOLDER / CONFIG_FILE


async def _add(candidate: Candidate, name: str, options: Namespace, loaded: LoadedConfig) -> int:
    """Install, ask, try and write; what was installed goes again if it is not added. Raises BringingError."""
    installed = Installed(state_folder(loaded.home) / BROUGHT / name)
    if installed.folder.exists():
        shutil.rmtree(installed.folder)  # of a server that is not configured any more
    program = None
    try:
        if candidate.kind != "remote":
            say_visibly(f"Installing {candidate.identifier} ...")
            program = await bring(candidate, installed, worker_host(loaded, os.environ))
        asking = Asking(candidate, name, options, loaded)
        place = program.folder / program.inside if program else ""
        answers = {**asking.answers(), OWN_FOLDER: Answer.plain(str(place))}
        tried = await try_server(name, _settings(asking.candidate, program, answers, options), loaded)
        tell_tried(tried, name)
        if tried.offer is None and not tried.needs_login:
            hint = "" if candidate.kind == "remote" or options.host else "; it had no network, which --host HOST opens"
            raise BringingError(f"{name} was not added{hint}")
        asking.keep_secrets(keychain=options.keyring)
        by_link = None
        if program is not None:
            by_link = program.by_way_of(installed.link)
            installed.use(program)
            installed.note(origin_of(candidate, program))
            answers[OWN_FOLDER] = Answer.plain(str(installed.link / program.inside))
        if tried.offer is not None:  # what was shown is accepted, also where an older server had this name
            settings = _settings(asking.candidate, by_link, answers, options)
            records = proxy_host(loaded, os.environ).records
            acceptance = Acceptance(name, settings, records, offer=tried.offer)
            acceptance.accept(forget=True)
            acceptance.remember()
        own = [answers[OWN_FOLDER].value] if candidate.kind == "mcpb" else []
        _write(build_entry(asking.candidate, by_link, answers, written=True), name, options, own)
        program = None
    finally:
        if program is not None:
            shutil.rmtree(installed.folder, ignore_errors=True)
    say(f"Log in with `onetool login {name}`." if tried.needs_login else f"Added {name}.")
    return OK


def _settings(candidate: Candidate, program: Program | None, answers: Answers, options: Namespace) -> ServerSettings:
    entry: dict[str, object] = {**build_entry(candidate, program, answers, written=False)}
    if program is not None:
        own = [answers[OWN_FOLDER].value] if candidate.kind == "mcpb" else []
        entry |= {"confine": {"hosts": options.host, "read": [*options.read, *own], "write": options.write}}
        entry |= {"cwd": str(Path.home())}
    try:
        return ServerSettings.model_validate(entry)
    except SettingsError as error:
        problem = error.problems[0]
        raise BringingError(f"{'.'.join(problem.place)}: {problem.reason}; {problem.fix}") from error


def _write(entry: ServerEntry, name: str, options: Namespace, own: list[str]) -> None:
    """Write the server into the person's configuration; raises ConfigError."""
    file = config_file(options)
    opened = {"hosts": options.host, "read": [*options.read, *own], "write": options.write}
    confine = {key: [*map(escaped, values)] for key, values in opened.items() if values}
    settings = {**entry, "confine": confine} if "command" in entry else {**entry}
    original = read_text_file(file)
    text = add_entries(original.text, "servers", {name: settings}, file=file, newline=original.newline)
    tell_written(file, replace_text_file(original, text))


def tell_tried(tried: Tried, name: str) -> None:
    if tried.offer is None:
        complain(visible(f"onetool: {tried.failure}"))
        for line in last_lines(tried.tail):
            complain(visible(f"    {line}"))
        return
    tools = [str(tool["name"]) for tool in tried.offer.tools]
    say_visibly(f"{name} started, and offers {count_of(len(tools), 'tool')}: {', '.join(tools)[:_WIDTH]}")
