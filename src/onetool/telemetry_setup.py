"""The telemetry of a server, by its configuration.

It is counted if someone can read it, and sent if there is a collector.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from mcp_core.distribution import with_extra
from mcp_core.installation import install_command
from ot.config.loader import LoadedConfig
from ot.logs import write_log
from ot.telemetry.meters import Meters, add_process_figures
from ot.telemetry.telemetry import Telemetry

EXTRA = "telemetry"
# Each of these configures a collector for any program that speaks OTLP.
_COLLECTORS = tuple(f"OTEL_EXPORTER_OTLP_{kind}ENDPOINT" for kind in ("", "TRACES_", "METRICS_"))


def wants_sending(loaded: LoadedConfig, environ: Mapping[str, str]) -> bool:
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
        write_log(logging.WARNING, "telemetry.off", missing=error.name, fix=install_command(with_extra(EXTRA)))
        yield
        return
    with open_sending(telemetry, loaded.config.telemetry.otlp, redact=loaded.redactor.text):
        yield
