"""How dates, times and durations are shown in a cell if nobody says otherwise."""

from __future__ import annotations

import datetime


def format_of(value: object) -> str:
    """Return the number format of a moment."""
    match value:
        case datetime.datetime():
            return "yyyy-mm-dd hh:mm:ss"
        case datetime.date():
            return "yyyy-mm-dd"
        case datetime.time():
            return "hh:mm:ss"
        case _:
            return "[h]:mm:ss"
