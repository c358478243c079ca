"""Loads the configuration: finds the files, reads them in layers, checks each one and merges them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from pydantic import ValidationError

from mcp_core.nearest_names import nearest
from ot.config.environment import CONFIG_VARIABLE, TOKEN_VARIABLE, read_environment
from ot.config.keys import Key, known_keys
from ot.config.layers import Layer, LayerReader, merge
from ot.config.mistakes import UNFINISHED, explain
from ot.config.models import Config
from ot.config.paths import CONFIG_FILE, SECRETS_FILE, absolute, find_file, find_places
from ot.config.secrets import Secrets, read_secrets
from ot.config.variables import Variables
from ot.errors import ConfigError
from ot.redaction import Redactor


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """The configuration and where it came from; `files` are those read, nearest first, without secrets.

    `redactor` is the one that logs and answers share: what either learns is hidden by both.
    """

    config: Config
    secrets: Secrets
    redactor: Redactor
    files: tuple[Path, ...]
    project: Path
    # The same places as they are by then; raises ConfigError. Not shown: it holds the environment.
    read_again: Callable[[], LoadedConfig] = field(repr=False, compare=False)
    home: Path = field(default_factory=Path.home)


def load_config(explicit: Path | None = None, *, environ: Mapping[str, str], cwd: Path, home: Path) -> LoadedConfig:
    """Read everything that applies to `cwd`, or raise one ConfigError.

    `ONETOOL_*` variables come first, then the project's file, then the person's in `home`, then the defaults. A file
    named by `explicit` or `ONETOOL_CONFIG` takes the place of both files; the person's secrets still apply. Mappings
    are merged key by key at every depth, lists and single values replace what stands farther away.
    """
    cwd, home = cwd.absolute(), home.absolute()
    keys = known_keys()
    named = _named_file(explicit, environ, cwd=cwd, home=home)
    places = find_places(cwd=cwd, home=home, named=named)
    folders = [places.project_folder, places.home_folder] if named is None else [named.parent]

    secrets = _read_secrets([*folders, places.home_folder])
    variables = Variables(secrets, environ)
    reader = LayerReader(variables, home=home, keys=keys)
    layers = read_environment(environ, cwd=cwd, home=home, keys=keys)
    for folder in folders:
        layers += reader.read(folder, named or find_file(folder, CONFIG_FILE))

    token = environ.get(TOKEN_VARIABLE, "")
    known = Secrets(secrets, environ=environ, substituted={*variables.substituted, token})
    return LoadedConfig(
        config=_build(layers, keys),
        secrets=known,
        redactor=Redactor(known.known_values()),
        files=tuple(layer.source for layer in layers if isinstance(layer.source, Path)),
        project=places.project,
        read_again=partial(load_config, explicit, environ=environ, cwd=cwd, home=home),
        home=home,
    )


def _named_file(explicit: Path | None, environ: Mapping[str, str], *, cwd: Path, home: Path) -> Path | None:
    text = str(explicit) if explicit is not None else environ.get(CONFIG_VARIABLE, "").strip()
    return absolute(text, folder=cwd, home=home) if text else None


def _read_secrets(folders: Sequence[Path | None]) -> dict[str, str]:
    found = [find_file(folder, SECRETS_FILE) for folder in folders]
    return read_secrets(dict.fromkeys(file for file in found if file is not None))


def _build(layers: Sequence[Layer], keys: Sequence[Key]) -> Config:
    """Merge the layers; each is checked by itself first, so that a mistake is found in its own file.

    That finds also what a nearer layer covers. Only what is still unfinished can then be wrong with the whole.
    """
    merged: dict[object, object] = {}
    for layer in reversed(layers):  # without any, nothing has to be validated, nor a validator built
        _validate(layer.values, [layer], keys, leave_out=UNFINISHED)
        merged = merge(merged, layer.values)
    config = (_validate(merged, layers, keys) if merged else None) or Config.model_construct()
    _check_aliases(config, layers)
    return config


def _validate(
    values: Mapping[object, object], layers: Sequence[Layer], keys: Sequence[Key], *, leave_out: Collection[str] = ()
) -> Config | None:
    try:
        return Config.model_validate(values)
    except ValidationError as exc:
        mistake = explain(exc, layers, keys=keys, leave_out=leave_out)
    if mistake is not None:
        raise mistake  # outside the handler, so that the values in pydantic's error are not carried along
    return None


def _check_aliases(config: Config, layers: Sequence[Layer]) -> None:
    """Check that a target without a dot is another alias; circles among aliases are found when they are used."""
    named = [(layer.source, layer.values.get("aliases")) for layer in layers if isinstance(layer.source, Path)]
    for name, target in config.aliases.items():
        if "." in target or target in config.aliases:
            continue
        others = nearest(target, (other for other in config.aliases if other != name))
        raise ConfigError(
            f'"{target}" is neither a tool nor another alias',
            file=next((file for file, aliases in named if isinstance(aliases, dict) and name in aliases), None),
            key=f"aliases.{name}",
            fix='write it as pack.tool, for example "brave.web_search"' + (f", or {others[0]}" if others else ""),
        )
