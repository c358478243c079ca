"""With `log.format: json` a server writes JSON objects to stderr and nothing else, from its first line to its last."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import httpx2

from tests.demo_pack import give_demo
from tests.e2e.http_server import INITIALIZE
from tests.e2e.raw_server import WAIT, RawServer, environment_of

ESCAPING = """
import asyncio, gc, logging, signal, sys, threading, warnings
from ot.logs import configure_logging
from onetool.cli.printing import complain
from onetool.front.late_app import name_stalls
configure_logging("info", None, redact=str, together=True, tell=dict)
complain("onetool: a word")
warnings.warn("old")
logging.getLogger("library").warning("odd\\nlines")
def broken():
    raise ValueError("in a thread")
thread = threading.Thread(target=broken)
thread.start()
thread.join()
class Broken:
    def __del__(self):
        raise ValueError("in the collector")
Broken()
async def stall():
    told = asyncio.create_task(name_stalls())
    await asyncio.sleep(0)
    signal.raise_signal(signal.SIGALRM)  # as after two seconds
    told.cancel()
asyncio.run(stall())
raise ValueError("uncaught")
"""


def test_what_escapes_the_log_is_an_entry_too(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ESCAPING], check=False, capture_output=True, text=True, timeout=WAIT, cwd=tmp_path
    )

    entries = [json.loads(line) for line in done.stderr.splitlines()]
    words = [f"{each['name']} {each.get('message')} {each.get('detail', '')}" for each in entries]
    for expected in (
        "onetool: a word", "old", "odd\nlines", "in a thread", "in the collector", "in stall", "ValueError: uncaught"
    ):  # fmt: skip
        assert any(expected in word for word in words), (expected, words)
    assert done.returncode == 1


def test_a_server_says_nothing_else(tmp_path: Path) -> None:
    server = RawServer(give_demo(tmp_path, json.dumps({"log": {"format": "json"}})), "--http", "127.0.0.1:0")
    try:
        server.wait_for_log("serving MCP at")
        [said] = [each for each in map(json.loads, server.log) if "serving MCP at" in each.get("message", "")]
        place = urlsplit(said["message"].partition(" at ")[2].split()[0])
        token = (tmp_path / ".onetool" / "state" / "http-token").read_text().strip()
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
        httpx2.post(place.geturl(), json=INITIALIZE, headers=headers, timeout=WAIT)
        with socket.create_connection((place.hostname or "", place.port or 0), timeout=WAIT) as stranger:
            stranger.sendall(b"this is no request\r\n\r\n")
            while stranger.recv(1000):
                pass
        server.process.send_signal(signal.SIGTERM)
        assert server.wait_for_exit() == 0
    finally:
        server.end()

    assert {"onetool", "uvicorn.error"} <= {json.loads(line)["name"] for line in server.log}


def test_a_server_that_cannot_start_says_why_in_json(tmp_path: Path) -> None:
    home = give_demo(tmp_path, json.dumps({"log": {"format": "json"}}))
    command = [sys.executable, "-m", "onetool", "serve", "--http", "192.0.2.1:80"]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=WAIT, cwd=home, env=environment_of(home)
    )

    [entry] = [json.loads(line) for line in done.stderr.splitlines()]
    assert done.returncode == 2
    assert entry["level"] == "ERROR"
    assert "192.0.2.1 is not this machine alone" in entry["message"]
