"""`onetool check`: every mistake that can be found without running anything, one line each.

The one thing it connects to is the databases that are configured, to advise on their roles."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterator, Mapping

from onetool.cli import OK, USAGE
from onetool.cli.accept import count_differences
from onetool.cli.confinement import describe_confinement, find_confinement_mistakes
from onetool.cli.databases import advise_on_roles, find_connection_mistakes
from onetool.cli.definitions import read_definitions
from onetool.cli.lock import installer_of
from onetool.cli.printing import say, visible
from onetool.cli.start import load
from ot.app import proxy_host
from ot.config.loader import LoadedConfig
from ot.config.paths import FOLDER, state_folder
from ot.config.project_trust import project_trust
from ot.errors import ConfigError
from ot.execution.idle_rules import find_idle_rules
from ot.execution.wording import word_error
from ot.introspect import find_alias_problems
from ot.proxy import Acceptance, find_mistake
from ot.registry.names import NameCollision
from ot.registry.registry import ToolRegistry
from ot.trust.project_trust import Comparison
from ot.trust.untrusted import trust_command
from ot.workers.extension import Extension
from ot.workers.pack_environment import LibraryState, state_of
from ot.workers.uv_program import PreparationError

EPILOG = "Exit status: 0 if nothing is wrong, else 2."


def main(options: Namespace) -> int:
    every: list[ConfigError] = []
    try:
        loaded = load(options, tolerant=True, every=every)
    except ConfigError as mistake:  # of what guards the person, or in a file that cannot be read
        for each in every:
            if each is not mistake:
                say(visible(word_error(each)))
        raise
    registry, extensions = read_definitions(loaded)
    damaged, locked = _read_locks(loaded, extensions)
    problems = [
        *map(word_error, every),
        *_find_pack_problems(registry),
        *_find_setting_problems(loaded, registry),
        *find_confinement_mistakes(loaded, registry),
        *find_connection_mistakes(loaded),
        *damaged,
    ]
    notes = [word_collision(collision) for collision in registry.collisions if not _is_mistake(collision)]
    notes += [*_find_changed_servers(loaded), *_find_untrusted(loaded), *advise_on_roles(loaded, registry)]
    missing = [pack for pack, state in _library_states(loaded, registry) if state is LibraryState.MISSING]
    if missing:
        notes.append(f"libraries are not fetched yet of: {', '.join(missing)}; onetool fetch installs them now")
    if locked:
        notes.append(f"dependencies are locked of: {', '.join(locked)}; onetool lock lists and upgrades them")
    for line in (*problems, *(f"note: {note}" for note in notes)):
        say(visible(" ".join(line.split())))
    if problems:
        return USAGE
    for line in describe_confinement(loaded, registry):
        say(line)
    files = ", ".join(map(str, loaded.files)) or "no file, only defaults"
    say(f"OK: {len(registry.packs())} packs, {len(registry.definitions())} tools; configuration: {files}")
    return OK


def _find_pack_problems(registry: ToolRegistry) -> Iterator[str]:
    for problem in registry.problems:
        yield f"{problem.file.parent}{os.sep}{word_error(problem)}"
    for collision in registry.collisions:
        if _is_mistake(collision):
            yield word_collision(collision)


def _is_mistake(collision: NameCollision) -> bool:
    """True if someone loses a pack unintentionally."""
    return collision.reachable_as is None and not collision.intended


def word_collision(collision: NameCollision) -> str:
    """A sentence about a name that two packs claim."""
    fate = "is not loaded" if collision.reachable_as is None else f"is reached as {collision.reachable_as}"
    return f"pack {collision.name}: the name belongs to {collision.kept_by}; {collision.other} {fate}"


def _find_changed_servers(loaded: LoadedConfig) -> Iterator[str]:
    records = proxy_host(loaded, os.environ).records
    for name, settings in loaded.config.servers.items():
        differences = Acceptance(name, settings, records).differences() if settings.enabled else []
        if differences:
            counted = count_differences(differences)
            yield f"servers.{name} differs from what you accepted ({counted}); see onetool accept {name}"


def _read_locks(loaded: LoadedConfig, extensions: Mapping[str, Extension]) -> tuple[list[str], list[str]]:
    """Return what is wrong with locks, and the packs that are locked."""
    problems, locked = [], []
    for pack, extension in sorted(extensions.items()):
        installer = installer_of(loaded, extension)
        try:
            locked += [pack] if installer.versions() else []
        except PreparationError as error:
            problems.append(f"pack {pack}: {error}")
    return problems, locked


def _library_states(loaded: LoadedConfig, registry: ToolRegistry) -> Iterator[tuple[str, LibraryState]]:
    for pack in registry.packs():
        if pack.libraries is not None:
            yield pack.name, state_of(state_folder(loaded.home), pack.libraries)


def _find_untrusted(loaded: LoadedConfig) -> Iterator[str]:
    trust = project_trust(loaded.project, loaded.home)
    found = trust.compare() if trust is not None else Comparison()
    for name in found.untrusted:
        state = "has changed since you trusted it" if name in found.changed else "is not trusted"
        yield f"{FOLDER}/{name} {state}; see {trust_command(loaded.project)}"
    for line in (*found.refused, *loaded.untrusted.broken):
        yield f"{FOLDER}/{line}"
    for refusal in loaded.refused:
        yield f"{refusal.key} of the project is left out: {refusal.reason}"


def _find_setting_problems(loaded: LoadedConfig, registry: ToolRegistry) -> Iterator[str]:
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
