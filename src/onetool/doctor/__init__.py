"""Checks of everything that OneTool depends on: each finding is green, yellow or red, with a fix."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Light(StrEnum):
    """Green is fine, yellow works but could be better, red does not work."""

    GREEN = "green"
    YELLOW = "yellow"
    RED = "red"


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding in an area; `fix` is a command to type."""

    area: str
    light: Light
    text: str
    fix: str = ""


def green(area: str, text: str, fix: str = "") -> Finding:
    return Finding(area, Light.GREEN, text, fix)


def yellow(area: str, text: str, fix: str) -> Finding:
    return Finding(area, Light.YELLOW, text, fix)


def red(area: str, text: str, fix: str) -> Finding:
    return Finding(area, Light.RED, text, fix)


def edit(file: Path | None) -> str:
    """Return the command that opens a file in the person's editor."""
    return f"${{EDITOR:-vi}} {shlex.quote(str(file))}" if file is not None else "onetool init"
