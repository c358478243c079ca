"""What commands begin with: the configuration, and a log that suits them."""

from __future__ import annotations

import logging
import os
from argparse import Namespace
from pathlib import Path
from typing import Any

from ot.app import find_built_in_packs, load_extensions, load_registry
from ot.config.loader import LoadedConfig, load_config
from ot.errors import ConfigError
from ot.isolate import IsolateHost
from ot.logs import LEVELS, configure_logging
from ot.registry.registry import ToolFunction, ToolRegistry
from ot.registry.tool_threads import ToolThreads
from ot.workers.extension import Extension


def load(options: Namespace, *, quiet: bool = True) -> LoadedConfig:
    """Load the configuration and set up the log; raises ConfigError.

    `quiet` keeps the log off the terminal of a person who asked for one thing and is told in words what went wrong;
    a log file gets all of it.
    """
    loaded = load_config(options.config, environ=os.environ, cwd=Path.cwd(), home=Path.home())
    log = loaded.config.log
    level = "error" if quiet and log.file is None else log.level
    try:
        configure_logging(level, log.file, redact=loaded.redactor.text)
    except OSError as error:
        raise ConfigError(f"cannot be opened: {error.strerror}", file=log.file, key="log.file") from error
    logging.getLogger("mcp_core").setLevel(LEVELS[level])
    return loaded


def read_registry(loaded: LoadedConfig) -> ToolRegistry:
    """Read every definition for a command that calls nothing: no process is started."""
    registry = load_registry(find_built_in_packs(), IsolateHost(), ToolThreads())
    load_extensions(registry, loaded, _without_worker)
    return registry


def _without_worker(extension: Extension, tool: str) -> ToolFunction:
    async def call(arguments: dict[str, Any]) -> Any:
        raise NotImplementedError(f"{extension.pack}.{tool}: this command starts no workers")

    return call
