"""The names of runs: short, easy to read aloud and to copy, and never the same."""

from __future__ import annotations

import re

from ot.run.live_run import new_run_id


def test_a_name_is_short_and_has_no_look_alikes() -> None:
    names = {new_run_id() for _ in range(2_000)}

    assert len(names) == 2_000
    assert all(re.fullmatch(r"r[2-9a-hjkmnp-z]{8}", name) for name in names)
    assert not any(set(name) & set("01ilo") for name in names)
