"""What code in each contestant can reach, shown by trying it: speed without isolation is another thing."""

from __future__ import annotations

import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.figures import Row, Session, Table, words
from bench.peers.contestants import Client, Contestant, Express, Request
from bench.peers.rounds import started
from bench.stdio_client import CallFailedError, StdioClient

_SECRET = "seen-by-the-run"
_PATIENCE = 5.0  # seconds that others may wait while a run loops
_LONGEST_PROBE = 60


@dataclass(frozen=True, slots=True)
class Probe:
    """Ways to do something, as statements and the value that shows it worked; one that works is enough."""

    what: str
    ways: tuple[tuple[str, str], ...]
    expected: str


def measure_isolation(contestants: list[Contestant], session: Session) -> Table:
    with _secret_file() as file, _listener() as port:
        probes = _probes(file, port)
        columns = [_try_all(contestant, probes, session) for contestant in contestants if contestant.express]
    names = tuple(contestant.name for contestant in contestants if contestant.express)
    whats = [
        *(probe.what for probe in probes),
        "a value changed in a module is seen by the next run",
        "others are answered while code loops",
    ]
    rows = tuple(
        Row(what, "", words(cells), "neither") for what, cells in zip(whats, zip(*columns, strict=True), strict=True)
    )
    return Table(
        "What code can reach",
        names,
        rows,
        about="Each line was tried in each contestant, in the ways that ordinary code has.",
    )


def _probes(file: Path, port: int) -> list[Probe]:
    path = str(file)
    return [
        Probe(
            "reads a file of the person's",
            (
                ("", f"open({path!r}).read()"),
                ("import pathlib", f"pathlib.Path({path!r}).read_text()"),
                ("import os", f"os.read(os.open({path!r}, 0), 99).decode()"),
            ),
            _SECRET,
        ),
        Probe(
            "starts a program",
            (
                ("import subprocess", f"subprocess.check_output(['/bin/echo', {_SECRET!r}]).decode()"),
                ("import os", f"os.popen('echo {_SECRET}').read()"),
            ),
            _SECRET,
        ),
        Probe(
            "connects to a server on this machine",
            ((f"import socket\nmade = socket.create_connection(('127.0.0.1', {port}), 3)", "made.recv(99).decode()"),),
            _SECRET,
        ),
    ]


def _try_all(contestant: Contestant, probes: list[Probe], session: Session) -> list[str]:
    session.tell(f"what code can reach: {contestant.name}")
    assert contestant.express
    try:
        with started(contestant, limit=_LONGEST_PROBE) as client:
            client.initialize()
            found = [_yes_or_no(_any_way(client, contestant.express, probe)) for probe in probes]
            found.append(_yes_or_no(_state_survives(client, contestant.express)))
            found.append(_yes_or_no(_others_are_answered(client, contestant)))
            return found
    except Exception as error:  # noqa: BLE001 - what a peer does wrong is said in its place
        return [f"failed: {str(error)[:60]}"] * (len(probes) + 2)


def _any_way(client: Client, express: Express, probe: Probe) -> bool:
    return any(probe.expected in _answer(client, express(*way)) for way in probe.ways)


def _state_survives(client: Client, express: Express) -> bool:
    _answer(client, express("import math\nmath.left_behind = 'le' + 'ft'", "1"))
    return "left" in _answer(client, express("import math", "math.left_behind + '!'")).replace("left_behind", "")


def _others_are_answered(client: Client, contestant: Contestant) -> bool:
    """Let a run loop without end, and ask for another one meanwhile; the server is ended afterwards."""
    assert contestant.express
    if not isinstance(client, StdioClient):
        return False
    client.begin(*contestant.express("while True:\n    pass", "1"))
    time.sleep(0.2)  # so that it does loop
    watchdog = threading.Timer(_PATIENCE, client.kill)
    watchdog.start()
    try:
        client.call(*contestant.trivial)
    except (CallFailedError, OSError):
        return False
    finally:
        watchdog.cancel()
        client.kill()
    return True


def _answer(client: Client, request: Request) -> str:
    try:
        return client.answer(*request)
    except CallFailedError:
        return ""


def _yes_or_no(found: object) -> str:
    return "yes" if found else "no"


@contextmanager
def _secret_file() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "diary.txt"
        file.write_text(_SECRET)
        yield file


@contextmanager
def _listener() -> Iterator[int]:
    """A server that says something to whoever connects."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def welcome() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.sendall(_SECRET.encode())

        threading.Thread(target=welcome, daemon=True).start()
        yield server.getsockname()[1]
