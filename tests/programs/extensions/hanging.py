"""Calls that do not end."""

import asyncio
import os
import re
import time


def _began(started: str) -> None:
    open(started, "w").close()


def sleep(*, started: str) -> None:
    _began(started)
    time.sleep(600)


def hold(*, started: str) -> None:
    """Keeps every other thread of the process from running."""
    _began(started)
    re.fullmatch(r"(a|aa)+b", "a" * 100)


async def wait(*, started: str, ended: str) -> None:
    _began(started)
    try:
        await asyncio.sleep(600)
    finally:
        _began(ended)


async def refuse(*, started: str) -> None:
    _began(started)
    while True:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            pass


def pid() -> int:
    return os.getpid()
