"""The values of a key in words: its default, and what it accepts."""

from __future__ import annotations

from collections.abc import Iterable

import yaml

from ot.config.keys import choices_of, parts_of
from ot.config.providers import check_provider, find_providers
from ot.config.reading import After, Before, Bounds
from ot.config.section import LONGEST, Field
from ot.config.values import LARGEST_MEMORY, SMALLEST_MEMORY, read_size, word_size


def word_value(value: object, field: Field) -> str:
    """A value of this field as YAML on one line; sizes in the largest unit that is exact."""
    if isinstance(value, int) and _is_size(field):
        return word_size(value)
    plain = list(value) if isinstance(value, tuple) else value
    text = yaml.safe_dump(plain, default_flow_style=True, width=10_000, allow_unicode=True, sort_keys=False)
    return text.removesuffix("\n").removesuffix("\n...")


def with_range(words: str, field: Field) -> str:
    """The words of a key, then what it accepts; durations accept the same everywhere, and nothing is said."""
    choices = [f"`{choice}`" for choice in _choices(field)]
    if choices:
        return f"{words}: {', '.join(choices[:-1])} or {choices[-1]}"
    if _is_size(field):
        return f"{words} ({word_size(SMALLEST_MEMORY)} to {word_size(LARGEST_MEMORY)})"
    bounds = [part for part in parts_of(field.annotation) if isinstance(part, Bounds)]
    if not bounds or bounds[-1].le == LONGEST:
        return words
    return f"{words} ({_word_bounds(bounds[-1])})"


def _word_bounds(bounds: Bounds) -> str:
    if bounds.ge is None:
        return f"between {bounds.gt:,} and {bounds.lt:,}"
    return f"{bounds.ge:,} to {bounds.le:,}"


def _is_size(field: Field) -> bool:
    return any(isinstance(part, Before) and part.function is read_size for part in parts_of(field.annotation))


def _choices(field: Field) -> Iterable[str]:
    parts = parts_of(field.annotation)
    of_provider = any(isinstance(part, After) and part.function is check_provider for part in parts)
    return find_providers() if of_provider else choices_of(field.annotation)
