"""`onetool serve --check`: report what a server with this configuration would lack."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterator
from itertools import chain

from onetool.cli.findings import load_for_check, print_findings, redacted
from onetool.doctor.configuration import word_mistake
from onetool.doctor.confinement import look_at_confinement
from onetool.doctor.finding import Finding
from onetool.doctor.serving import (
    look_at_address,
    look_at_open_files,
    look_at_people,
    look_at_sealing,
    look_at_store,
    look_at_telemetry,
)
from ot.config.personal import for_team


def check(options: Namespace) -> int:
    """Check everything, and print the findings."""
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
