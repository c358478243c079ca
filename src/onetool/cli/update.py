"""`onetool update` and `onetool remove`: servers that `onetool add` has installed, looked at before they change."""

from __future__ import annotations

import os
import shutil
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import anyio

from mcp_core.json_types import Json
from mcp_core.visible_text import visible
from onetool.bringing.bundles import bring, fetch_bundle, read_bundle
from onetool.bringing.candidate import Candidate, candidates_of, package_candidate
from onetool.bringing.installing import Installed, Program, origin_of
from onetool.bringing.trying import Tried, try_server
from onetool.bringing.versions import is_newer
from onetool.cli import FAILED, OK, USAGE
from onetool.cli.accept import count_differences, show_differences
from onetool.cli.add import config_file, tell_tried
from onetool.cli.connect import near, tell_written
from onetool.cli.definitions import name_in_code, read_registry
from onetool.cli.dependents import find_dependents
from onetool.cli.printing import at_terminal, complain, confirm, fail, say, say_visibly
from onetool.cli.start import load
from onetool.foreign.table_edit import remove_entry
from onetool.foreign.text_files import read_text_file, replace_text_file
from ot.config.loader import LoadedConfig
from ot.config.paths import state_folder
from ot.config.server_settings import ServerSettings
from ot.parts.known_tools import proxy_host, worker_host
from ot.proxy import Acceptance
from ot.proxy.definitions.memory import BROUGHT
from ot.services.mcp_registry import BringingError, McpRegistry

EPILOG_UPDATE = (
    "The new version is installed beside the old one, and started confined and without secrets; you see what changes "
    "in its tools and words, and what of yours depends on that. The old one stays in use until you say yes, and is "
    "kept afterwards. Never an older version, nor another package. Exit status: 0; 1 if a server could not be "
    "updated; 2 for usage or configuration errors."
)
EPILOG_REMOVE = (
    "Your secrets stay; `onetool secrets remove NAME` removes one. Exit status: 0; 1 if it was not removed; 2."
)


def add_arguments_update(parser: ArgumentParser) -> None:
    parser.add_argument("servers", nargs="*", metavar="NAME", help="update only these servers")
    parser.add_argument("--back", action="store_true", help="use the version again that was used before")
    parser.add_argument("--with-secrets", action="store_true", help="give the new version its secrets when it is tried")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def main_update(options: Namespace) -> int:
    loaded = load(options, tolerant=True)
    places = {name: Installed(state_folder(loaded.home) / BROUGHT / name) for name in loaded.config.servers}
    brought = {name: (place, origin) for name, place in places.items() if (origin := place.origin()) is not None}
    missing = [name for name in options.servers if name not in brought]
    for name in missing:
        complain(visible(f"onetool: {name} was not installed by onetool add"))
    if options.back and len(options.servers) != 1:
        return fail("onetool update: --back needs one NAME", USAGE)
    failed = bool(missing)
    for name in options.servers or brought:
        if name in brought:
            try:
                (_back if options.back else _update)(name, *brought[name], loaded, options)
            except BringingError as error:
                complain(visible(f"onetool: {name}: {error}"))
                failed = True
    if not brought and not missing:
        say("No server was installed by `onetool add`.")
    return FAILED if failed else OK


def _update(name: str, place: Installed, origin: Mapping[str, Json], loaded: LoadedConfig, options: Namespace) -> None:
    """Install and try the latest version, and use it if the person agrees; raises BringingError."""
    current, old = str(origin["version"]), place.link.resolve()
    with tempfile.TemporaryDirectory(prefix="onetool-") as folder:
        candidate = anyio.run(_latest, origin, old.name, loaded, Path(folder))
        if candidate.version and not is_newer(candidate.version, current):
            say(f"{name}: {current} is the latest version.")
            return
        program = anyio.run(bring, candidate, place, worker_host(loaded, os.environ))
    used = False
    try:
        if not is_newer(program.version, current):
            say(f"{name}: {current} is the latest version.")
            return
        settings = loaded.config.servers[name]
        tried = anyio.run(try_server, name, _settings_of(program, place, settings, options), loaded)
        tell_tried(tried, name)
        if tried.offer is None:
            hint = "" if options.with_secrets else "; if it needs its secrets to start, --with-secrets gives them to it"
            raise BringingError(f"{program.version} does not start, and {current} stays in use{hint}")
        acceptance = Acceptance(name, settings, proxy_host(loaded, os.environ).records, offer=tried.offer)
        _show(name, acceptance, tried, loaded)
        if not options.yes and not (at_terminal() and confirm(f"Use {program.version} instead of {current}?")):
            say(f"{name}: {current} stays in use.")
            return
        acceptance.accept()
        acceptance.remember()
        place.use(program)
        place.note({**origin_of(candidate, program), "previous": old.name, "before": current})
        used = True
        say(f"{name}: {program.version} is used now; `onetool update {name} --back` goes back to {current}.")
    finally:
        if not used and program.folder != old:
            shutil.rmtree(program.folder, ignore_errors=True)


async def _latest(origin: Mapping[str, Json], in_use: str, loaded: LoadedConfig, folder: Path) -> Candidate:
    """Return the latest version of the same package, a bundle in the folder; raises BringingError if it is another."""
    kind, identifier = origin["kind"], str(origin["identifier"])
    if not origin["publisher"]:
        if kind == "mcpb":
            return _same_bundle(read_bundle(_bundle_at(identifier)), origin)
        return package_candidate("npm" if kind == "npm" else "pypi", identifier, ())
    registry = McpRegistry(loaded.config.registry.url)
    listed = await registry.latest(str(origin["name"]))
    if listed.status == "deleted":
        raise BringingError("it was deleted from the registry")
    found, refused = candidates_of(listed.entry)
    same = next((each for each in found if (each.kind, each.package) == (kind, identifier)), None)
    if same is None:
        raise BringingError("; ".join(["the registry has another package for it now, which is not taken", *refused]))
    if kind != "mcpb":
        return same
    if in_use.endswith(f"-{same.digest[:12]}"):
        return replace(same, version=str(origin["version"]))
    return _same_bundle(await fetch_bundle(same, registry, folder), origin)


def _bundle_at(place: str) -> Path:
    if not Path(place).is_file():
        raise BringingError(f"it came from {place}, which is not there; remove it, and add the new file")
    return Path(place)


def _same_bundle(found: Candidate, origin: Mapping[str, Json]) -> Candidate:
    if found.bundle != origin.get("bundle", origin["name"]):
        raise BringingError(f"{found.identifier} is another bundle, {found.bundle}, which is not taken")
    return found


def _settings_of(program: Program, place: Installed, known: ServerSettings, options: Namespace) -> ServerSettings:
    """Return how a new version is tried; raises BringingError where it is started in another way than the old one."""
    linked = program.by_way_of(place.link)
    count = len(linked.arguments)
    if known.command != linked.command or known.args[:count] != linked.arguments:
        raise BringingError("its program has another name now; remove it, and add it again")

    def led(text: str) -> str:
        """Return a text in which the folder of the version in use is that of the new one."""
        return text.replace(str(place.link), str(program.folder))

    changes: dict[str, object] = {"command": program.command}
    changes["args"] = (*program.arguments, *map(led, known.args[count:]))
    changes["env"] = {
        key: led(value) for key, value in known.env.items() if options.with_secrets or key == "PYTHONPATH"
    }  # which only a bundle may set, and only to folders of its own
    if known.confine is not None:
        read = tuple(Path(led(str(each))) for each in known.confine.read)
        changes["confine"] = known.confine.model_copy(update={"read": read})
    return known.model_copy(update=changes)


def _show(name: str, acceptance: Acceptance, tried: Tried, loaded: LoadedConfig) -> None:
    """Show what changes, what depends on it, and new tools with names of ours."""
    assert tried.offer is not None
    differences, absent = acceptance.differences(), acceptance.absent()
    show_differences(differences)
    if absent:
        say_visibly(f"not offered any more: {', '.join(absent)}")
    say(
        f"{name}: {count_differences(differences)} would change."
        if differences
        else f"{name}: its tools stay the same."
    )
    registry = read_registry(loaded)
    changed = [*(each.name for each in differences if each.part == "tools"), *absent]
    in_code = {name_in_code(f"{name}.{tool}", loaded, registry).replace("-", "_") for tool in changed}
    for line in find_dependents(loaded, in_code):
        say_visibly(f"  depends on it: {line}")
    ours = {pack.name for pack in registry.packs()} | {"run", "look", "ot"}
    for each in differences:
        if each.part == "tools" and each.new and each.name.lower() in ours:
            say_visibly(f"  its new tool {each.name} has a name of OneTool's; as {name}.{each.name} it is none of them")


def _back(name: str, place: Installed, origin: Mapping[str, Json], loaded: LoadedConfig, options: Namespace) -> None:
    previous, before = str(origin.get("previous", "")), str(origin.get("before", ""))
    folder = place.folder / previous
    if not previous or not folder.is_dir():
        raise BringingError("no earlier version of it is kept")
    current = place.link.resolve().name
    place.use(Program(folder, "", (), before))
    place.note({**origin, "version": before, "previous": current, "before": origin["version"]})
    settings = loaded.config.servers[name]
    tried = anyio.run(try_server, name, settings, loaded)
    tell_tried(tried, name)
    if tried.offer is not None:
        Acceptance(name, settings, proxy_host(loaded, os.environ).records, offer=tried.offer).remember()
    say(f"{name}: {before} is used again.")


def add_arguments_remove(parser: ArgumentParser) -> None:
    parser.add_argument("server", metavar="NAME", help="its name under `servers:` in your configuration")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def main_remove(options: Namespace) -> int:
    loaded, name, file = load(options, tolerant=True), options.server, config_file(options)
    original = read_text_file(file)
    if name not in loaded.config.servers:
        return fail(
            visible(f"onetool: there is no server {name!r}; servers: {', '.join(loaded.config.servers) or 'none'}")
        )
    text = remove_entry(original.text, "servers", name, file=file)
    registry = read_registry(loaded)
    prefix = name_in_code(name, loaded, registry)
    pack = next((pack for pack in registry.packs() if pack.name == prefix), None)
    tools = {f"{prefix}.{tool}" for tool in pack.tools} if pack else set()
    for line in find_dependents(loaded, tools):
        say_visibly(f"depends on it: {line}")
    if not options.yes and not (at_terminal() and confirm(visible(f"Remove {name} from {near(file)}?"))):
        return fail("onetool: nothing was removed" + ("" if at_terminal() else "; --yes removes it"))
    tell_written(file, replace_text_file(original, text))
    shutil.rmtree(state_folder(loaded.home) / BROUGHT / name, ignore_errors=True)
    say(f"Removed {name}.")
    return OK
