"""Displays of an answer behind one interface: a live terminal, or plain text for a pipe."""

from __future__ import annotations

import sys
from typing import Protocol, TextIO

from onetool.console.clean_text import one_line, show_call, show_seconds, write_encodable
from ot.ai import Event, Finished, Retrying, TextDelta, ToolEnded, ToolStarted

NOTES = {
    "length": "The answer reached its token limit (ai.max_tokens).",
    "refused": "The model declined to answer.",
    "rounds": "The model kept asking for tools, so the answer was ended (ai.max_rounds).",
}


class Display(Protocol):
    """Shows answers, one after another: each begins, has events while time passes in ticks and pauses, and ends."""

    def begin(self) -> None: ...
    def show(self, event: Event) -> None: ...
    def tick(self) -> None: ...
    def pause(self) -> None: ...
    def end(self, note: str = "") -> None: ...


class PlainDisplay:
    """For a pipe or a file: the model's words to stdout exactly as they are, everything else to stderr."""

    def __init__(self, answers: TextIO | None = None, notes: TextIO | None = None) -> None:
        self._answers = answers or sys.stdout
        self._notes = notes or sys.stderr
        self._calls: dict[str, ToolStarted] = {}
        self._last = "\n"

    def begin(self) -> None:
        self._calls.clear()

    def show(self, event: Event) -> None:
        match event:
            case TextDelta():
                self._write(event.text)
            case ToolStarted():
                self._end_line()
                self._calls[event.id] = event
            case ToolEnded():
                self._note(describe_end(event, self._calls.get(event.id), 160))
            case Retrying():
                self._end_line()
                self._note(describe_retry(event))
            case Finished() if event.reason in NOTES:
                self._end_line()
                self._note(NOTES[event.reason])

    def tick(self) -> None:
        """Nothing here depends on the time."""

    def pause(self) -> None:
        self._end_line()

    def end(self, note: str = "") -> None:
        self._end_line()
        if note:
            self._note(note)

    def _write(self, text: str) -> None:
        write_encodable(text, self._answers)
        self._last = text[-1:] or self._last

    def _end_line(self) -> None:
        if self._last != "\n":
            self._write("\n")

    def _note(self, text: str) -> None:
        write_encodable(f"{text}\n", self._notes)


def describe_end(event: ToolEnded, call: ToolStarted | None, width: int) -> str:
    mark = "✓" if event.ok else "✗"
    time = show_seconds(event.seconds)
    shown = show_call(event.name, call.arguments if call else {}, max(width - len(time) - 6, 20))
    line = f"{mark} {shown}  {time}"
    return line if event.ok else f"{line}\n  {one_line(event.text, max(width - 4, 20))}"


def describe_retry(event: Retrying) -> str:
    reason = one_line(event.reason, 200)
    then = f"asking {event.provider} instead" if event.provider else f"asking again in {show_seconds(event.seconds)}"
    void = "; the answer starts over" if event.withdrawn else ""
    return f"! {reason}; {then}{void}"
