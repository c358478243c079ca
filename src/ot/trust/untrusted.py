"""The parts of a project that nobody has trusted: known by name, but not used."""

from __future__ import annotations

import shlex
from pathlib import Path

from mcp_core.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Untrusted:
    """The configuration of a project, as far as it is not in force; its tools are listed elsewhere."""

    project: Path
    files: tuple[str, ...] = ()  # nobody has trusted them: not read, or only for names
    changed: tuple[str, ...] = ()  # in force as they were when they were trusted
    broken: tuple[str, ...] = ()  # what is wrong with files that nobody has trusted
    servers: tuple[str, ...] = ()
    snippets: tuple[str, ...] = ()
    aliases: frozenset[str] = frozenset()  # these are read, and give way to everything else

    def __bool__(self) -> bool:
        return bool(self.files or self.changed)

    @property
    def remedy(self) -> str:
        """The command that a person can type."""
        return trust_command(self.project)


def trust_command(project: Path) -> str:
    """Return the command that shows a project to a person and asks whether to trust it."""
    return f"onetool trust {shlex.quote(str(project))}"
