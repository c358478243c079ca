"""The caller of all that a person does outside an MCP client, and the questions that it is asked at a terminal."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

import anyio

from onetool.console.clean_text import clean, write_encodable
from ot.clients.caller import CHOICE_WORDS, Ask, Caller, Choice, ClientMemory, Notes, Progress, Some, Word, calls_of
from ot.clients.person import LOCAL


def make_caller(
    client: str = "",
    *,
    principal: str = LOCAL,
    ask: Ask | None = None,
    progress: Progress | None = None,
    notes: Notes | None = None,
    memory: ClientMemory | None = None,
) -> Caller:
    """Return a caller that is recorded as `client`; by default the person of this machine at a command line."""
    memory = ClientMemory() if memory is None else memory
    return Caller(client=client, principal=principal, ask=ask, progress=progress, notes=notes, memory=memory)


_NUMBERS, _NUMBER = re.compile(r"\d{1,3}(?:[\s,]+\d{1,3})*"), re.compile(r"\d+")
_KEYS = {"y": Choice.ONCE, "r": Choice.RUN, "c": Choice.CLIENT}


def word_choices(question: str, choices: Sequence[Choice]) -> tuple[str, str]:
    """Return a question with its choices, and the prompt below it."""
    keys = {key: choice for key, choice in _KEYS.items() if choice in choices}
    explained = [f"  {key}  {CHOICE_WORDS[choice]}" for key, choice in keys.items()] if len(keys) > 1 else []
    if calls_of(choices):
        explained.append("  1 3  Yes, once, to the calls with these numbers")
    return "\n".join([clean(question), *explained]), f"Allow it? [{'/'.join(keys)}/N] "


def read_choice(answer: str, choices: Sequence[Choice]) -> Choice | Some | None:
    """Return what an answer chooses; None is a no."""
    word = answer.strip().lower()
    if _NUMBERS.fullmatch(word) and (calls := calls_of(choices)):
        return Some(frozenset({int(number) - 1 for number in _NUMBER.findall(word)} & {*range(len(calls))}))
    choice = _KEYS.get("y" if word == "yes" else word)
    return choice if choice in choices else None


def ask_at_terminal() -> Ask | None:
    """Return a function that asks the person at this terminal, one question at a time; None if there is nobody."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    turn = anyio.Lock()

    async def ask(question: str, choices: Sequence[Choice]) -> Word:
        async with turn:
            import termios  # noqa: PLC0415 - not on Windows, where this module is loaded to say that runs need Linux

            termios.tcflush(sys.stdin, termios.TCIFLUSH)  # what was typed before the question is no answer to it
            write_encodable("\n".join(word_choices(question, choices)), sys.stderr)
            sys.stderr.flush()
            await anyio.wait_readable(sys.stdin)
            return read_choice(sys.stdin.buffer.readline().decode(errors="replace"), choices)

    return ask
