"""A connection to PostgreSQL, and work that is done with one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias, TypeVar

import asyncpg
from asyncpg.pool import PoolConnectionProxy

Given = TypeVar("Given")

Connection: TypeAlias = "PoolConnectionProxy[asyncpg.Record]"

Work: TypeAlias = Callable[[Connection], Awaitable[Given]]
"""Something done on the thread of the link: one statement, or several in a transaction; it raises no OSError itself."""
