"""Log lines that strangers can cause: once a second at most, with the number of lines that were left out."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

from onetool.http.connections import LOGGER

_PAUSE = 1.0  # seconds
_MOST = 100  # kinds of lines to remember
# asyncio tells of connections that it cannot accept, uvicorn of requests that are none.
_LOGGERS = (LOGGER.name, "asyncio", "uvicorn.error")


class OnceASecond(logging.Filter):
    """Passes one line of each kind a second; the next one tells how many were left out."""

    def __init__(self) -> None:
        super().__init__()
        self._kinds: dict[tuple[object, ...], tuple[float, int]] = {}  # when one was passed, how many were not since

    def filter(self, record: logging.LogRecord) -> bool:
        text = str(record.msg)
        kind = (record.name, record.levelno, text.partition("\n")[0], record.exc_info[0] if record.exc_info else None)
        now = time.monotonic()
        passed, left_out = self._kinds.pop(kind, (-_PAUSE, 0))
        if now - passed < _PAUSE:
            self._kinds[kind] = passed, left_out + 1
            return False
        if len(self._kinds) >= _MOST:
            del self._kinds[next(iter(self._kinds))]
        self._kinds[kind] = now, 0
        if left_out:
            record.msg = f"{text} ({left_out} more like this were not logged)"
        return True


@contextmanager
def quiet_log() -> Iterator[None]:
    """Log what comes of strangers once a second, as long as this is open."""
    once_a_second = OnceASecond()
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    for logger in loggers:
        logger.addFilter(once_a_second)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(once_a_second)
