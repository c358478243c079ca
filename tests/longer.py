"""Examples of a test that are too many for every change."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def long_after(count: int, examples: Iterable[Any]) -> list[Any]:
    """Leave all but the first examples to `make test-long`."""
    return [
        example if number < count else pytest.param(example, marks=pytest.mark.long)
        for number, example in enumerate(examples)
    ]
