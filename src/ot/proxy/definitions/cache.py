"""The cache of what servers said about themselves: a server need not be running for its tools to be known."""

from __future__ import annotations

import json
import logging
import re
from dataclasses import asdict
from typing import Literal

from mcp_core.json_types import Json, JsonObject
from mcp_core.quick_dataclass import dataclass
from ot.logs import write_log
from ot.store.forms import FORM, check_form
from ot.store.shelf import Shelf

Era = Literal["handshake", "sessionless"]

_FORM = 1  # of the file; one of another form is ignored
_STALE = 30 * 24 * 3600.0  # seconds
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
    """One document per server, named by the digest of its configuration."""

    shelf: Shelf

    def holds(self, server: str, digest: str) -> bool:
        """True if there is something to read; a mere `stat`, to keep the start short."""
        return bool(self.shelf.state(_name(server, digest)))

    def read(self, server: str, digest: str) -> Offer | None:
        """Read what was written last; None if there is nothing usable."""
        name = _name(server, digest)
        try:
            return _read_offer(json.loads(self.shelf.read(name)))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError, KeyError, TypeError) as error:
            write_log(logging.WARNING, "proxy.cache", server=server, ignored=name, reason=str(error))
            return None

    def write(self, server: str, digest: str, offer: Offer) -> None:
        """Remember an offer; if that fails, the server is asked again at the next start. Blocking."""
        name = _name(server, digest)
        try:
            self.shelf.write(name, json.dumps({FORM: _FORM, **asdict(offer)}, separators=(",", ":")).encode())
            # Other configurations of the same name; other projects have documents of their own.
            self.shelf.forget_unused(f"{_plain(server)}.*.json", seconds=_STALE)
        except (OSError, ValueError, RecursionError) as error:
            write_log(logging.WARNING, "proxy.cache", server=server, not_written=name, reason=str(error))


def _name(server: str, digest: str) -> str:
    return f"{_plain(server)}.{digest}.json"


def _plain(server: str) -> str:
    return _PLAIN.sub("-", server)[:60]


def _read_offer(document: Json) -> Offer:
    found = check_form(document, _FORM)
    era: Era = "sessionless" if found["era"] == "sessionless" else "handshake"
    prompts = _read_items(found["prompts"], "prompts") if found.get("prompts") is not None else None
    tools, version = _read_items(found["tools"], "tools"), str(found.get("version", ""))
    return Offer(tools, str(found["instructions"]), str(found["title"]), era, prompts, version)


def _read_items(found: object, what: str) -> tuple[JsonObject, ...]:
    if not isinstance(found, list) or not all(isinstance(t, dict) and isinstance(t.get("name"), str) for t in found):
        raise ValueError(f"its {what} are malformed")
    return tuple(found)
