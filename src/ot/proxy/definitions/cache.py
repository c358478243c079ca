"""What servers said of themselves the last time, on disk: a server need not be there for its tools to be known."""

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

Era = Literal["handshake", "sessionless"]

_FORM = 1  # of the file; one of another form is ignored
_STALE = 30 * 24 * 3600.0  # seconds
_MOST_BYTES = 64 * 1024 * 1024
_PLAIN = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Offer:
    """What a server offers: its tools as `tools/list` gave them, and what it says about their use."""

    tools: tuple[JsonObject, ...] = ()
    instructions: str = ""
    title: str = ""
    era: Era = "handshake"


@dataclass(frozen=True, slots=True)
class DefinitionCache:
    """One file a server, named by the digest of its configuration."""

    folder: Path

    def holds(self, server: str, digest: str) -> bool:
        """Whether there is something to read; a `stat`, for the start of the server."""
        return self._place(server, digest).is_file()

    def read(self, server: str, digest: str) -> Offer | None:
        """What was written last; None where there is nothing usable."""
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
        """Remember; where that is not possible, the server is asked again at the next start."""
        file = self._place(server, digest)
        try:
            write_private(file, json.dumps({"form": _FORM, **asdict(offer)}, separators=(",", ":")))
            for older in file.parent.glob(f"{_plain(server)}.*.json"):
                if older != file and _is_stale(older, file):
                    older.unlink(missing_ok=True)
        except (OSError, ValueError, RecursionError) as error:
            write_log(logging.WARNING, "proxy.cache", server=server, not_written=file, reason=str(error))

    def _place(self, server: str, digest: str) -> Path:
        return self.folder / f"{_plain(server)}.{digest}.json"


def _is_stale(older: Path, newer: Path) -> bool:
    """Whether nobody has started with that configuration for a month: other projects have files of their own."""
    return newer.stat().st_mtime - older.stat().st_mtime > _STALE


def _plain(server: str) -> str:
    return _PLAIN.sub("-", server)[:60]


def _read_offer(found: object) -> Offer:
    if not isinstance(found, dict) or found.get("form") != _FORM:
        raise ValueError("it has another form")
    tools = found["tools"]
    if not isinstance(tools, list) or not all(isinstance(t, dict) and isinstance(t.get("name"), str) for t in tools):
        raise ValueError("its tools are none")
    era: Era = "sessionless" if found["era"] == "sessionless" else "handshake"
    return Offer(tuple(tools), str(found["instructions"]), str(found["title"]), era)
