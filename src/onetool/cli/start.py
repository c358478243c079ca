"""The start of a command: load the configuration, and set up the log."""

from __future__ import annotations

import logging
import os
from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path

from ot.config.loader import LoadedConfig, load_config
from ot.config.paths import kept_log
from ot.errors import ConfigError
from ot.logs import LEVELS, configure_logging


def load(
    options: Namespace, *, quiet: bool = True, tolerant: bool = False, every: list[ConfigError] | None = None
) -> LoadedConfig:
    """Load the configuration and set up the log; raises ConfigError. `tolerant` and `every` as in `load_config`.

    `quiet` keeps all but errors off the terminal of a person, who is told in words what went wrong; a log file gets
    everything.
    """
    home, cwd = Path.home(), Path.cwd()
    loaded = load_config(options.config, environ=os.environ, cwd=cwd, home=home, tolerant=tolerant, every=every)
    log = loaded.config.log
    level = "error" if quiet and log.file is None else log.level
    try:
        keep = kept_log(loaded.home) if log.file is None else None
        tell: Callable[[], Mapping[str, str]] | None = None
        if log.format != "text":
            from ot.telemetry.telemetry import current_trace_ids  # rarely needed

            tell = current_trace_ids
        configure_logging(level, log.file, redact=loaded.redactor.text, together=not quiet, keep=keep, tell=tell)
    except OSError as error:
        raise ConfigError(f"cannot be opened: {error.strerror}", file=log.file, key="log.file") from error
    logging.getLogger("mcp_core").setLevel(LEVELS[level])
    return loaded
