"""A keychain for tests: gnome-keyring on a bus of its own, which only those find who are given the address."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from jeepney import DBusAddress, new_method_call
from jeepney.io.blocking import open_dbus_connection

from tests.availability import require_program

PASSWORD = "opens the keychain"
_CONFIG = """<busconfig><type>session</type><listen>unix:path={socket}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>
</busconfig>"""


@dataclass(frozen=True)
class Keychains:
    """The same entries twice: in a keychain that is open, and in one that nobody has unlocked."""

    open: dict[str, str]  # the variables with which a program finds it
    locked: dict[str, str]


@contextmanager
def start_keychains(folder: Path) -> Iterator[Keychains]:
    with ExitStack() as stack:
        variables = [stack.enter_context(_start(folder, unlock=unlock)) for unlock in (True, False)]
        yield Keychains(*variables)


@contextmanager
def _start(folder: Path, *, unlock: bool) -> Iterator[dict[str, str]]:
    """Start a bus with a keychain whose entries are in this folder."""
    place = folder / ("open" if unlock else "locked")
    place.mkdir(mode=0o700)
    config, bus = place / "bus.conf", f"unix:path={place / 'bus'}"
    config.write_text(_CONFIG.format(socket=place / "bus"))
    environ = {"HOME": str(folder), "XDG_RUNTIME_DIR": str(place), "DBUS_SESSION_BUS_ADDRESS": bus}
    with ExitStack() as stack:

        def start(*command: str) -> subprocess.Popen[bytes]:
            program = [str(require_program(command[0])), *command[1:]]
            quiet = subprocess.DEVNULL
            started = stack.enter_context(
                subprocess.Popen(program, env=environ, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet)
            )
            stack.callback(started.kill)
            return started

        start("dbus-daemon", f"--config-file={config}", "--nofork")
        _wait(lambda: (place / "bus").exists())
        daemon = start(
            "gnome-keyring-daemon", "--foreground", "--components=secrets", *(["--unlock"] if unlock else [])
        )
        assert daemon.stdin is not None
        daemon.stdin.write(PASSWORD.encode())
        daemon.stdin.close()
        _wait(lambda: _has_keychain(bus))
        yield {"DBUS_SESSION_BUS_ADDRESS": bus}


def _has_keychain(bus: str) -> bool:
    manager = DBusAddress("/org/freedesktop/DBus", "org.freedesktop.DBus", "org.freedesktop.DBus")
    with open_dbus_connection(bus=bus) as connection:
        asked = new_method_call(manager, "NameHasOwner", "s", ("org.freedesktop.secrets",))
        return bool(connection.send_and_get_reply(asked).body[0])


def _wait(found: object) -> None:
    assert callable(found)
    deadline = time.monotonic() + 60
    while not found():
        assert time.monotonic() < deadline
        time.sleep(0.01)
