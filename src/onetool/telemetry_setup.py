"""The telemetry of a server, by its configuration, and a log of stalls.

It is counted if someone can read it, and sent if there is a collector.
"""

from __future__ import annotations

import faulthandler
import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import anyio

from mcp_core.distribution import with_extra
from mcp_core.line_log import log_descriptor
from ot.config.loader import LoadedConfig
from ot.logs import write_log
from ot.telemetry.meters import Meters
from ot.telemetry.process_figures import add_process_figures
from ot.telemetry.telemetry import Telemetry

EXTRA = "telemetry"
# Each of these configures a collector for any program that speaks OTLP.
_COLLECTORS = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
)


def wants_sending(loaded: LoadedConfig, environ: Mapping[str, str]) -> bool:
    """True if a collector is configured."""
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    return loaded.config.telemetry.otlp is not None or any(environ.get(name) for name in _COLLECTORS)


def build_telemetry(loaded: LoadedConfig, environ: Mapping[str, str], *, counted: bool) -> Telemetry:
    """Build the telemetry; nothing is counted if nobody could read it. `counted`: there is a page of metrics."""
    if not counted and not wants_sending(loaded, environ):
        return Telemetry()
    meters = Meters()
    telemetry = Telemetry(meters)
    meters.add_gauge("onetool.run.active", "{run}", "Runs in progress", lambda: telemetry.runs_in_progress)
    add_process_figures(meters)
    return telemetry


@contextmanager
def sending_telemetry(telemetry: Telemetry, loaded: LoadedConfig, environ: Mapping[str, str]) -> Iterator[None]:
    """Send telemetry while this is open, if a collector is configured and the extra is installed."""
    if not wants_sending(loaded, environ):
        yield
        return
    try:
        from ot.telemetry.otlp import open_sending  # noqa: PLC0415 - an extra that takes a fifth of a second to load
    except ModuleNotFoundError as error:
        write_log(logging.WARNING, "telemetry.off", missing=error.name, fix=f"pip install '{with_extra(EXTRA)}'")
        yield
        return
    with open_sending(telemetry, loaded.config.telemetry.otlp, redact=loaded.redactor.text):
        yield


STALL = 2.0  # seconds without a turn of the event loop
_EVERY = STALL / 2


async def name_stalls() -> None:
    """Write the stack of every thread to the log whenever the event loop is blocked, until cancelled.

    A thread of our own could not do that: none runs while C code holds the interpreter lock.
    """
    log = log_descriptor()
    try:
        while True:
            faulthandler.dump_traceback_later(STALL, file=log)
            begun = time.monotonic()
            await anyio.sleep(_EVERY)
            passed = time.monotonic() - begun
            if passed > STALL:
                write_log(logging.WARNING, "loop.stall", seconds=round(passed - _EVERY, 1))
    finally:
        faulthandler.cancel_dump_traceback_later()
