"""The last words of a program that failed, for the error of a tool."""

from __future__ import annotations

import re

from ot.execution.shown_arguments import visible

_PREFIX = re.compile(r"^(?:fatal|error|hint|warning|rg): ")
_LONGEST = 300  # characters of a line
_MOST = 1000  # characters in all


def said(stderr: str) -> str:
    """Return the end of what a program wrote to stderr as one line, with nothing invisible in it."""
    lines = [_PREFIX.sub("", line).strip() for line in stderr.splitlines()]
    return "; ".join(visible(line)[:_LONGEST] for line in lines if line)[-_MOST:]
