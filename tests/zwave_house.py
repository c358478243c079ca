"""A simulated Z-Wave house: the real driver and server of zwave-js on a radio and devices that are programs.

The fixture `zwave_house` (in `tests/conftest.py`) starts one for a whole run of tests, in about ten seconds; its tests
carry `@pytest.mark.xdist_group("zwave")`, so that they share it. `zwave_house.url` is the address of the server. The
devices, described in `tests/zwave/house.cjs`:

    2 Kitchen Light (Kitchen)      switch          9 Power Strip (Office)     endpoints 1 and 3 switch, 2 dims
    3 Bedroom Lamp (Bedroom)       dimmer         10 Garden Sensor (Garden)   asleep; temperature
    4 Office Sensor (Office)       temperature,   11 Stubborn Plug (Cellar)   accepts commands and ignores them
                                   humidity, motion   12 Süd 厨房 (Küche)      switch
    5 Front Door (Hall)            lock           13 Attic Fan (Attic)        reports a failure for each command
    6 Hall Thermostat (Hall)       heat and cool  14 Blind (Bedroom)          takes 1.5 s for its whole way
    7 Lamp (Living Room)           switch         15 Old Plug (Garage)        switch; may be unplugged by a test
    8 Lamp (Guest Room)            switch
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from tests.availability import report_missing, require_node
from tests.ports import find_free_port

_FOLDER = Path(__file__).parent / "zwave"
_PACKAGES = _FOLDER / "node_modules"
_OLDEST_NODE = 20
_WAIT = 90.0  # seconds: a bound for a machine that is busy, never the time that something should take
_ATTEMPTS = 4  # at starting the house: the driver gives up on a radio that does not get to answer within a second
_GAVE_UP = b"Failed to initialize the driver"
_SWITCH = 2
_SLEEPER = 10
_ASLEEP = 1  # the driver's number for it


class DriverGaveUpError(Exception):
    """The driver heard nothing from the radio in time."""


class ZwaveHouse:
    """A running house; made by `start_zwave_house`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._node = _find_node()
        self._radio_port, self._port, self._doorbell = (find_free_port() for _ in range(3))
        self._radio: subprocess.Popen[bytes] | None = None
        self._server: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where zwave-js-server is."""
        return f"ws://127.0.0.1:{self._port}"

    def do(self, action: str, node: int, value: float | str = "") -> None:
        """Do something in the house: unplug or plug a device, wake the sleeping one, warm a thermometer to `value`."""
        request = urllib.request.Request(f"http://127.0.0.1:{self._doorbell}/{action}/{node}/{value}", method="POST")
        with urllib.request.urlopen(request, timeout=20) as response:
            assert response.read() == b"done"

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Ask the server, past our program: to see what really is."""
        with connect(self.url, max_size=None, open_timeout=5) as link:
            link.recv(timeout=10)
            for name, more in (("set_api_schema", {"schemaVersion": 44}), (command, arguments)):
                link.send(json.dumps({"messageId": name, "command": name, **more}))
                answer: dict[str, Any] = json.loads(link.recv(timeout=20))
                assert answer["success"], answer
            result: dict[str, Any] = answer["result"]
            return result

    def read(self, node: int, command_class: int, name: str, *, endpoint: int = 0) -> Any:
        """The value that a device itself reports, asked over the radio."""
        value = {"commandClass": command_class, "endpoint": endpoint, "property": name}
        return self.ask("node.poll_value", nodeId=node, valueId=value).get("value")

    def start_radio(self) -> None:
        environ = {**os.environ, "HOUSE_PORT": str(self._doorbell)}
        program = _PACKAGES / ".bin/mock-server"
        arguments = ["-i", "127.0.0.1", "-p", str(self._radio_port), "-c", str(_FOLDER / "house.cjs")]
        self._radio = self._start("radio", program, *arguments, environ=environ)
        # It takes one connection, the driver's, so its log is looked at instead of its port.
        log = self._folder / "radio.log"
        self._wait_for("the radio", lambda: b"Server listening" in log.read_bytes() and _accepts(self._doorbell))

    def start_server(self) -> None:
        """Start the driver and its server; returns when clients can connect, before the devices are interviewed."""
        environ = {**os.environ, "HOUSE_FOLDER": str(self._folder)}
        arguments = [
            f"tcp://127.0.0.1:{self._radio_port}",
            *("--config", str(_FOLDER / "driver.cjs"), "--host", "127.0.0.1", "--port", str(self._port)),
            "--disable-dns-sd",
        ]
        log = self._folder / "server.log"
        before = log.read_bytes().count(_GAVE_UP) if log.exists() else 0

        def has_come() -> bool:
            if log.read_bytes().count(_GAVE_UP) > before:
                raise DriverGaveUpError
            return _accepts(self._port)

        self._server = self._start("server", _PACKAGES / ".bin/zwave-server", *arguments, environ=environ)
        self._wait_for("the server", has_come)

    def stop_server(self) -> None:
        """Kill the server, as a crash would."""
        if self._server is not None:
            self._server.kill()
            self._server.wait(20)

    def wait_until_ready(self) -> None:
        """Wait until all devices are known to the driver, and the one that sleeps does so."""
        self._wait_for(
            "the devices", lambda: all(node["ready"] for node in self._nodes() if node["nodeId"] != _SLEEPER)
        )
        if not self._sleeper()["ready"]:
            self._wake_sleeper()
            self._wait_for("the sensor in the garden", lambda: self._sleeper()["ready"])
        self.ask("node.set_keep_awake", nodeId=_SLEEPER, keepAwake=False)
        self._wake_sleeper()
        self._wait_for("the sensor to fall asleep", lambda: self._sleeper()["status"] == _ASLEEP)

    def close(self) -> None:
        for process in (self._server, self._radio):
            if process is not None:
                process.kill()
                process.wait(20)

    def _wake_sleeper(self) -> None:
        """Wake it; the driver has heard so when this returns, and an "asleep" from now on is a new one."""
        self.do("wake", _SLEEPER)
        self.read(_SWITCH, 0x25, "currentValue")  # its answer takes the same way, after what was said before

    def _nodes(self) -> list[dict[str, Any]]:
        nodes: list[dict[str, Any]] = self.ask("start_listening")["state"]["nodes"]
        return nodes

    def _sleeper(self) -> dict[str, Any]:
        state: dict[str, Any] = self.ask("node.get_state", nodeId=_SLEEPER)["state"]
        return state

    def _start(self, name: str, program: Path, *arguments: str, environ: dict[str, str]) -> subprocess.Popen[bytes]:
        with (self._folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                [self._node, str(program), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environ,
                cwd=_FOLDER,
            )

    def _wait_for(self, what: str, is_there: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _WAIT
        while time.monotonic() < deadline:
            try:
                if is_there():
                    return
            except (OSError, TimeoutError, WebSocketException, AssertionError):
                pass
            time.sleep(0.1)
        logs = "\n".join(path.read_text(errors="replace")[-2000:] for path in self._folder.glob("*.log"))
        raise AssertionError(f"{what} did not come:\n{logs}")


@contextmanager
def start_zwave_house(folder: Path) -> Iterator[ZwaveHouse]:
    """Start a house whose files lie in a folder; skips the test, or fails it in CI, where it cannot be."""
    if not (_PACKAGES / ".bin/zwave-server").exists():
        report_missing("the Z-Wave network", remedy="`make test` installs it where npm is.")
    (folder / "cache").mkdir(exist_ok=True)
    house = ZwaveHouse(folder)
    try:
        _start(house)
        house.wait_until_ready()
        yield house
    finally:
        house.close()


def _start(house: ZwaveHouse) -> None:
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            house.start_radio()
            house.start_server()
        except DriverGaveUpError:
            house.close()
            if attempt == _ATTEMPTS:
                raise
        else:
            return


def _accepts(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


def _find_node() -> str:
    """A Node that the driver runs on: the machine's, or the one that came with the conformance suite."""
    program = require_node()
    version = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=20, check=True).stdout
    if int(version.lstrip("v").partition(".")[0]) < _OLDEST_NODE:
        report_missing(f"Node {_OLDEST_NODE} or newer", remedy="`make test` installs one beside the conformance suite.")
    return str(program)
