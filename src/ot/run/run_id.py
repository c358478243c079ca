"""The short names of runs, by which a model, a person and the journal speak of one."""

from __future__ import annotations

import os

ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"  # nothing that looks like something else
LENGTH = 8  # of 850 thousand million: two servers that share a state folder need not ask each other
_RANDOM_BYTES = 16  # far more than the id takes, so that no character is likelier than another


def new_run_id() -> str:
    """Return a new name for a run, such as `r7k2m9xqd`."""
    number, characters = int.from_bytes(os.urandom(_RANDOM_BYTES)), ["r"]
    for _ in range(LENGTH):
        number, index = divmod(number, len(ALPHABET))
        characters.append(ALPHABET[index])
    return "".join(characters)
