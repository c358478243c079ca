"""Two recognisers, one decision: free speech for everything, commands where a short command was said.

A free recogniser writes what a sound resembles ("black nephron to nor"); one of commands always finds a command, in a
sentence about the weather too. Neither can be trusted alone, and two facts tell them apart:

- the *confidence* of the command: how little worse it explains the sound than free text does;
- their *agreement*: how similar the letters of both texts are. Misheard commands still look like themselves, other
  sentences do not (less than half of the letters).

Both are added as evidence, in logits. So a very confident command needs no agreement, a doubtful one much of it, and
without commands, or for a long utterance, the free text stands as it is. Where the evidence is weak either way, or
another command is nearly as likely, the command is handed over with the free text, and the person is asked.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
from rapidfuzz.distance import Indel

from mcp_core.quick_dataclass import replace
from ot.errors import VoiceError
from ot.logs import write_log
from ot_voice.audio import seconds_of
from ot_voice.grammar import say_number, spoken_form
from ot_voice.recognisers import Recogniser, Transcript, probability_of

LONGEST_COMMAND = 8.0  # seconds; what is longer is no short command
_EVEN_AGREEMENT = 0.45
_DOUBT = -1.5  # evidence below which nobody is asked
_DECIDING = (
    frozenset(("on", "off")),
    frozenset(("up", "down")),
    frozenset(("lock", "unlock", "locked", "unlocked", "open", "close", "closed")),
    frozenset(say_number(number).split()[0] for number in range(100)),
)
_WEIGHT = 10.0  # of agreement: one tenth more of it counts as much as a logit


class SecondOpinion:
    """A recogniser that asks two others at once; if one fails, the other's word stands. `answers` hears a yes or no."""

    def __init__(self, free: Recogniser, commands: Recogniser, answers: Recogniser) -> None:
        self._free = free
        self._commands = commands
        self._answers = answers

    async def prepare(self) -> None:
        async def prepare_commands() -> None:
            for beside in (self._commands, self._answers):
                with _failure_logged():
                    await beside.prepare()

        failure: VoiceError | None = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(prepare_commands)
            try:
                await self._free.prepare()
            except VoiceError as error:
                failure = error  # raised in the block it would come out as a group
        if failure is not None:
            raise failure

    async def transcribe(self, audio: bytes) -> Transcript:
        if seconds_of(len(audio)) > LONGEST_COMMAND:
            return await self._free.transcribe(audio)
        command: Transcript | None = None

        async def ask() -> None:
            nonlocal command
            with _failure_logged():
                command = await self._commands.transcribe(audio)

        failure: VoiceError | None = None
        free = Transcript("", "")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            try:
                free = await self._free.transcribe(audio)
            except VoiceError as error:
                failure = error
        chosen = free if command is None else choose(free, command)
        if failure is not None and not chosen.text:
            raise failure
        return chosen

    async def hear_answer(self, audio: bytes) -> bool | None:
        """Return a yes if both hear it: a grammar finds one in everything, free speech writes "yes" for "less"."""
        heard = {await self._free.hear_answer(audio), await self._answers.hear_answer(audio)}
        if False in heard:
            return False
        return True if heard == {True} else None


@contextmanager
def _failure_logged() -> Iterator[None]:
    try:
        yield
    except VoiceError as error:
        write_log(logging.WARNING, "voice.second_opinion", part=error.part, reason=error.reason)


def choose(free: Transcript, command: Transcript) -> Transcript:
    """Return the command if the evidence is for it, else the free text; in between, a command that is doubted."""
    if not command.text:
        return free
    likely = min(1 - 1e-9, max(1e-9, command.confidence or 0.0))
    evidence = math.log(likely / (1 - likely))
    if free.text:
        evidence += _WEIGHT * (agreement(free.text, command.text) - _EVEN_AGREEMENT)
    # Both may have a word that decides what happens, such as on and off or a number, and not the same.
    said, meant = ({*spoken_form(text).split()} for text in (free.text, command.text))
    contradicted = any(said & words and meant & words and said & words != meant & words for words in _DECIDING)
    if command.unsure or contradicted:
        evidence = min(evidence, 0.0)
    if evidence < _DOUBT or (evidence <= 0 and not free.text):
        return free
    return replace(command, confidence=probability_of(evidence), doubted="" if evidence > 0 else free.text)


def agreement(one: str, other: str) -> float:
    """Return the share of letters that two texts have in common, in order, from 0 to 1; spaces do not count."""
    return Indel.normalized_similarity(*(spoken_form(text).replace(" ", "") for text in (one, other)))
