"""Ten megabytes as a result: a short answer, a server that answers meanwhile, and nothing lost when it is killed."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

from tests.e2e.raw_server import RawServer, start_raw_server

shared = pytest.mark.xdist_group("large results")  # one server is enough
TEN_MEGABYTES = {
    "one line": "'x' * 10_000_000",
    "100,000 lines": "'\\n'.join(f'line {n:6} ' + 'y' * 88 for n in range(100_000))",
    "100,000 strings": "[f'item {n:6} ' + 'y' * 88 for n in range(100_000)]",
    "20,000 objects": "[{'id': n, 'name': f'name {n}', 'tags': ['a', 'b'], 'text': 'z' * 400} for n in range(20_000)]",
}


def text_of(server: RawServer, request: int) -> str:
    result = server.wait_for_answer(request)["result"]
    text: str = result["content"][0]["text"]
    assert not result.get("isError"), text
    return text


@shared
@pytest.mark.parametrize("name", TEN_MEGABYTES)
def test_ten_megabytes_come_back_as_a_handle_while_others_are_answered(raw_server: RawServer, name: str) -> None:
    waiting = raw_server.start_run(TEN_MEGABYTES[name])
    pings = [raw_server.start_request("ping") for _ in range(20)]

    assert all(raw_server.wait_for_answer(ping)["result"] == {} for ping in pings)
    text = text_of(raw_server, waiting)
    handle = re.match(r"\{handle: (\w+), ", text)
    assert handle
    assert len(text.encode()) <= 4096
    loaded = raw_server.start_run(f"ot.load(handle='{handle[1]}') == {TEN_MEGABYTES[name]}")
    assert text_of(raw_server, loaded) == "True"


def test_a_server_that_is_killed_in_the_middle_loses_no_result_it_has_named(tmp_path: Path) -> None:
    handles: set[str] = set()
    for _ in range(3):
        with start_raw_server(tmp_path) as server:
            waiting = [server.start_run(f"'{n}' * 300_000") for n in range(8)]
            server.wait_for_answer(waiting[0])
            server.process.send_signal(signal.SIGKILL)
            server.wait_for_exit()
            for message in server.messages():
                if message.get("id") in waiting:
                    handles.update(re.findall(r"^\{handle: (\w+)", message["result"]["content"][0]["text"]))

    with start_raw_server(tmp_path) as server:
        sizes = {text_of(server, server.start_run(f"len(ot.load(handle='{handle}'))")) for handle in handles}

    assert len(handles) >= 3
    assert sizes == {"300000"}


@shared
def test_a_result_larger_than_a_file_of_a_run_is_shown_by_its_beginning(raw_server: RawServer) -> None:
    text = text_of(raw_server, raw_server.start_run("'x' * 70_000_000"))

    assert text.startswith("xxxx")
    assert "of 70,000,000 characters shown. The whole could not be stored: File too large." in text
