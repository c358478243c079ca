"""How figures grow with what is asked of a server: `make bench-scale` draws a curve of each.

A file is one subject, with a function `measure(session)` that yields its curves; each curve says in a sentence how it
grows and where that changes. Everything is at 127.0.0.1, and a server is measured as it comes.
"""

from __future__ import annotations

from collections.abc import Iterator

from bench.figures import Curve, Session
from bench.scale import (
    calls_in_a_run,
    clients,
    many_runs,
    result_sizes,
    runs_at_once,
    servers_configured,
    tools,
)

SUBJECTS = (runs_at_once, calls_in_a_run, result_sizes, tools, servers_configured, many_runs, clients)


def measure_parts(session: Session) -> Iterator[Curve]:
    """Measure every subject."""
    for subject in SUBJECTS:
        yield from subject.measure(session)
