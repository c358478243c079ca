"""Estimated tokens: the kind of content is seen in a sample, and the figure is near that of o200k."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from ot.stats.tokens import (
    MEDIA_TOKENS,
    WIRE_RATIO,
    Kind,
    classify_text,
    classify_wire,
    estimate,
    take_sample,
)
from ot_kernel.values import Image, encode
from ot_kernel.wire import pack
from tests.tokens import count_tokens

ROOT = Path(__file__).parents[3]
CHANCE = Random(1)
CONTENT: dict[Kind, Any] = {
    Kind.PROSE: (ROOT / "docs" / "extensions.md").read_text()[:5000],
    Kind.CODE: (ROOT / "src" / "ot" / "stats" / "report.py").read_text(),
    Kind.DATA: [{"id": n, "name": f"item {n}", "done": n % 2 == 0, "tags": ["alpha", "beta"]} for n in range(80)],
    Kind.NUMBERS: [CHANCE.randrange(10**5) for _ in range(400)],
    Kind.OPAQUE: base64.b64encode(CHANCE.randbytes(2000)).decode(),
    Kind.ALPHABET: "Статистика считает каждый вызов и каждый ответ, и делает это очень быстро. " * 10,
    Kind.CJK: "统计模块记录每一次调用和每一个回答，并根据字节数来估算它们的成本。" * 10,
}


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def on_the_wire(value: Any) -> bytes:
    return pack({"id": 7, "value": encode(value)})


@pytest.mark.parametrize("kind", CONTENT)
def test_the_kind_of_content_is_seen_in_a_sample(kind: Kind) -> None:
    value = CONTENT[kind]

    assert classify_text(take_sample(as_text(value).encode()).decode(errors="replace")) in _like(kind)
    assert classify_wire(take_sample(on_the_wire(value))) in _like(kind)


def _like(kind: Kind) -> set[Kind]:
    """Prose and code pass into each other, and cost nearly the same."""
    return {Kind.PROSE, Kind.CODE} if kind in {Kind.PROSE, Kind.CODE} else {kind}


@pytest.mark.parametrize("kind", CONTENT)
def test_an_estimate_is_within_a_third_of_the_count(kind: Kind) -> None:
    value = CONTENT[kind]
    text, wire = as_text(value), on_the_wire(value)

    counted = count_tokens(text)

    assert estimate(len(text.encode()), classify_text(text[:320])) == pytest.approx(counted, rel=1 / 3)
    assert estimate(len(wire), classify_wire(take_sample(wire)), WIRE_RATIO) == pytest.approx(counted, rel=1 / 3)


def test_a_picture_costs_what_pictures_cost_however_many_bytes_it_has() -> None:
    wire = on_the_wire({"shot": Image(bytes(1_000_000), "image/png")})

    kind = classify_wire(take_sample(wire))

    assert estimate(len(wire), kind, WIRE_RATIO) == MEDIA_TOKENS


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\\", b"\\u12", b'"\\ud800"', b"\xff\xfe" * 200, bytes(range(256)) * 3]
)
def test_any_bytes_have_a_kind(content: bytes) -> None:
    assert classify_wire(take_sample(content)) in Kind


def test_a_sample_is_small() -> None:
    assert len(take_sample(b"x" * 10_000_000)) <= 320
