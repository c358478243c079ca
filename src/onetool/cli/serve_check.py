"""`onetool serve --check`: report what a server would lack; and findings as text, with the fix of each."""

from __future__ import annotations

import os
from argparse import Namespace
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from itertools import chain

from mcp_core.visible_text import visible
from onetool.cli import FAILED, OK
from onetool.cli.printing import Style, paint, say, say_json
from onetool.cli.start import load
from onetool.doctor import Finding, Light
from onetool.doctor.configuration import word_mistake
from onetool.doctor.confinement import look_at_confinement
from onetool.doctor.serving import (
    look_at_address,
    look_at_open_files,
    look_at_people,
    look_at_sealing,
    look_at_store,
    look_at_telemetry,
)
from ot.config.loader import LoadedConfig
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
    return print_findings(_look(options), as_json=options.json)


def _look(options: Namespace) -> Iterator[Finding]:
    loaded, mistakes = load_for_check(options)
    yield from map(word_mistake, mistakes)
    if loaded is None:
        return
    served = for_team(loaded) if loaded.config.auth.in_force else loaded
    parts = (
        look_at_address(served, options.http),
        look_at_people(served),
        look_at_store(served),
        look_at_sealing(served),
        look_at_confinement(served.config.execution, loaded.files[0] if loaded.files else None),
        look_at_open_files(served),
        look_at_telemetry(served, os.environ),
    )
    yield from redacted(chain.from_iterable(parts), loaded)
