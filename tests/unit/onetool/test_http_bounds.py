"""How many connections there may be, by what the process may have open."""

from __future__ import annotations

import pytest

from onetool.http_connections import Bounds, bounds_within
from ot.config.models import HttpSettings


@pytest.mark.parametrize(
    ("open_files", "bounds"),
    [
        (2**63, Bounds(256, 64, 30)),
        (1024, Bounds(256, 64, 30)),
        (512, Bounds(128, 64, 30)),
        (128, Bounds(32, 16, 30)),
    ],
)
def test_half_of_what_may_be_open_is_left_for_others(open_files: int, bounds: Bounds) -> None:
    assert bounds_within(HttpSettings(), open_files) == bounds
    assert bounds.connections + 2 * bounds.unauthenticated <= open_files // 2


def test_the_persons_bounds_hold_where_there_is_room() -> None:
    settings = HttpSettings(connections=8, unauthenticated=8, request_timeout=1)

    assert bounds_within(settings, 1024) == Bounds(8, 8, 1)
    assert bounds_within(settings, 1024).accepted_at_once == 1
