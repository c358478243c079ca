"""How far estimated tokens are from those that o200k counts, for each kind of content."""

from __future__ import annotations

import json
from collections.abc import Iterator
from statistics import median
from typing import Any

from bench.report import Line
from bench.servers import Servers
from bench.token_samples import samples
from onetool.front.definition import own_definition
from ot.isolate import IsolateHost
from ot.parts.known_tools import find_built_in_packs, load_registry
from ot.registry.tool_threads import ToolThreads
from ot.stats.tokens import WIRE_RATIO, Kind, classify_text, classify_wire, estimate, take_sample
from tests.tokens import count_tokens

TYPICAL, MEAN = 20, 10  # percent


def measure(_: Servers) -> Iterator[Line]:
    registry = load_registry(find_built_in_packs(), IsolateHost(), ToolThreads())
    for kind, values in samples(registry.model_tools()).items():
        errors = sorted(error for value in values for error in _errors(kind, value))
        if errors:
            yield Line(f"tokens of {kind}, estimated: typical error", median(map(abs, errors)), None, "%", TYPICAL)
            yield Line(f"tokens of {kind}, estimated: mean error", abs(sum(errors) / len(errors)), None, "%", MEAN)
    own = own_definition()
    counted, estimated = count_tokens(own), estimate(len(own.encode()), Kind.DEFINITION)
    yield Line("tokens of our own definition, estimated: error", abs(_percent(estimated, counted)), None, "%", TYPICAL)


def _errors(kind: str, value: Any) -> Iterator[float]:
    """As text, and as a value on the wire; content of unknown kind has to tell its kind by itself."""
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    counted = count_tokens(text)
    encoded = text.encode()
    if kind == Kind.DEFINITION:
        yield _percent(estimate(len(encoded), Kind.DEFINITION), counted)
        return
    sample = take_sample(encoded).decode(errors="replace")
    yield _percent(estimate(len(encoded), classify_text(sample)), counted)
    wire = json.dumps(value, separators=(",", ":")).encode()
    yield _percent(estimate(len(wire), classify_wire(take_sample(wire)), WIRE_RATIO), counted)


def _percent(estimated: float, counted: int) -> float:
    return 100 * (estimated / counted - 1)
