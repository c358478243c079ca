"""The cache of what servers said about themselves: a server need not be running for its tools to be known."""

from __future__ import annotations

import json
import logging
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from mcp_core.atomic_write import write_private
from mcp_core.json_types import JsonObject
from ot.logs import write_log
from ot.store.forms import FORM, check_form

Era = Literal["handshake", "sessionless"]

_FORM = 1  # of the file; one of another form is ignored
_STALE = 30 * 24 * 3600.0  # seconds
_MOST_BYTES = 64 * 1024 * 1024
_PLAIN = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Offer:
    """A server's offer: its tools as `tools/list` gave them, and its instructions for their use.

    Its prompts are None until somebody lists them.
    """

    tools: tuple[JsonObject, ...] = ()
    instructions: str = ""
    title: str = ""
    era: Era = "handshake"
    prompts: tuple[JsonObject, ...] | None = None
    version: str = ""  # of the program; told to nobody


@dataclass(frozen=True, slots=True)
class DefinitionCache:
    """One file per server, named by the digest of its configuration."""

    folder: Path

    def holds(self, server: str, digest: str) -> bool:
        """True if there is a file to read; a mere `stat`, to keep the start short."""
        return self._place(server, digest).is_file()

    def read(self, server: str, digest: str) -> Offer | None:
        """Read what was written last; None if there is nothing usable."""
        file = self._place(server, digest)
        try:
            if file.stat().st_size > _MOST_BYTES:
                raise ValueError("it is too large")
            return _read_offer(json.loads(file.read_bytes()))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError, KeyError, TypeError) as error:
            write_log(logging.WARNING, "proxy.cache", server=server, ignored=file, reason=str(error))
            return None

    def write(self, server: str, digest: str, offer: Offer) -> None:
        """Remember an offer; if that fails, the server is asked again at the next start."""
        file = self._place(server, digest)
        try:
            write_private(file, json.dumps({FORM: _FORM, **asdict(offer)}, separators=(",", ":")))
            for older in file.parent.glob(f"{_plain(server)}.*.json"):
                if older != file and _is_stale(older, file):
                    older.unlink(missing_ok=True)
        except (OSError, ValueError, RecursionError) as error:
            write_log(logging.WARNING, "proxy.cache", server=server, not_written=file, reason=str(error))

    def _place(self, server: str, digest: str) -> Path:
        return self.folder / f"{_plain(server)}.{digest}.json"


def _is_stale(older: Path, newer: Path) -> bool:
    """True if that configuration has not been used for a month; other projects have files of their own."""
    return newer.stat().st_mtime - older.stat().st_mtime > _STALE


def _plain(server: str) -> str:
    return _PLAIN.sub("-", server)[:60]


def _read_offer(found: object) -> Offer:
    found = check_form(found, _FORM)
    era: Era = "sessionless" if found["era"] == "sessionless" else "handshake"
    prompts = _read_items(found["prompts"], "prompts") if found.get("prompts") is not None else None
    tools, version = _read_items(found["tools"], "tools"), str(found.get("version", ""))
    return Offer(tools, str(found["instructions"]), str(found["title"]), era, prompts, version)


def _read_items(found: object, what: str) -> tuple[JsonObject, ...]:
    if not isinstance(found, list) or not all(isinstance(t, dict) and isinstance(t.get("name"), str) for t in found):
        raise ValueError(f"its {what} are malformed")
    return tuple(found)
