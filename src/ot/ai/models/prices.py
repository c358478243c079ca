"""The cost of a request, from the prices that the person configured; nothing is assumed."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

from ot.ai.models.model import Spent
from ot.config.models import PriceSettings

PER = 1_000_000  # tokens


def cost_of(spent: Spent, model: str, prices: Mapping[str, PriceSettings]) -> float | None:
    """Return the cost in US dollars; None if any of it has no price."""
    fitting = [pattern for pattern in prices if fnmatchcase(model, pattern)]
    if not fitting:
        return None
    price = prices[max(fitting, key=len)]  # the most specific pattern counts
    parts = [
        (spent.input_tokens, price.input),
        (spent.output_tokens, price.output),
        (spent.cache_read_tokens, price.cache_read),
        (spent.cache_write_tokens, price.cache_write),
    ]
    total = 0.0
    for tokens, dollars in parts:
        if tokens and dollars is None:
            return None
        total += tokens * (dollars or 0.0) / PER
    return total
