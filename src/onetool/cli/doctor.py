"""`onetool doctor` and `onetool serve --check`: the state of everything that OneTool depends on, or a server would."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path

from mcp_core.visible_text import visible
from onetool.cli import FAILED, OK
from onetool.cli.check import find_lost_packs, find_setting_problems
from onetool.cli.definitions import read_registry
from onetool.cli.printing import Style, add_json_argument, paint, say, say_json
from onetool.cli.start import load
from onetool.doctor import Finding, Light, configuration, machine, serving
from onetool.doctor.confinement import find_confinement_mistakes, look_at_confinement
from onetool.doctor.packs import look_at_engine, look_at_packs
from onetool.doctor.report import write_report
from onetool.foreign.clients import System
from ot.config.loader import LoadedConfig
from ot.config.models import ExecutionSettings
from ot.config.paths import state_folder
from ot.config.personal import for_team
from ot.errors import ConfigError

_MARKS: dict[Light, tuple[str, Style]] = {
    Light.GREEN: ("ok  ", "green"),
    Light.YELLOW: ("note", "yellow"),
    Light.RED: ("FAIL", "red"),
}


def load_for_check(options: Namespace) -> tuple[LoadedConfig | None, list[ConfigError]]:
    """Load the configuration, and return every mistake in it; None if it cannot be used at all."""
    mistakes: list[ConfigError] = []
    try:
        return load(options, tolerant=True, every=mistakes), mistakes
    except ConfigError as mistake:
        return None, mistakes or [mistake]


def redacted(found: Iterable[Finding], loaded: LoadedConfig) -> Iterator[Finding]:
    """Yield findings without secrets: a command to type may contain the value of a variable."""
    redact = loaded.redactor.text
    return (replace(each, text=redact(each.text), fix=redact(each.fix)) for each in found)


def print_findings(found: Iterable[Finding], *, as_json: bool) -> int:
    """Print findings as they come, or all together as JSON; returns the exit status: a red one is a failure."""
    findings, area = [], ""
    for finding in found:
        findings.append(finding)
        if as_json:
            continue
        if finding.area != area:
            say(paint(finding.area, "bold"))
        area, (mark, style) = finding.area, _MARKS[finding.light]
        say(f"  {paint(mark, style)} {visible(' '.join(finding.text.split()))}")
        if finding.fix:
            say(f"       {paint('try:', 'dim')} {visible(finding.fix)}")
    count = Counter(finding.light for finding in findings)
    if as_json:
        say_json({"ok": not count[Light.RED], "findings": [asdict(finding) for finding in findings]})
    else:
        say(f"{count[Light.GREEN]} green, {count[Light.YELLOW]} yellow, {count[Light.RED]} red")
    return FAILED if count[Light.RED] else OK


def check(options: Namespace) -> int:
    return print_findings(_look_at_serving(options), as_json=options.json)


def _look_at_serving(options: Namespace) -> Iterator[Finding]:
    loaded, mistakes = load_for_check(options)
    yield from map(configuration.word_mistake, mistakes)
    if loaded is None:
        return
    served = for_team(loaded) if loaded.config.auth.in_force else loaded
    parts = (
        serving.look_at_address(served, options.http),
        serving.look_at_people(served),
        serving.look_at_store(served),
        serving.look_at_sealing(served),
        look_at_confinement(
            served.config.execution, loaded.files[0] if loaded.files else None, state_folder(served.machine_home)
        ),
        serving.look_at_open_files(served),
        serving.look_at_telemetry(served, os.environ),
    )
    yield from redacted(chain.from_iterable(parts), loaded)


EPILOG = (
    "Green is fine; yellow works, but could be better; red does not work. Every server and extension is started once. "
    "Exit status: 0 if nothing is red, else 1."
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--offline", action="store_true", help="do not start servers and extensions")
    parser.add_argument(
        "--report", action="store_true", help="print a text for an issue: versions, system, what its probes found"
    )
    add_json_argument(parser)


def main(options: Namespace) -> int:
    if not options.report:
        return print_findings(_look(options), as_json=options.json)
    loaded, _ = load_for_check(options)
    settings = ExecutionSettings() if loaded is None else loaded.config.execution
    tried = look_at_confinement(settings, None, state_folder(Path.home()))
    for line in write_report(settings, chain(machine.look_at_uv(os.environ), tried)):
        say(visible(line))
    return OK


def _look(options: Namespace) -> Iterator[Finding]:
    yield from machine.look_at_python()
    yield from machine.look_at_uv(os.environ)
    loaded, mistakes = load_for_check(options)
    if loaded is None:  # a mistake in a security setting: nothing is started without it
        yield from map(configuration.word_mistake, mistakes)
        yield from look_at_confinement(ExecutionSettings(), None, state_folder(Path.home()))
    else:
        registry = read_registry(loaded)
        problems = [*find_setting_problems(loaded, registry), *find_confinement_mistakes(loaded, registry)]
        problems += [*configuration.find_connection_mistakes(loaded), *find_lost_packs(registry)]
        parts = (
            look_at_confinement(
                loaded.config.execution, loaded.files[0] if loaded.files else None, state_folder(loaded.machine_home)
            ),
            configuration.look_at_configuration(loaded, mistakes, problems),
            configuration.look_at_trust(loaded),
            configuration.look_at_secrets(loaded, registry),
            look_at_engine(loaded, offline=options.offline),
            look_at_packs(loaded, registry, offline=options.offline),
        )
        yield from redacted(chain.from_iterable(parts), loaded)
    yield from machine.look_at_clients(System.local())
    yield from machine.look_at_running(Path.home())
    yield from machine.look_at_caches(Path.home())
    yield from machine.look_at_disk(Path.home())
