"""Ten tools that every contestant offers: plain functions of the standard library."""

from __future__ import annotations

import hashlib
import json
from datetime import date


def upper(*, text: str) -> str:
    """Write a text in capital letters.

    Args:
        text: Any text.
    """
    return text.upper()


def reverse(*, text: str) -> str:
    """Write a text backwards.

    Args:
        text: Any text.
    """
    return text[::-1]


def repeat(*, text: str, count: int) -> str:
    """Write a text many times over.

    Args:
        text: Any text.
        count: How many times.
    """
    return text * count


def count_words(*, text: str) -> int:
    """Count the words of a text.

    Args:
        text: Any text.
    """
    return len(text.split())


def join(*, parts: list[str], separator: str = ", ") -> str:
    """Join texts to one.

    Args:
        parts: The texts, in order.
        separator: What stands between two of them.
    """
    return separator.join(parts)


def add(*, first: float, second: float) -> float:
    """Add two numbers.

    Args:
        first: A number.
        second: Another number.
    """
    return first + second


def mean(*, numbers: list[float]) -> float:
    """Return the mean of some numbers.

    Args:
        numbers: At least one number.
    """
    return sum(numbers) / len(numbers)


def days_between(*, start: str, end: str) -> int:
    """Count the days from one date to another.

    Args:
        start: A date such as 2026-01-31.
        end: A later date.
    """
    return (date.fromisoformat(end) - date.fromisoformat(start)).days


def checksum(*, text: str) -> str:
    """Return the SHA-256 checksum of a text, in hexadecimal digits.

    Args:
        text: Any text.
    """
    return hashlib.sha256(text.encode()).hexdigest()


def to_json(*, keys: list[str], values: list[str]) -> str:
    """Write keys and their values as a JSON object.

    Args:
        keys: The keys, in order.
        values: The value of each key.
    """
    return json.dumps(dict(zip(keys, values, strict=True)))


TOOLS = (upper, reverse, repeat, count_words, join, add, mean, days_between, checksum, to_json)
