"""Consent by voice: a call is read aloud, and only a clear yes to it counts, for this call alone."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence

import anyio

from ot.clients.caller import Choice
from ot_voice.answer import clean
from ot_voice.audio import Utterance

LONGEST_LINE = 90  # characters of one argument that are read
MOST_LINES = 8
_ASIDE = re.compile(r"\s*\((?:asked because|all of it:) ")  # for the eye: the reason, and where the whole text lies
_DOTS = re.compile(r"(?<=\w)[._](?=\w)")


class SpokenConsent:
    """Asks the person who speaks with the assistant; whoever listens sets `put`, which reads aloud and hears a yes."""

    def __init__(self) -> None:
        self.put: Callable[[str], Awaitable[bool | None]] | None = None
        self._one_at_a_time = anyio.Lock()

    async def ask(self, question: str, choices: Sequence[Choice]) -> Choice | None:
        """Put a question as `ot.clients.caller.Ask` does; a voice can agree to this once and to nothing further."""
        if self.put is None or Choice.ONCE not in choices:
            return None
        async with self._one_at_a_time:
            return Choice.ONCE if await self.put(question) else None


def read_aloud(question: str) -> list[str]:
    """Return the sentences that put a question to a person who listens: shortened, and saying so."""
    lines = [_DOTS.sub(" ", line.strip()) for line in question.splitlines() if line.strip() and not _ASIDE.match(line)]
    shortened = len(lines) > MOST_LINES or any(len(line) > LONGEST_LINE for line in lines)
    spoken = [clean(_shorten(line.replace(" = ", ": "))) for line in lines[:MOST_LINES]]
    return [*filter(None, spoken), *(["This is shortened."] if shortened else []), "Say yes or no."]


def _shorten(line: str) -> str:
    if len(line) <= LONGEST_LINE:
        return line
    return f"{line[: line.rfind(' ', LONGEST_LINE // 2, LONGEST_LINE)]}, and so on"


class OpenQuestion:
    """One question to a live source: nothing counts before it `is_open`, then the first utterance is its answer."""

    def __init__(self) -> None:
        self.said = False
        self.is_open = False
        self._began = anyio.Event()
        self._ended = anyio.Event()
        self._answer: Utterance | None = None

    def begin(self) -> None:
        if self.is_open:
            self._began.set()

    def take(self, utterance: Utterance) -> None:
        if self.is_open and self._answer is None:
            self._answer = utterance
            self.end()

    def end(self) -> None:
        self._began.set()
        self._ended.set()

    async def answer(self, *, patience: float, longest: float) -> Utterance | None:
        """Wait for the answer, begun within `patience` seconds and over after `longest` more; None: there is none."""
        with anyio.move_on_after(patience) as waiting:
            await self._began.wait()
        if not waiting.cancelled_caught:
            with anyio.move_on_after(longest):
                await self._ended.wait()
        return self._answer
