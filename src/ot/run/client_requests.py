"""Requests of a detached run to a client, such as a question to its person: whichever client comes answers them.

A question can be answered elsewhere too: in a terminal, or on the dashboard. The first answer counts.
"""

from __future__ import annotations

import asyncio
import math
import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Generic, NamedTuple, Self, TypeVar

import anyio

from mcp_core.json_types import Json, JsonObject
from mcp_core.quick_dataclass import dataclass, replace
from ot.clients.caller import CHOICE_WORDS, Caller, Choice, Choices, Said, Some, Word

HOLD = 600.0  # seconds that a request waits for a client
_MOST_BESIDE = 256 * 1024  # bytes of a file beside a question

Result_co = TypeVar("Result_co", covariant=True)


class NobodyCameError(Exception):
    """No client that can do it has come in time."""


class ClientRequest(Generic[Result_co]):
    """One request: the run awaits `done_by_someone`; clients `do` it, one at a time, or give it back."""

    def __init__(
        self, what: str, able: Callable[[Caller], bool], work: Callable[[Caller], Awaitable[Result_co]], *, hold: float
    ) -> None:
        self.what = what
        self._able = able
        self._work = work
        self._hold = hold
        self._outcome: list[Result_co] | Exception | None = None
        self._done = anyio.Event()
        self._scope = anyio.CancelScope(deadline=anyio.current_time() + hold)
        self._doing: anyio.CancelScope | None = None
        self._idle: Callable[[], bool] = _never_idle

    @property
    def taken(self) -> bool:
        """True while a client does it; one that is a run which only passes it on may have nobody to do it."""
        return self._doing is not None and not self._idle()

    def is_for(self, caller: Caller) -> bool:
        """True if nobody does it, and this client could."""
        return not self.taken and not self._done.is_set() and self._able(caller)

    async def done_by_someone(self) -> Result_co:
        """Wait for the outcome; raises NobodyCameError, and what the client's work raised."""
        try:
            with self._scope:
                await self._done.wait()
        finally:
            if self._doing is not None:
                self._doing.cancel()  # nobody needs the answer any more
        if isinstance(self._outcome, Exception):
            raise self._outcome
        if self._outcome is None:
            raise NobodyCameError
        return self._outcome[0]

    async def do(self, caller: Caller, idle: Callable[[], bool] | None = None) -> None:
        """Do it for the run with the means of a client. What goes wrong belongs to the run.

        While it is `idle`, another client may take it over.
        """
        if self._doing is not None:
            self._doing.cancel()
        self._scope.deadline, self._idle = math.inf, idle or _never_idle
        doing = self._doing = anyio.CancelScope()
        try:
            with doing:
                try:
                    outcome: list[Result_co] | Exception = [await self._work(caller)]
                except Exception as error:  # noqa: BLE001 - raised again in the run
                    outcome = error
                if not self._done.is_set():
                    self._outcome = outcome
                    self._done.set()
        finally:
            if self._doing is doing:
                self._doing = None
                self._scope.deadline = anyio.current_time() + self._hold


def _never_idle() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question of a run as it is shown away from its client; `name` tells it from the other questions of its run."""

    run: str
    name: str
    text: str
    choices: tuple[Choice, ...]
    client: str  # the name of the program that began the run
    since: float  # seconds since the epoch
    until: float  # when it becomes a no
    beside: tuple[str, ...] = ()  # the contents of files that it names, for those who cannot open them
    calls: tuple[str, ...] = ()  # that a person may agree to one by one, in short

    @property
    def offered(self) -> Sequence[Choice]:
        """The choices as whoever asks a person takes them."""
        return Choices(self.choices, self.calls) if self.calls else self.choices

    def takes(self, choice: Choice | Some | None) -> bool:
        """True if this is one of its answers; a no always is."""
        if isinstance(choice, Some):
            return choice.places <= {*range(len(self.calls))}
        return choice is None or choice in self.choices

    def encoded(self) -> JsonObject:
        """Return it as plain JSON, for another process."""
        return {
            "run": self.run,
            "name": self.name,
            "text": self.text,
            "choices": [*map(str, self.choices)],
            "client": self.client,
            "since": self.since,
            "until": self.until,
            "beside": [*self.beside],
            "calls": [*self.calls],
        }

    @classmethod
    def decoded(cls, found: Json) -> Self:
        """Read what another process has sent; raises ValueError."""
        match found:
            case {
                "run": str(run),
                "name": str(name),
                "text": str(text),
                "choices": list(choices),
                "client": str(client),
                "since": int() | float() as since,
                "until": int() | float() as until,
                "beside": list(beside),
                "calls": list(calls),
            }:
                files, listed = tuple(map(str, beside)), tuple(map(str, calls))
                return cls(run, name, text, tuple(map(Choice, choices)), client, since, until, files, listed)
        raise ValueError("another process sent something else than a question")

    def with_files(self, folder: Path) -> Self:
        """Return it with the contents of those files in a folder that it names; blocking."""
        named = re.findall(rf"{re.escape(str(folder))}/([0-9a-f]+\.txt)", self.text)
        found: list[str] = []
        for name in dict.fromkeys(named):
            with suppress(OSError), (folder / name).open("rb") as file:
                text = file.read(_MOST_BESIDE).decode("utf-8", "replace")
                rest = file.seek(0, os.SEEK_END) - _MOST_BESIDE
                found.append(f"{text}\n[{rest:,} more bytes]" if rest > 0 else text)
        return replace(self, beside=tuple(found)) if found else self


class Settled(NamedTuple):
    """The fate of an answer that was given away from the client, in words; `counts` is False if it came too late."""

    counts: bool
    text: str


class PersonRequest(ClientRequest[Word]):
    """A question to a person, which clients with forms and answers from elsewhere compete for."""

    def __init__(self, question: OpenQuestion, work: Callable[[Caller], Awaitable[Word]], *, hold: float) -> None:
        super().__init__(question.text, has_forms, work, hold=hold)
        self.question = question

    @property
    def open(self) -> bool:
        return not self._done.is_set()

    def settle(self, said: Said) -> None:
        """Answer it from elsewhere; a form that shows it to somebody is withdrawn."""
        self._outcome = [said]
        self._done.set()


def has_forms(client: Caller) -> bool:
    """True if a client can put a question to the person in front of it."""
    return client.ask is not None and not client.asked_elsewhere


def word_answer(said: Word) -> str:
    """Word what a person has answered, and how."""
    choice, how = said if isinstance(said, Said) else Said(said)
    if isinstance(choice, Some):
        word = f"Yes, to {len(choice.places)} of the calls"
    else:
        word = CHOICE_WORDS[choice] if choice else "No"
    return ", ".join(filter(None, (word, how)))


def encode_choice(choice: Choice | Some | None) -> Json:
    """Return an answer as plain JSON, for another process."""
    return [*sorted(choice.places)] if isinstance(choice, Some) else None if choice is None else choice.value


def decode_choice(found: object) -> Choice | Some | None:
    """Read what another process has sent; raises ValueError."""
    if isinstance(found, list):
        return Some(frozenset(place for place in found if isinstance(place, int)))
    return None if found is None else Choice(str(found))


_LONGEST_KEY = 200  # characters
_OURS = "question-"  # keys of our own begin with it, and no others


class Questions:
    """The open questions of one run, each under a key. `on_asked` hears of each that is put."""

    def __init__(self) -> None:
        self.on_asked: Callable[[], object] = lambda: None
        self._open: dict[str, tuple[JsonObject, asyncio.Future[JsonObject]]] = {}  # each with the future of its answer
        self._count = 0
        self._used: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._open)

    @property
    def contents(self) -> dict[str, JsonObject]:
        """The questions by their keys, each a method and its parameters."""
        return {key: content for key, (content, _) in self._open.items()}

    async def ask(self, method: str, params: Mapping[str, Json], key: str) -> JsonObject:
        """Put a question, and wait for the answer, whichever request brings it.

        It has the asker's key, or one of ours where that is none, too long, used before, or could pass for one of ours:
        whoever could take our next key would have the client's answer to them count as the answer to our question.
        """
        self._count += 1
        if not 0 < len(key) <= _LONGEST_KEY or key in self._used or key.startswith(_OURS):
            key = f"{_OURS}{self._count}"
        self._used.add(key)
        answer: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
        self._open[key] = {"method": method, "params": dict(params)}, answer
        self.on_asked()
        try:
            return await answer
        finally:
            self._open.pop(key, None)

    def answer(self, words: Mapping[str, JsonObject]) -> None:
        """Pass the answers on; a question without one stays open."""
        for key in self._open.keys() & words.keys():
            _, answer = self._open.pop(key)
            if not answer.done():
                answer.set_result(words[key])
