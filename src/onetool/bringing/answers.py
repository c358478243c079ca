"""The values that a person gives a server that asks for them: texts, and secrets that its entry only refers to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from onetool.bringing.candidate import Candidate, Template, Wanted
from onetool.bringing.installing import Program
from onetool.foreign.entries import ServerEntry


@dataclass(frozen=True)
class Answer:
    """One value, and how the configuration has it: the same, or a reference to a secret."""

    value: str
    written: str

    @classmethod
    def plain(cls, value: str) -> Answer:
        return cls(value, escaped(value))

    @classmethod
    def secret(cls, value: str, name: str) -> Answer:
        return cls(value, f"${{{name}}}")


Answers = Mapping[Wanted, Answer]


def escaped(text: str) -> str:
    """Return a text that stands for itself in the configuration, with nothing of it a reference."""
    return text.replace("${", "$${")


def build_entry(candidate: Candidate, program: Program | None, answers: Answers, *, written: bool) -> ServerEntry:
    """Return the entry of a server, as it is written or, with the values themselves, as it is tried."""

    def fill(template: Template) -> str | None:
        """Return the text; None where a part of it was not given."""
        parts = []
        for part in template:
            if isinstance(part, str):
                parts.append(escaped(part) if written else part)
            elif part in answers:
                parts.append(answers[part].written if written else answers[part].value)
            else:
                return None
        return "".join(parts)

    def fill_all(templates: Mapping[str, Template]) -> dict[str, str]:
        return {name: text for name, each in templates.items() if (text := fill(each)) is not None}

    entry: ServerEntry = {}
    if program is None:
        entry["url"] = fill(candidate.url) or ""
        if headers := fill_all(candidate.headers):
            entry["headers"] = headers
        return entry
    own = [escaped(word) if written else word for word in (program.command, *program.arguments)]
    given = [text for each in candidate.arguments if (text := fill(each)) is not None]
    entry["command"] = own[0]
    if arguments := [*own[1:], *given]:
        entry["args"] = arguments
    if env := fill_all(candidate.env):
        entry["env"] = env
    return entry
