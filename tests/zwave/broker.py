"""A real MQTT broker, and a gateway on it that plays zwave-js-ui in front of a real zwave-js-server."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.availability import require_program
from tests.ports import find_free_port

PROGRAM = Path(__file__).parents[1] / "programs" / "zwave_gateway.py"
USERNAME, PASSWORD = "house", "s3cret-of-the-house"
_WAIT = 60.0  # seconds


class Broker:
    """Mosquitto, for users with a password."""

    def __init__(self, folder: Path) -> None:
        self.port = find_free_port()
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        passwords = folder / "passwords"
        passwords.touch(mode=0o600)
        subprocess.run(
            [require_program("mosquitto_passwd"), "-b", passwords, USERNAME, PASSWORD],
            check=True,
            capture_output=True,
            timeout=_WAIT,
        )
        (folder / "mosquitto.conf").write_text(
            f"listener {self.port} 127.0.0.1\nallow_anonymous false\npassword_file {passwords}\n"
            + ("user root\n" if os.geteuid() == 0 else "")
        )

    def url(self, prefix: str = "zwave", *, password: str = PASSWORD) -> str:
        return f"mqtt://{USERNAME}:{password}@127.0.0.1:{self.port}/{prefix}"

    def start(self) -> None:
        program = shutil.which("mosquitto", path=f"{os.environ.get('PATH', '')}:/usr/sbin") or str(
            require_program("mosquitto")
        )
        with (self._folder / "mosquitto.log").open("ab") as log:
            self._process = subprocess.Popen(
                [program, "-c", self._folder / "mosquitto.conf"], stdout=log, stderr=subprocess.STDOUT
            )
        deadline = time.monotonic() + _WAIT
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                log_text = (self._folder / "mosquitto.log").read_text()
                assert time.monotonic() < deadline, log_text
                time.sleep(0.02)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(_WAIT)
            self._process = None


@contextmanager
def open_broker(folder: Path) -> Iterator[Broker]:
    broker = Broker(folder)
    broker.start()
    try:
        yield broker
    finally:
        broker.stop()


class Gateway:
    """A gateway that runs."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def kill(self) -> None:
        """Let it go without a word: the broker tells its will."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(_WAIT)


@contextmanager
def open_gateway(broker: Broker, ws: str, **options: Any) -> Iterator[Gateway]:
    """Start a gateway; options are those of `tests/programs/zwave_gateway.py`."""
    told = {
        "ws": ws,
        "host": "127.0.0.1",
        "port": broker.port,
        "username": USERNAME,
        "password": PASSWORD,
        "prefix": "zwave",
        "name": "test",
        "type": "named",
        "payload": "time",
        **options,
    }
    process = subprocess.Popen(
        [sys.executable, PROGRAM, json.dumps(told)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield Gateway(process)
        finally:
            process.kill()
