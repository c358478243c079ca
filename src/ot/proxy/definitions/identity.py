"""The identity of a server: a digest of how it is reached, under which things are remembered about it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from ot.config.models import ServerSettings


def digest_of_configuration(name: str, settings: ServerSettings, *, project: Path) -> str:
    """Return a digest of everything that may change what the server offers; secrets are in it only as a digest."""
    described = {name: vars(settings)[name] for name in ("command", "args", "env", "url", "headers")}
    return _digest([name, described, _folder(settings, project)])


def digest_of_place(name: str, settings: ServerSettings, *, project: Path) -> str:
    """Return a digest of where the server is; a new token or other variables do not change it."""
    return _digest([name, settings.command, settings.args, settings.url, _folder(settings, project)])


def working_folder(settings: ServerSettings, project: Path) -> Path:
    return settings.cwd or project


def _folder(settings: ServerSettings, project: Path) -> str:
    return "" if settings.command is None else str(working_folder(settings, project))


def _digest(described: object) -> str:
    text = json.dumps(described, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
