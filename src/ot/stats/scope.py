"""The scope of a question: rows since a moment, and of one tool or pack if it names one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PERIODS: Mapping[str, float] = {"day": 86400.0, "week": 7 * 86400.0, "month": 30 * 86400.0, "all": 0.0}  # seconds


@dataclass(frozen=True, slots=True)
class Scope:
    """Conditions for SQL, with `:since` and `:tool` as their parameters."""

    since: float
    tool: str = ""

    @property
    def parameters(self) -> dict[str, object]:
        return {"since": self.since, "tool": self.tool, "pack": f"{self.tool}."}

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
