"""The recorder: takes note of answers as the server sends them, and compares them with those that the porch gave."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from onetool.porch.early_run import frame_of
from onetool.porch.requests import (
    CALL,
    LIST,
    REPEATED,
    Conversation,
    Request,
    begin_answer,
    find_result,
    read_command,
    read_request,
)
from ot.logs import write_log

_MOST_LINES = 100  # of a client, in which it asks for all that it asks for at its start
_LONGEST = 200_000  # bytes of an answer, or of a request
_LIST_CHANGED = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'


class Recorder:
    """Sees the lines of both directions. `on_new` is called when there is something to remember.

    A result that the porch has `given`, by the id of its request, is not sent a second time; where it is another one
    by now, everything that is remembered is forgotten, and `on_difference` called.
    """

    def __init__(
        self,
        answers: Mapping[str, str] | None = None,
        frames: Mapping[str, str] | None = None,
        given: Mapping[int | str, str] | None = None,
    ) -> None:
        self.answers = dict(answers or {})
        self.frames = dict(frames or {})
        self.on_new: Callable[[], None] = lambda: None
        self.on_difference: Callable[[], None] = lambda: None
        self.confirmed = False  # all that was given is what the server answers
        self._given = dict(given or {})
        self._differed = False
        self._conversation = Conversation()
        self._asked: dict[bytes, Request] = {}  # by how the line of the answer begins
        self._lines = 0
        self._framed = False  # one result of a run is enough

    def known_frame(self, request: Request) -> tuple[Request, str] | None:
        """Return how the client of a plain run has introduced itself, and the form of the answer, if both are known."""
        key, introduction = self._conversation.frame_key_of(request), self._conversation.introduction
        frame = None if key is None else self.frames.get(key)
        return None if frame is None or introduction is None else (introduction, frame)

    def heard(self, line: bytes) -> None:
        """Take note of a request that may be made again."""
        self._lines += 1
        if self._lines > _MOST_LINES or len(line) > _LONGEST:
            return
        request = read_request(line)
        if request is None or request.id is None:
            return
        self._conversation.note_request(request)
        if request.method in REPEATED or (request.method == CALL and not self._framed):
            self._asked[begin_answer(request.id)] = request

    def said(self, line: bytes) -> bytes:
        """Take note of the answer to such a request."""
        for begin, request in self._asked.items():
            if line.startswith(begin):
                del self._asked[begin]
                return self._note(request, find_result(line, begin), line)
        return line

    def _note(self, request: Request, result: str | None, line: bytes) -> bytes:
        if request.method == CALL:
            self._note_frame(request, result)
            return line
        key = self._conversation.key_of(request)
        given = None if request.id is None else self._given.pop(request.id, None)
        differs = given is not None and given != result
        if result is not None:
            self._conversation.note_answer(request, result)
        self._differed = self._differed or differs
        if differs:
            write_log(logging.WARNING, "porch.difference", method=request.method)
            self.answers.clear()
            self.frames.clear()
            self._framed = False
            self.on_difference()
        elif given is not None and not self._given and not self._differed:
            self.confirmed = True
            self.on_new()
        if key is not None and result is not None and len(result) <= _LONGEST and self.answers.get(key) != result:
            self.answers[key] = result
            self.on_new()
        if given is None:
            return line
        return _LIST_CHANGED if differs and request.method == LIST and not request.sessionless else b""

    def _note_frame(self, request: Request, result: str | None) -> None:
        key = None if read_command(request) is None else self._conversation.frame_key_of(request)
        frame = None if key is None or result is None or len(result) > _LONGEST else frame_of(result)
        if key is None or frame is None:
            return
        self._framed = True
        if self.frames.get(key) != frame:
            self.frames[key] = frame
            self.on_new()
