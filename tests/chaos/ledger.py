"""What happened, compared with what people were told. Nothing here knows OneTool's code."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from tests.chaos.people import Told

AskFor = Callable[[str, str], Awaitable[str]]
"""Sends a command as a person, and gives the answer, however long it takes."""


def read_ledger(file: Path) -> dict[str, list[str]]:
    """Return the tokens that were made, by the names of effects."""
    made: dict[str, list[str]] = {}
    for line in file.read_text().splitlines() if file.exists() else ():
        name, _, token = line.partition(" ")
        made.setdefault(name, []).append(token)
    return made


def compare(made: dict[str, list[str]], told: Told) -> Iterator[str]:
    """Yield what happened twice, and what somebody was told that never was."""
    for name, tokens in made.items():
        if len(tokens) > 1:
            yield f"the effect {name} happened {len(tokens)} times"
    for name, token in told.tokens.items():
        if token not in made.get(name, ()):
            yield f"the effect {name} was acknowledged with {token}, and never happened"


async def look(told: Told, ask: AskFor) -> list[str]:
    """Look for what was acknowledged, and return what is missing."""
    missing = []
    for name, value in told.kept.items():
        found = await ask(name.removeprefix("kept_"), f"ot.kept(name={name!r})")
        if not found.strip().isdigit() or int(found) < value:
            missing.append(f"{name} was acknowledged as {value}, and is {found[:100]}")
    for handle, (person, mark) in told.results.items():
        found = await ask(person, f"ot.result(handle={handle!r}, limit=1)")
        if mark not in found:
            missing.append(f"the result {handle} of {person} is not there: {found[:100]}")
    return missing
