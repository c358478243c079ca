"""`onetool doctor`: the state of everything that OneTool depends on, and the command that fixes each problem."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path

from onetool.cli.check import find_lost_packs, find_setting_problems
from onetool.cli.databases import find_connection_mistakes
from onetool.cli.definitions import read_registry
from onetool.cli.printing import add_json_argument
from onetool.cli.serve_check import load_for_check, print_findings, redacted
from onetool.doctor import Finding
from onetool.doctor.configuration import look_at_configuration, look_at_secrets, look_at_trust, word_mistake
from onetool.doctor.confinement import find_confinement_mistakes, look_at_confinement
from onetool.doctor.machine import (
    look_at_caches,
    look_at_clients,
    look_at_disk,
    look_at_python,
    look_at_running,
    look_at_uv,
)
from onetool.doctor.packs import look_at_engine, look_at_packs
from onetool.foreign.clients import System
from ot.config.loader import LoadedConfig
from ot.config.models import ExecutionSettings
from ot.errors import ConfigError

EPILOG = (
    "Green is fine; yellow works, but could be better; red does not work. Every server and extension is started once. "
    "Exit status: 0 if nothing is red, else 1."
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--offline", action="store_true", help="do not start servers and extensions")
    add_json_argument(parser)


def main(options: Namespace) -> int:
    return print_findings(_look(options), as_json=options.json)


def _look(options: Namespace) -> Iterator[Finding]:
    yield from look_at_python()
    yield from look_at_uv(os.environ)
    loaded, mistakes = load_for_check(options)
    if loaded is None:  # a mistake in a security setting: nothing is started without it
        yield from map(word_mistake, mistakes)
        yield from look_at_confinement(ExecutionSettings(), None)
    else:
        yield from redacted(_look_at_loaded(loaded, mistakes, offline=options.offline), loaded)
    yield from look_at_clients(System.local())
    yield from look_at_running(Path.home())
    yield from look_at_caches(Path.home())
    yield from look_at_disk(Path.home())


def _look_at_loaded(loaded: LoadedConfig, mistakes: list[ConfigError], *, offline: bool) -> Iterator[Finding]:
    yield from look_at_confinement(loaded.config.execution, loaded.files[0] if loaded.files else None)
    registry = read_registry(loaded)
    problems = (find_setting_problems, find_confinement_mistakes)
    found = [line for find in problems for line in find(loaded, registry)]
    found += [*find_connection_mistakes(loaded), *find_lost_packs(registry)]
    yield from look_at_configuration(loaded, mistakes, found)
    yield from look_at_trust(loaded)
    yield from look_at_secrets(loaded, registry)
    yield from look_at_engine(loaded, offline=offline)
    yield from look_at_packs(loaded, registry, offline=offline)
