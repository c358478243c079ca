"""The short names of runs, by which a model, a person and the journal speak of one."""

from __future__ import annotations

import os

ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"  # nothing that looks like something else
LENGTH = 8  # of 850 thousand million: two servers that share a state folder need not ask each other
_RANDOM_BYTES = 16  # far more than the id takes, so that no character is likelier than another
_PAIRS = [first + second for first in ALPHABET for second in ALPHABET]


def new_run_id() -> str:
    """Return a new name for a run, such as `r7k2m9xqd`."""
    number, name = int.from_bytes(os.urandom(_RANDOM_BYTES)), "r"
    for _ in range(LENGTH // 2):
        number, index = divmod(number, len(_PAIRS))
        name += _PAIRS[index]
    return name
