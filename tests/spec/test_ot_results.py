"""Stored results as they are specified, through the real server: a handle, its pages, its end."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.raw_server import WAIT, RawServer, start_raw_server

FIVE_HUNDRED = (
    "'\\n'.join(f'line {n}: ' + ('an error' if n % 50 == 0 else 'fine') + ' ' + 'x' * 40 for n in range(1, 501))"
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RawServer]:
    with start_raw_server(tmp_path_factory.mktemp("results"), config="log: {level: info}") as server:
        yield server


@pytest.fixture(scope="module")
def handle(server: RawServer) -> str:
    """The handle of a text of 500 lines."""
    return store(server, FIVE_HUNDRED)


def text_of(result: dict[str, Any]) -> str:
    text: str = result["content"][0]["text"]
    return text


def store(server: RawServer, code: str) -> str:
    """Run something whose answer is too long, and give the handle that the answer names."""
    text = text_of(server.run(code))
    first: dict[str, Any] = yaml.safe_load(text.partition("\n")[0])
    assert len(text.encode()) <= 4096
    return str(first["handle"])


def query(server: RawServer, **arguments: Any) -> dict[str, Any]:
    """Ask for a page, and read the answer as anybody would: it is YAML."""
    result = server.run(f"ot.result({', '.join(f'{name}={value!r}' for name, value in arguments.items())})")
    assert not result.get("isError"), text_of(result)
    page: dict[str, Any] = yaml.safe_load(text_of(result))
    return page


def refusal(server: RawServer, code: str) -> str:
    result = server.run(code)
    assert result["isError"]
    return text_of(result)


def numbers(page: dict[str, Any]) -> list[int]:
    return [int(line.split()[1].rstrip(":")) for line in page["lines"]]


@pytest.mark.scenario("ot/query-stored-results/basic-query-with-defaults")
def test_without_more_the_first_hundred_lines_are_read(server: RawServer, handle: str) -> None:
    assert numbers(query(server, handle=handle)) == list(range(1, 101))


@pytest.mark.scenario("ot/query-stored-results/query-with-offset-and-limit")
def test_offset_and_limit_choose_lines(server: RawServer, handle: str) -> None:
    assert numbers(query(server, handle=handle, offset=101, limit=50)) == list(range(101, 151))


@pytest.mark.scenario("ot/query-stored-results/query-with-search-filter")
def test_search_gives_the_lines_that_match_and_pages_through_them(server: RawServer, handle: str) -> None:
    everything = query(server, handle=handle, search="error")
    some = query(server, handle=handle, search="err.r", offset=3, limit=2)

    assert numbers(everything) == list(range(50, 501, 50))
    assert numbers(some) == [150, 200]
    assert (some["has_more"], some["matches"], some["total_lines"]) == (True, 10, 500)
    assert some["numbers"] == [150, 200]


@pytest.mark.scenario("ot/query-stored-results/query-with-fuzzy-matching")
def test_fuzzy_search_gives_similar_lines_the_best_first(server: RawServer) -> None:
    words = ["something else entirely", "the configuraton has a typo", "a configuration", "confetti"]
    handle = store(server, f"'\\n'.join({words!r} + ['nothing like it ' * 10] * 300)")

    page = query(server, handle=handle, search="config", fuzzy=True)

    assert "a configuration" in page["lines"]
    assert "the configuraton has a typo" in page["lines"]
    assert page["scores"] == sorted(page["scores"], reverse=True)


@pytest.mark.scenario("ot/query-stored-results/invalid-handle")
@pytest.mark.parametrize("wrong", ["nonexistent", "../../../etc/passwd", "abcdefghjk", "", "a\0b", "x" * 5000])
def test_a_handle_that_never_was_is_not_found(server: RawServer, wrong: str) -> None:
    assert "not found" in refusal(server, f"ot.result(handle={wrong!r})")


@pytest.mark.scenario("ot/query-stored-results/expired-handle")
def test_a_result_that_is_too_old_has_expired(tmp_path: Path) -> None:
    with start_raw_server(tmp_path, config="results: {keep_for: 0.3}") as server:
        handle = store(server, FIVE_HUNDRED)
        code = f"ot.result(handle={handle!r})"
        deadline = time.monotonic() + WAIT
        while not server.run(code).get("isError") and time.monotonic() < deadline:
            pass

        assert "has expired" in refusal(server, code)
        assert "has expired" in refusal(server, f"ot.load(handle={handle!r})")


@pytest.mark.scenario("ot/query-stored-results/query-response-format")
def test_a_page_tells_what_it_is_a_page_of(server: RawServer, handle: str) -> None:
    page = query(server, handle=handle, offset=499)

    assert {name: page[name] for name in ("total_lines", "returned", "offset", "has_more")} == {
        "total_lines": 500,
        "returned": 2,
        "offset": 499,
        "has_more": False,
    }
    assert len(page["lines"]) == 2
    assert query(server, handle=handle, offset=498, limit=2)["has_more"]
    assert query(server, handle=handle, offset=501)["lines"] == []


@pytest.mark.scenario("ot/query-stored-results/1-indexed-offset")
def test_the_first_line_is_line_one(server: RawServer, handle: str) -> None:
    assert numbers(query(server, handle=handle, offset=1, limit=1)) == [1]


@pytest.mark.scenario("ot/query-stored-results/offset-validation")
@pytest.mark.scenario("ot/query-stored-results/limit-validation")
@pytest.mark.parametrize(
    ("argument", "message"),
    [("offset=0", "offset must be >= 1 (1-indexed), got 0"), ("limit=0", "limit must be >= 1, got 0")],
)
def test_what_cannot_be_an_offset_or_a_limit_is_a_value_error(
    server: RawServer, handle: str, argument: str, message: str
) -> None:
    code = (
        f"try:\n    ot.result(handle={handle!r}, {argument})\nexcept ValueError as error:\n    said = str(error)\nsaid"
    )

    assert text_of(server.run(code)) == message
    assert refusal(server, f"ot.result(handle={handle!r}, {argument})").startswith(f"ValueError: {message}\n")


@pytest.mark.scenario("ot/result-query-logging/span-naming")
def test_a_query_is_one_span_with_what_was_asked(server: RawServer, handle: str) -> None:
    query(server, handle=handle, offset=2, limit=3)
    query(server, handle=handle, search="error")

    server.wait_for_log(f"handle={handle} offset=2 limit=3 returned=3")
    server.wait_for_log(f"handle={handle} offset=1 limit=100 search=error")
    spans = [line for line in server.log if re.search(r"\bot\.result status=ok ms=[\d.]+ handle=", line)]
    assert any(f"handle={handle} offset=2 limit=3 returned=3" in line for line in spans)
    assert any(f"handle={handle} offset=1 limit=100 search=error" in line for line in spans)


def test_a_value_keeps_its_structure(server: RawServer) -> None:
    code = "{'items': [{'id': n, 'day': __import__('datetime').date(2024, 1, 1 + n % 28)} for n in range(5000)], 'total': 5000}"
    handle = store(server, code)

    page = query(server, handle=handle, path="items[*].id", offset=4999)
    loaded = server.run(f"x = ot.load(handle={handle!r})\nx['total'], len(x['items']), x['items'][27]['day'].day")

    assert page["lines"] == ["- 4998", "- 4999"]
    assert page["total_lines"] == 5000
    assert yaml.safe_load(text_of(loaded)) == [5000, 5000, 28]
    assert "items has 5,000 items, and none at 5000" in refusal(
        server, f"ot.result(handle={handle!r}, path='items[5000]')"
    )


def test_a_pattern_that_never_ends_is_stopped_while_others_are_answered(server: RawServer) -> None:
    handle = store(server, "'a' * 50 + '!' + '\\n' + 'b' * 100_000")

    waiting = server.start_run(f"ot.result(handle={handle!r}, search='(a|aa)+$')")
    assert server.request("ping")["result"] == {}
    server.send({"method": "notifications/cancelled", "params": {"requestId": waiting}})

    assert text_of(server.run("1 + 1")) == "2"


def test_what_is_printed_too_long_is_stored_too(server: RawServer) -> None:
    text = text_of(server.run("for n in range(20_000): print('line', n)\n'done'"))

    found = re.search(r'20,000 lines were printed.*ot\.result\(handle="(\w+)"\)', text)
    assert found
    assert text.startswith("line 0\n")
    assert text.endswith("line 19999\ndone")
    assert len(text.encode()) <= 4096
    assert query(server, handle=found[1], offset=12_346, limit=1)["lines"] == ["line 12345"]
