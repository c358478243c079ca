"""How long a service asks to be left alone, in every form that it may have."""

from __future__ import annotations

import pytest

from ot_packs.net.calling import seconds_to_wait

NOW = 1_800_000_000.0  # 15 January 2027, 08:00:00 GMT


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 0.5 "}, 0.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "Fri, 15 Jan 2027 08:00:30 GMT"}, 30.0),
        ({"retry-after": "Fri, 15 Jan 2027 09:00:30 +0100"}, 30.0),
        ({"retry-after": "Fri, 15 Jan 2027 07:00:00 GMT"}, 0.0),
        ({"retry-after": str(NOW + 12)}, 12.0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Fri, 99 Jan 2027 08:00:30 GMT"}, None),
        ({"retry-after-ms": "250", "retry-after": "3"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "3"}, 3.0),
        ({"x-ratelimit-remaining": "0, 14", "x-ratelimit-reset": "1, 900"}, 1.0),
        ({"x-ratelimit-remaining": "0, 0", "x-ratelimit-reset": "1, 900"}, 900.0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(NOW) + 60)}, 60.0),
        ({"x-ratelimit-remaining": "5", "x-ratelimit-reset": "60"}, None),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "soon"}, None),
        ({"x-ratelimit-reset": "60"}, None),
    ],
    ids=str,
)
def test_a_wait_is_read_from_whichever_header_tells_it(headers: dict[str, str], seconds: float | None) -> None:
    assert seconds_to_wait(headers, clock=lambda: NOW) == seconds


@pytest.mark.parametrize(
    ("body", "seconds"),
    [
        (b'{"error": {"details": [{"@type": "x"}, {"retryDelay": "34.5s"}]}}', 34.5),
        (b'{"error": {"details": [{"retryDelay": "0s"}]}}', 0.0),
        (b'{"error": {"details": [{"retryDelay": "-1s"}, {"retryDelay": 7}, {"retryDelay": {}}]}}', 7.0),
        (b'{"error": {"details": {"retryDelay": "1s"}}}', None),
        (b'{"error": "retryDelay"', None),
        (b"", None),
    ],
    ids=str,
)
def test_a_wait_is_read_from_the_details_of_an_error(body: bytes, seconds: float | None) -> None:
    assert seconds_to_wait({}, body) == seconds
    assert seconds_to_wait({"retry-after": "2"}, body) == 2.0
