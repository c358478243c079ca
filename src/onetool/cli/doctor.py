"""`onetool doctor`: everything that OneTool stands on, with a light for each thing and the command that mends it."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path

from onetool.cli import FAILED, OK
from onetool.cli.check import find_lost_packs, find_setting_problems
from onetool.cli.confinement import find_confinement_mistakes
from onetool.cli.databases import find_connection_mistakes
from onetool.cli.definitions import read_registry
from onetool.cli.printing import Style, add_json_argument, paint, say, say_json, visible
from onetool.cli.start import load
from onetool.doctor.clients import look_at_clients, look_at_running, own_system
from onetool.doctor.configuration import look_at_configuration, look_at_secrets, look_at_trust, word_mistake
from onetool.doctor.confinement import look_at_confinement
from onetool.doctor.finding import Finding, Light
from onetool.doctor.machine import look_at_caches, look_at_disk, look_at_python, look_at_uv
from onetool.doctor.packs import look_at_packs
from ot.config.loader import LoadedConfig
from ot.config.models import ExecutionSettings
from ot.errors import ConfigError

EPILOG = (
    "Green is as it should be; yellow works, with less than there could be; red does not work. Every server and "
    "extension is started once. Exit status: 0 if nothing is red, else 1."
)
_MARKS: dict[Light, tuple[str, Style]] = {
    Light.GREEN: ("ok  ", "green"),
    Light.YELLOW: ("note", "yellow"),
    Light.RED: ("FAIL", "red"),
}


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--offline", action="store_true", help="start no server and no extension")
    add_json_argument(parser)


def main(options: Namespace) -> int:
    tell: Callable[[Finding], None] = (lambda _: None) if options.json else _Teller()
    findings = []
    for finding in _look(options):
        findings.append(finding)
        tell(finding)
    count = Counter(finding.light for finding in findings)
    if options.json:
        say_json({"ok": not count[Light.RED], "findings": [asdict(finding) for finding in findings]})
    else:
        say(f"{count[Light.GREEN]} green, {count[Light.YELLOW]} yellow, {count[Light.RED]} red")
    return FAILED if count[Light.RED] else OK


def _look(options: Namespace) -> Iterator[Finding]:
    yield from look_at_python()
    yield from look_at_uv(os.environ)
    mistakes: list[ConfigError] = []
    try:
        loaded = load(options, tolerant=True, every=mistakes)
    except ConfigError as mistake:  # of what guards the person: without it nothing is started
        for known in mistakes or [mistake]:
            yield word_mistake(known)
        yield from look_at_confinement(ExecutionSettings(), None)
    else:
        redact = loaded.redactor.text  # a command line to type may hold what a variable stood for
        for each in _look_at_loaded(loaded, mistakes, offline=options.offline):
            yield replace(each, text=redact(each.text), fix=redact(each.fix))
    yield from look_at_clients(own_system())
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
    yield from look_at_packs(loaded, registry, offline=offline)


class _Teller:
    """Tells findings as they come, under the name of their area."""

    def __init__(self) -> None:
        self._area = ""

    def __call__(self, finding: Finding) -> None:
        if finding.area != self._area:
            self._area = finding.area
            say(paint(finding.area, "bold"))
        mark, style = _MARKS[finding.light]
        say(f"  {paint(mark, style)} {visible(' '.join(finding.text.split()))}")
        if finding.fix:
            say(f"       {paint('try:', 'dim')} {visible(finding.fix)}")
