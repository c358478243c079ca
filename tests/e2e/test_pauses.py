"""A machine that slept, a paused container: the server goes on with its clients, workers, servers and kernels."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
import yaml

from tests.e2e.processes import find_descendants
from tests.e2e.raw_server import RawServer, start_raw_server
from tests.engine import write_extension
from tests.proxied import program

COMMAND = "[demo.upper(text='a'), calm.process(), slow.wait(seconds=0)]"
STOPS = 50


def sleep_for(server: RawServer, seconds: float) -> None:
    """Stop the server and all below it for a while."""
    processes = [server.process.pid, *find_descendants(server.process.pid)]
    for signum in (signal.SIGSTOP, signal.SIGCONT):
        for pid in processes:
            try:
                os.kill(pid, signum)
            except ProcessLookupError:  # a kernel that had ended its run
                pass
        if signum == signal.SIGSTOP:
            time.sleep(seconds)


@pytest.mark.parametrize("seconds", [0.02, pytest.param(2.2, marks=pytest.mark.long)], ids=["a moment", "a stall"])
def test_a_server_that_was_stopped_fifty_times_answers_with_all_that_it_had(tmp_path: Path, seconds: float) -> None:
    write_extension(tmp_path, "calm", "import os\n\ndef process() -> int:\n    return os.getpid()\n")
    config = yaml.safe_dump({"servers": {"slow": program("slow", tmp_path / "calls")}})
    with start_raw_server(tmp_path, config=config, preloaded=False) as server:
        first = server.run(COMMAND)
        assert first["isError"] is False, first
        for _ in range(STOPS):
            going = server.start_run(COMMAND)
            sleep_for(server, seconds)

            assert server.wait_for_answer(going)["result"] == first
