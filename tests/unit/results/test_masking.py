"""Secrets in bytes that come in pieces."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from ot.results.store import mask

SECRETS = ["abcdef", "abcdefghij", "efgh-x", "aaaaaa"]


@given(st.lists(st.sampled_from([*SECRETS, "a", "abcde", "ghij", "-x", "\n", "é"])), st.lists(st.integers(1, 9)))
def test_no_secret_passes_wherever_the_pieces_end(parts: list[str], sizes: list[int]) -> None:
    whole = "".join(parts).encode()
    pieces, start = [], 0
    for size in [*sizes, len(whole)]:
        pieces.append(whole[start : start + size])
        start += size

    masked = b"".join(mask(pieces, SECRETS))

    longest_first = "|".join(map(re.escape, sorted(SECRETS, key=len, reverse=True)))
    assert masked.decode() == re.sub(longest_first, "***", whole.decode())
