"""The scope of a question: rows since a moment, and of one tool or pack if it names one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mcp_core.quick_dataclass import dataclass

if TYPE_CHECKING:  # the start of a server knows the periods and needs no database
    import sqlite3

PERIODS: Mapping[str, float] = {"day": 86400.0, "week": 7 * 86400.0, "month": 30 * 86400.0, "all": 0.0}  # seconds


@dataclass(frozen=True, slots=True)
class Scope:
    """Conditions for SQL, with `:since`, `:tool` and `:pack` as their parameters, and the database that is asked."""

    connection: sqlite3.Connection
    since: float
    tool: str = ""

    def select(self, statement: str) -> sqlite3.Cursor:
        """Ask the database; the parameters have their values."""
        return self.connection.execute(statement, {"since": self.since, "tool": self.tool, "pack": f"{self.tool}."})

    @property
    def calls(self) -> str:
        """Condition on the table of calls: a tool by its name, or all tools of a pack by that of the pack."""
        if not self.tool:
            return "calls.ended >= :since"
        return "calls.ended >= :since AND (tool = :tool OR substr(tool, 1, length(:pack)) = :pack)"

    @property
    def runs(self) -> str:
        """Condition on the table of runs: with a tool, those that called it."""
        if not self.tool:
            return "runs.ended >= :since"
        return f"runs.ended >= :since AND runs.id IN (SELECT run FROM calls WHERE {self.calls})"
