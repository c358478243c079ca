"""A run that a client has asked for before the server itself could take its request."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache

from onetool.porch.requests import Request, begin_answer, frame_result

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_CLOSED = b'"error":{"code":-32000,"message":"Connection closed"}}\n'


class EarlyRun:
    """One request, its answer and what is said meanwhile in the server's own form; `send` brings lines to the client.

    `frame` is the result of another run, without its text. `stop` is set by whoever carries the run out.
    """

    def __init__(
        self,
        request: Request,
        command: str,
        introduction: Request,
        frame: str,
        send: Callable[[bytes], None],
        on_answered: Callable[[EarlyRun], None],
    ) -> None:
        self.id = request.id
        self.command = command
        self.client = introduction.client.get("name")
        self.introduction = introduction
        self.stop: Callable[[], None] = lambda: None
        self._token = request.token
        self._frame = frame
        self._send = send
        self._on_answered = on_answered

    def report(self, step: float, message: str | None) -> None:
        """Tell the client how far it is, if it wants to hear of that."""
        if self._token is not None:
            params = {"progressToken": self._token, "progress": step, "message": message}
            self._send(_dump({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}) + b"\n")

    def answer(self, text: str, *, is_error: bool) -> None:
        """Answer the client."""
        result = _template_of(self._frame) % {
            "text": _ENCODER.encode(text),
            "is_error": "true" if is_error else "false",
        }
        self._send(frame_result(self.id, result))
        self._on_answered(self)

    def refuse(self) -> None:
        """Tell the client that the server ends first."""
        self._send(begin_answer(self.id) + _CLOSED)
        self._on_answered(self)


@lru_cache(maxsize=8)
def _template_of(frame: str) -> str:
    """Return a frame with places for a text and for whether it is an error, since every run is answered with it."""
    result = json.loads(frame)
    result["content"][0]["text"], result["isError"] = places = "\0text", "\0is_error"
    template = _ENCODER.encode(result).replace("%", "%%")
    for place in places:
        template = template.replace(_ENCODER.encode(place), f"%({place[1:]})s")
    return template


def _dump(value: object) -> bytes:
    return _ENCODER.encode(value).encode()


def frame_of(result: str) -> str | None:
    """Return the result of a run without its text; None if there is more in it than a text."""
    found = json.loads(result)
    match found:
        case {"content": [{"type": "text", "text": str(), **more}], "isError": bool()} if not more:
            found["content"][0]["text"] = ""
            return _dump(found).decode()
    return None
