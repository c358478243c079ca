"""`onetool check`: every mistake that can be found, one line each, and every server and extension started once.

Even offline it connects to the configured databases, to advise on their roles.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import anyio

from mcp_core.visible_text import visible
from onetool.cli import FAILED, OK, USAGE
from onetool.cli.accept import count_differences
from onetool.cli.definitions import read_definitions
from onetool.cli.fetch import find_installers
from onetool.cli.printing import add_json_argument, say, say_json
from onetool.cli.start import load
from onetool.cli.trials import show_starts
from onetool.doctor.configuration import advise_on_roles, find_connection_mistakes
from onetool.doctor.confinement import describe_confinement, find_confinement_mistakes
from onetool.doctor.packs import Trial, find_changed_servers, find_missing_libraries, find_startable_servers
from ot.config.loader import LoadedConfig
from ot.config.models import strangers_of
from ot.config.paths import FOLDER
from ot.config.project_trust import project_trust
from ot.errors import ConfigError, ToolError
from ot.execution.rules import find_idle_rules
from ot.execution.wording import word_error
from ot.introspect import find_alias_problems
from ot.parts.known_tools import worker_host
from ot.proxy import find_mistake
from ot.registry.names import NameCollision
from ot.registry.registry import ToolRegistry
from ot.trust.project_trust import Comparison, trust_command
from ot.workers.examining import examine
from ot.workers.extension import Extension
from ot.workers.uv_program import PreparationError
from ot_packs.shell import read_rules


async def _find_extension_mistakes(loaded: LoadedConfig, extensions: Mapping[str, Extension]) -> list[str]:
    """Examine all extensions at the same time; uses the network if packages need it."""
    host = worker_host(loaded, os.environ)
    found: dict[str, list[str]] = {}

    async def look(pack: str, extension: Extension) -> None:
        found[pack] = [f"{each.file}:{each.line}: {each.text}" for each in await examine(extension, host)]

    async with anyio.create_task_group() as tasks:
        for pack, extension in extensions.items():
            tasks.start_soon(look, pack, extension)
    return [line for pack in sorted(found) for line in found[pack]]


EPILOG = (
    "All servers and extensions are started at the same time, then stopped. Exit status: 0 if nothing is wrong, 1 if "
    "something could not be started, 2 if there is a mistake."
)


@dataclass
class Findings:
    """Everything that a check finds; `problems` are mistakes, `notes` are not."""

    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    confinement: list[str] = field(default_factory=list)
    trials: list[Trial] = field(default_factory=list)

    @property
    def status(self) -> int:
        return USAGE if self.problems else FAILED if any(trial.failure for trial in self.trials) else OK


def add_arguments(parser: ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--offline", action="store_true", help="start nothing")
    closely = "start extensions only, and check their annotations, imports and dependencies"
    what.add_argument("--import", dest="closely", action="store_true", help=closely)
    add_json_argument(parser)


def main(options: Namespace) -> int:
    every: list[ConfigError] = []
    try:
        loaded = load(options, tolerant=True, every=every)
    except ConfigError as mistake:  # of what guards the person, or in a file that cannot be read
        if options.json:
            say_json({"ok": False, "problems": [word_error(each) for each in dict.fromkeys([*every, mistake])]})
            return USAGE
        for each in every:
            if each is not mistake:
                say(visible(word_error(each)))
        raise
    registry, extensions = read_definitions(loaded)
    damaged, locked = _read_locks(loaded, extensions)
    found = Findings([*map(word_error, every), *_find_problems(loaded, registry), *damaged])
    if not options.json:
        _say_all(found.problems)
    if not options.offline:
        servers = [] if options.closely else find_startable_servers(loaded)
        found.trials = show_starts(loaded, servers, extensions=True, quiet=options.json)
        registry = read_definitions(loaded)[0] if servers else registry
    if options.closely:
        mistakes = anyio.run(_find_extension_mistakes, loaded, extensions)
        found.problems += mistakes
        _say_all([] if options.json else mistakes)
    found.notes = [*_find_notes(loaded, registry, locked)]
    found.confinement = [*describe_confinement(loaded, registry)]
    if options.json:
        say_json(_as_json(found, loaded, registry))
        return found.status
    _say_all(f"note: {note}" for note in found.notes)
    if not found.problems:
        _say_all(found.confinement)
        files = ", ".join(map(str, loaded.files)) or "no file, only defaults"
        failed = sum(bool(trial.failure) for trial in found.trials)
        verdict = f"{failed} of {len(found.trials)} could not be started" if failed else "OK"
        counts = f"{len(registry.packs())} packs, {len(registry.definitions())} tools"
        say(f"{verdict}: {counts}; configuration: {files}")
    return found.status


def _say_all(lines: Iterable[str]) -> None:
    for line in lines:
        say(visible(" ".join(line.split())))


def _find_problems(loaded: LoadedConfig, registry: ToolRegistry) -> Iterator[str]:
    for problem in registry.problems:
        yield f"{problem.file.parent}{os.sep}{word_error(problem)}"
    yield from find_lost_packs(registry)
    yield from find_setting_problems(loaded, registry)
    yield from find_confinement_mistakes(loaded, registry)
    yield from find_connection_mistakes(loaded)
    try:
        read_rules(loaded.config.packs["shell"].options.get("allow") if "shell" in loaded.config.packs else None)
    except ToolError as error:
        yield error.message


def _find_notes(loaded: LoadedConfig, registry: ToolRegistry, locked: Sequence[str]) -> Iterator[str]:
    yield from (word_collision(each) for each in registry.collisions if each.reachable_as or each.intended)
    for name, differences in find_changed_servers(loaded).items():
        counted = count_differences(differences)
        yield f"servers.{name} differs from what you accepted ({counted}); see onetool accept {name}"
    trust = project_trust(loaded.project, loaded.home)
    compared = trust.compare() if trust is not None else Comparison()
    for name in compared.untrusted:
        state = "has changed since you trusted it" if name in compared.changed else "is not trusted"
        yield f"{FOLDER}/{name} {state}; see {trust_command(loaded.project)}"
    yield from (f"{FOLDER}/{line}" for line in (*compared.refused, *loaded.untrusted.broken))
    yield from (f"{file}: {renamed.words}" for file, renamed in loaded.renamed)
    yield from (f"{each.key} of the project is left out: {each.reason}" for each in loaded.refused)
    strangers = strangers_of(loaded.config)
    if any(set(strangers) <= set(flow.origins) for flow in loaded.config.policy.flows):
        yield f"strangers in policy.flows are {', '.join(strangers)}; `own: true` excepts a server"
    yield from advise_on_roles(loaded, registry)
    if missing := find_missing_libraries(loaded, registry):
        yield f"libraries not installed yet: {', '.join(missing)}; onetool fetch installs them now"
    if locked:
        yield f"locked dependencies: {', '.join(locked)}; onetool lock lists and upgrades them"


def _as_json(found: Findings, loaded: LoadedConfig, registry: ToolRegistry) -> dict[str, object]:
    return {
        "ok": found.status == OK,
        "problems": found.problems,
        "notes": found.notes,
        "started": [trial.as_json() for trial in found.trials],
        "confinement": found.confinement,
        "packs": len(registry.packs()),
        "tools": len(registry.definitions()),
        "files": [str(file) for file in loaded.files],
    }


def find_lost_packs(registry: ToolRegistry) -> Iterator[str]:
    """Yield a sentence about each pack that cannot be used, because another one has its name."""
    yield from (word_collision(each) for each in registry.collisions if not (each.reachable_as or each.intended))


def word_collision(collision: NameCollision) -> str:
    fate = "is not loaded" if collision.reachable_as is None else f"is available as {collision.reachable_as}"
    return f"pack {collision.name}: the name belongs to {collision.kept_by}; {collision.other} {fate}"


def _read_locks(loaded: LoadedConfig, extensions: Mapping[str, Extension]) -> tuple[list[str], list[str]]:
    problems, locked = [], []
    for pack, installer in find_installers(loaded, extensions).items():
        try:
            locked += [pack] if installer.versions() else []
        except PreparationError as error:
            problems.append(f"pack {pack}: {error}")
    return problems, locked


def find_setting_problems(loaded: LoadedConfig, registry: ToolRegistry) -> Iterator[str]:
    """Yield mistakes in valid settings: packs, programs and folders that do not exist."""
    config = loaded.config
    yield from find_idle_rules(config.policy, registry, config.servers)
    for name, project in config.projects.items():
        if not project.path.is_dir():
            yield f"projects.{name}: {project.path} is not a folder"
    for name, server in config.servers.items():
        mistake = find_mistake(server, environ=os.environ, project=loaded.project) if server.enabled else ""
        if mistake:
            yield f"servers.{name}: {mistake}"
    yield from find_alias_problems(config, registry)
