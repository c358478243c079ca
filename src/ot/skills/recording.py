"""The recorded calls of a skill's example: `NAME.calls.json` beside its file, from which the example is played again.

It holds what code saw, without secrets, and may be shared with the skill; so calls are compared by their arguments,
since digests of the journal are each person's own. What stood behind each tool is kept as a digest of its definition.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from mcp_core.atomic_write import write_file
from mcp_core.json_types import JsonObject
from ot.errors import NewSkillError
from ot.journal.recorded import RecordedCall, describe, read_described
from ot.store.parts import Place

_ENDING = ".calls.json"
_VERSION = 1
_MOST_BYTES = 5_000_000


class Recording(NamedTuple):
    """An example as it was made: its calls, its answer, and a digest of the definition of each tool."""

    example: str
    answer: str
    calls: tuple[RecordedCall, ...]
    definitions: Mapping[str, str]


def recording_of(skill: Path) -> Path:
    return skill.with_suffix(_ENDING)


def write_recording(skill: Path, recording: Recording, fetch: Callable[[Place], bytes]) -> Path:
    """Write the calls of an example, large values included; `fetch` reads those. Raises NewSkillError."""
    facts = {
        "version": _VERSION,
        "example": recording.example,
        "answer": recording.answer,
        "definitions": dict(recording.definitions),
        "calls": [_described(call, fetch, skill.stem) for call in recording.calls],
    }
    text = json.dumps(facts, indent=1)
    if len(text) > _MOST_BYTES:
        most = f"its calls returned {len(text):,} bytes; at most {_MOST_BYTES:,} can be recorded"
        raise NewSkillError(skill.stem, most)
    file = recording_of(skill)
    try:
        write_file(file, text.encode())
    except OSError as error:
        raise NewSkillError(skill.stem, f"{file} cannot be written: {error.strerror}") from error
    return file


def read_recording(skill: Path) -> Recording | None:
    """Read the recorded calls of a skill; None if there are none. Raises ValueError where they make no sense."""
    try:
        content = recording_of(skill).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ValueError(f"it cannot be read: {error.strerror}") from error
    try:
        facts = json.loads(content)
        if facts["version"] != _VERSION:
            raise ValueError(f"its version is {facts['version']}")
        calls = tuple(read_described(call) for call in facts["calls"])
        return Recording(str(facts["example"]), str(facts["answer"]), calls, dict(facts["definitions"]))
    except (LookupError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"it is invalid: {error}") from error


def find_changed(recording: Recording, definition_of: Callable[[str], str | None]) -> Sequence[str]:
    """Say which tools have changed since, or are gone; `definition_of` gives the digest of a tool as it is now."""
    said = []
    for tool, before in sorted(recording.definitions.items()):
        now = definition_of(tool)
        if now is None:
            said.append(f"{tool} is gone")
        elif now != before:
            said.append(f"{tool} has changed since")
    return said


def _described(call: RecordedCall, fetch: Callable[[Place], bytes], skill: str) -> JsonObject:
    try:
        if call.value_at is not None:
            call = replace(call, value=json.loads(fetch(call.value_at)), value_at=None)
        if call.arguments_at is not None:
            call = replace(call, arguments=json.loads(fetch(call.arguments_at)), arguments_at=None)
    except (OSError, ValueError) as error:
        raise NewSkillError(skill, f"the result of {call.tool} is no longer kept") from error
    return describe(replace(call, digest=""))
