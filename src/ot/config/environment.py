"""`ONETOOL_*` variables: each overrides one key of the configuration, whatever file sets it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mcp_core.nearest_names import nearest
from ot.config.keys import ANY, Key, dotted, known_keys, nested
from ot.config.layers import Layer
from ot.config.paths import absolute
from ot.errors import ConfigError

PREFIX = "ONETOOL_"
CONFIG_VARIABLE = "ONETOOL_CONFIG"
TOKEN_VARIABLE = "ONETOOL_HTTP_TOKEN"


def settable_variables() -> dict[str, Key]:
    """Variables by name: `ONETOOL_EXECUTION_TIMEOUT` for `execution.timeout`; mappings are set in files only."""
    plain = [key for key in known_keys() if ANY not in key.path and not key.is_mapping]
    return {PREFIX + "_".join(key.path).upper(): key for key in plain}


def read_environment(environ: Mapping[str, str], *, cwd: Path, home: Path) -> list[Layer]:
    """One layer for each variable that has a value; lists are separated by commas, paths are relative to `cwd`."""
    named = [name for name in environ if name.startswith(PREFIX) and name not in (CONFIG_VARIABLE, TOKEN_VARIABLE)]
    settable = settable_variables() if named else {}
    layers: list[Layer] = []
    for name in sorted(named):
        if name not in settable:
            raise ConfigError("unknown variable", key=dotted([name]), fix=_suggest(name, settable))
        if environ[name].strip():
            value = _read_variable(environ[name].strip(), settable[name], cwd=cwd, home=home)
            values = nested(settable[name].path, value)
            layers.append(Layer(name, values, values))
    return layers


def _suggest(name: str, settable: Mapping[str, Key]) -> str:
    """The variables of this name in any section, where that was left out; else the nearest."""
    word = name.removeprefix(PREFIX).lower()
    alike = [other for other, key in settable.items() if key.path[-1] == word]
    if len(alike) > 1:
        return f"the nearest known ones are {', '.join(alike)}"
    return f"the nearest known one is {nearest(name, [*settable, CONFIG_VARIABLE, TOKEN_VARIABLE])[0]}"


def _read_variable(text: str, key: Key, *, cwd: Path, home: Path) -> str | list[str]:
    parts = [part.strip() for part in text.split(",") if part.strip()] if key.is_list else [text]
    if key.is_path:
        parts = [str(absolute(part, folder=cwd, home=home)) for part in parts]
    return parts if key.is_list else parts[0]
