"""References in the values of other clients, such as `${env:TOKEN}`, translated to those of OneTool."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

_REFERENCE = re.compile(r"\$\{([^}\n]*)\}")
_BARE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)", re.ASCII)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_WITH_DEFAULT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*):-(.*)", re.ASCII | re.DOTALL)


class References(Enum):
    """The ways in which clients write a variable inside a value."""

    BRACES = "${NAME}"
    BARE = "$NAME as well"
    NONE = "not at all: every text stands for itself"


@dataclass
class Translator:
    """Translates the values of one server, and collects what is missing.

    `wanted` are variables that are not set, with the reason; `unknown` are references that only the client can fill in.
    """

    environ: Mapping[str, str]
    home: Path
    project: Path
    inputs: Mapping[str, str] = field(default_factory=dict)  # what the client asks a person for, and with which words
    references: References = References.BRACES
    wanted: dict[str, str] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)

    def translate(self, text: str, name: str = "") -> str:
        """Return a value in OneTool's notation; `name` is the variable that it is the value of, if it is one."""
        if self.references is References.NONE:
            return _escaped(text)
        if self.references is References.BARE:
            text = _BARE.sub(r"${\1}", text)
        parts: list[str] = []
        place = 0
        for match in _REFERENCE.finditer(text):
            parts += [_escaped(text[place : match.start()]), self._replacement(match[1], text == match[0], name)]
            place = match.end()
        return "".join([*parts, _escaped(text[place:])])

    def _replacement(self, reference: str, whole: bool, name: str) -> str:  # noqa: FBT001 - a fact about the match
        kind, _, rest = reference.partition(":")
        places = {
            "workspaceFolder": str(self.project),
            "workspaceRoot": str(self.project),
            "workspaceFolderBasename": self.project.name,
            "userHome": str(self.home),
            "pathSeparator": "/",
            "/": "/",
        }
        if reference in places:
            return _escaped(places[reference])
        if kind == "env" and _NAME.fullmatch(rest):
            return self.variable(rest)
        if kind == "input" and rest:
            own = name if whole and _NAME.fullmatch(name) else re.sub(r"\W+", "_", rest, flags=re.ASCII).upper()
            return self.variable(own.lstrip("0123456789") or "INPUT", self.inputs.get(rest, ""))
        if _NAME.fullmatch(reference):
            return self.variable(reference)
        if (match := _WITH_DEFAULT.fullmatch(reference)) is not None:
            return f"${{{match[1]}}}" if match[1] in self.environ else _escaped(match[2])
        self.unknown.append(f"${{{reference}}}")
        return f"$${{{reference}}}"

    def variable(self, name: str, reason: str = "") -> str:
        """Return the reference to a variable of the environment, which must be there or is wanted."""
        if name not in self.environ:
            self.wanted.setdefault(name, reason)
        return f"${{{name}}}"


def _escaped(text: str) -> str:
    """Return text in which nothing is a reference."""
    return text.replace("${", "$${")
