"""Answers of runs, their progress, and the results of plain messages, in the protocol's form."""

from __future__ import annotations

import base64
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from mcp_core.distribution import VERSION
from mcp_core.json_types import Json, JsonObject, mapping_of
from mcp_core.quick_dataclass import dataclass, replace
from onetool.front.definition import CAPABILITIES, EXTENSIONS, NAME, view_name, with_views
from onetool.front.messages import HANDSHAKE_REVISIONS, SERVER_INFO, SESSIONLESS_REVISIONS
from ot.clients.caller import Milestone
from ot.run.answer import Answer
from ot.text.output import Attached, escape_surrogates
from ot_kernel.values import Audio, Image, Resource

if TYPE_CHECKING:
    from ot.run.waiting_runs import Waiting

SHOWN_KEY = "onetool/answer"
"""The member of an answer's `_meta` with the data for its view."""
_SINCE = {"audio": "2025-03-26", "resource_link": "2025-06-18"}
"""The revisions that have brought a kind of content; an older client is told in words that it was there."""


def render_answer(answer: Answer, revision: str = "") -> JsonObject:
    """Return the result of a call: text, and what is beside it as far as a client of this revision can show it."""
    attached = answer.attachments
    content: list[Json] = [_fitting(_render(item), revision) for item in attached] if attached else []
    if answer.text or not content:
        content.insert(0, {"type": "text", "text": escape_surrogates(answer.text)})
    result: JsonObject = {"content": content, "isError": answer.is_error}
    if answer.shown is not None:
        result["_meta"] = {SHOWN_KEY: {"tool": view_name(), **answer.shown}}
    return result


def _fitting(block: JsonObject, revision: str) -> JsonObject:
    kind = str(block["type"])
    if not revision or revision >= _SINCE.get(kind, ""):
        return block
    what = block.get("uri") or block.get("mimeType")
    return {"type": "text", "text": f"[{kind.replace('_', ' ')}: {what}; this client's protocol cannot show it]"}


def _render(item: Attached) -> JsonObject:
    match item:
        case Image():
            return {"type": "image", "data": _base64(item.data), "mimeType": item.mime_type}
        case Audio():
            return {"type": "audio", "data": _base64(item.data), "mimeType": item.mime_type}
        case Resource(data=bytes(data)):
            return {"type": "resource", "resource": _describe(item, {"blob": _base64(data)})}
        case Resource(text=str(text)):
            return {"type": "resource", "resource": _describe(item, {"text": escape_surrogates(text)})}
        case Resource():
            return {"type": "resource_link", "name": item.name or item.uri, **_describe(item, {})}
    raise TypeError(f"not an attachment: {type(item).__name__}")


def _describe(item: Resource, content: JsonObject) -> JsonObject:
    described: JsonObject = {"uri": item.uri, **content}
    return described if item.mime_type is None else {**described, "mimeType": item.mime_type}


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


_COMPLETE: JsonObject = {"resultType": "complete"}
FRESH = 60_000  # milliseconds for which a list may be kept; those who listen hear of changes at once
STALE_CURSOR = "Invalid cursor: the list has changed since. List it again from its beginning."


class PlainResults:
    """Results that say who this server is, and in which revision it speaks."""

    def __init__(self, instructions: str) -> None:
        self.revision = ""  # that a handshake has settled
        self._instructions = instructions
        self._info: JsonObject = {"name": NAME, "version": VERSION}

    def initialize(self, asked: str, *, shows: bool = False) -> JsonObject:
        """Settle the revision, which is the one asked for if it is known; a client may `show` views."""
        self.revision = asked if asked in HANDSHAKE_REVISIONS else HANDSHAKE_REVISIONS[-1]
        return {
            "protocolVersion": self.revision,
            "capabilities": with_views(CAPABILITIES) if shows else CAPABILITIES,
            "serverInfo": self._info,
            "instructions": self._instructions,
        }

    def discover(self, *, shows: bool = False) -> JsonObject:
        """Tell a client without a session about this server."""
        capabilities: JsonObject = {**CAPABILITIES, "extensions": EXTENSIONS}
        result: JsonObject = {
            "supportedVersions": list(SESSIONLESS_REVISIONS),
            "capabilities": with_views(capabilities) if shows else capabilities,
            "instructions": self._instructions,
        }
        return self.complete(result, sessionless=True, fresh=FRESH)

    def complete(self, result: JsonObject, *, sessionless: bool, fresh: int | None = None) -> JsonObject:
        """Add what results for clients without a session have beside their content."""
        if not sessionless:
            return result
        cached: JsonObject = {} if fresh is None else {"cacheScope": "private", "ttlMs": fresh}
        beside = mapping_of(result.get("_meta"))
        return {**_COMPLETE, **result, **cached, "_meta": {**beside, SERVER_INFO: self._info}}


PROGRESS_INTERVAL = 0.1  # seconds between two notifications
_COUNT = "~"  # before the number of notifications in a state
_MOST_DIGITS = 9


@dataclass(slots=True)
class ProgressReport:
    """Tells a client how far its run is.

    The protocol wants a number that only grows, and each call counts for itself, so every notification is one
    step and the call's own numbers stand in its message. Notifications in quick succession are left out, but for the
    first and the last of a call. A run that asks in between goes on in another request, which counts on from the number
    that its state ends with: that request may be served by another process.
    """

    send: Callable[[float, float | None, str | None], Awaitable[None]]
    interval: float = PROGRESS_INTERVAL
    clock: Callable[[], float] = time.monotonic
    _steps: int = 0
    _last: float = float("-inf")
    _told: str = ""

    def kept_in(self, outcome: Answer | Waiting) -> Answer | Waiting:
        """Return an outcome in which the state of a run that waits ends with the number of notifications so far."""
        if isinstance(outcome, Answer):
            return outcome
        return replace(outcome, state=f"{outcome.state}{_COUNT}{self._steps}")

    def take_from(self, state: str) -> str:
        """Count on from the number that a state ends with; returns the state without it."""
        found, _, steps = state.rpartition(_COUNT)
        if steps.isascii() and steps.isdigit() and len(steps) <= _MOST_DIGITS:
            self._steps = int(steps)
        return found

    async def __call__(self, done: float, total: float | None, message: str) -> None:
        now, always = self.clock(), isinstance(message, Milestone)
        if now - self._last < self.interval and not always:
            return
        numbers = f"{done:g}" if total is None else f"{done:g}/{total:g}"
        text = f"{message} ({numbers})" if message else numbers
        if always and text == self._told:  # it was heard when it came
            return
        self._last, self._told = now, text
        self._steps += 1
        await self.send(self._steps, None, text)
