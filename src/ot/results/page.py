"""One page: lines from an offset on, as many as wanted and as fit, each short enough to be read."""

from __future__ import annotations

from mcp_core.json_types import Json, JsonObject
from mcp_core.quick_dataclass import dataclass

WIDTH = 2_000  # characters of a line where several are shown
_BEFORE_MATCH = 100  # characters shown in front of a match far inside a line


@dataclass(frozen=True, slots=True)
class Query:
    """A question to a stored result; `room` is how many characters a page may have."""

    offset: int = 1
    limit: int = 100
    search: str = ""
    fuzzy: bool = False
    path: str = ""
    column: int = 1
    room: int = 14_000


class Page:
    """Collects lines that are offered in order; counts those beyond the page too."""

    def __init__(self, query: Query, *, alone: bool = False) -> None:
        """`alone` where there is only one line to show, which may then take all the room."""
        self._query = query
        self.width = query.room if alone or query.limit == 1 else min(WIDTH, query.room)
        self._room = query.room
        self.offered = query.offset - 1 if not query.search else 0
        self.lines: list[str] = []
        self.numbers: list[int] = []
        self.scores: list[float] = []
        self.full = False  # no line more has room

    @property
    def wants_more(self) -> bool:
        """True if another line would be taken."""
        return not self.full and len(self.lines) < self._query.limit

    def offer(self, number: int, text: str, *, length: int | None = None, match: int = 0, score: float = 0) -> None:
        """Take a line if it belongs on the page; with `length`, the line's, `text` already begins at the column."""
        self.offered += 1
        if self.offered < self._query.offset or not self.wants_more:
            return
        shown = self._window(text, length, match)
        if self.lines and len(shown) > self._room:
            self.full = True
            return
        self._room -= len(shown) + 1
        self.lines.append(shown)
        self.numbers.append(number)
        self.scores.append(score)

    def _window(self, text: str, length: int | None, match: int) -> str:
        """Cut a line to what is shown: from the column asked for, or from just before a match that would be hidden."""
        start = self._query.column - 1
        prefix = ""
        if length is None:
            length = len(text)
            if start == 0 and match > self.width - _BEFORE_MATCH:
                start = match - _BEFORE_MATCH
                prefix = f"[from column {start + 1:,}] "
            text = text[start:]
        if len(text) <= self.width:
            return prefix + text
        end = start + self.width
        return (
            f"{prefix}{text[: self.width]}… [{start + 1:,}-{end:,} of {length:,} characters; column={end + 1} reads on]"
        )

    def report(self, total: int, *, skipped: int = 0) -> JsonObject:
        """The page as the answer of `ot.result`; `total` are the lines that there are, matching or not."""
        query, returned = self._query, len(self.lines)
        available = self.offered if query.search else total
        following = query.offset + returned
        report: JsonObject = {
            "lines": list[Json](self.lines),
            "total_lines": total,
            "returned": returned,
            "offset": query.offset,
            "has_more": following <= available,
        }
        if query.search:
            report |= {"matches": self.offered, "numbers": list[Json](self.numbers)}
            if query.fuzzy:
                report["scores"] = [round(score, 1) for score in self.scores]
        if skipped:
            report["skipped"] = skipped
        if self.full:
            report["note"] = f"The page is full after {returned} lines. Continue with offset={following}."
        return report
