"""Tasks that plain Python in a run does, so that no pack is needed; ot.help says so to those who look for one."""

from __future__ import annotations

from mcp_core.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class PlainPython:
    """One subject: the words that ask for it, and how code does it."""

    words: frozenset[str]
    subject: str
    modules: str
    code: str

    def __str__(self) -> str:
        return (
            f"{self.subject} needs no tool: plain Python in a run does it ({self.modules}).\n"
            f"```python\n{self.code}\n```"
        )


PLAIN_PYTHON = (
    PlainPython(
        frozenset({"clock", "time", "times", "timezone", "timezones", "date", "dates", "datetime", "zoneinfo", "now"}),
        "Getting and converting times",
        "datetime, zoneinfo, calendar",
        "from datetime import UTC, datetime\n"
        "from zoneinfo import ZoneInfo\n"
        'datetime.now(UTC).astimezone(ZoneInfo("Asia/Tokyo")).isoformat()',
    ),
    PlainPython(
        frozenset({"data", "csv", "json", "toml", "tomllib", "sqlite", "sqlite3", "diff", "difflib", "statistics"}),
        "Reading and processing data",
        "csv, json, tomllib, sqlite3, difflib, statistics",
        "import csv, io, statistics\n"
        'rows = list(csv.DictReader(io.StringIO("name,price\\ntea,4.5\\npot,20")))\n'
        'statistics.mean(float(row["price"]) for row in rows)',
    ),
)


def find_plain_python(query: str) -> PlainPython | None:
    """Return what does without a tool what a query asks for, by its only word, or by the pack that it names."""
    word = query.partition(".")[0].strip().casefold()
    return next((plain for plain in PLAIN_PYTHON if word in plain.words), None)
