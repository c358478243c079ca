"""A real PostgreSQL and a real MariaDB, started as an unprivileged user in folders of their own."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.availability import require_installed
from tests.packs.db.certificates import write_certificates
from tests.ports import find_free_port

PASSWORD = "s3cret/with@odd:chars"
_READY = 60.0  # seconds
_DEBIAN = "/usr/lib/postgresql/*/bin"


@dataclass(frozen=True, slots=True)
class RunningServer:
    """One server: the folder of its socket, and its port on this machine."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes]

    @property
    def socket(self) -> Path:
        return self.folder / "mariadb.sock"

    def files(self) -> set[str]:
        """The names in the folder that statements try to write to."""
        return {file.name for file in (self.folder / "loot").iterdir()}


@contextmanager
def run_postgres() -> Iterator[RunningServer]:
    """PostgreSQL with the superuser `admin`, who needs no password on the socket."""
    initdb = require_installed("initdb", package="postgresql", folders=_DEBIAN)
    with _folder() as folder:
        data = folder / "data"
        _run([str(initdb), "-D", str(data), "-U", "admin", "-A", "scram-sha-256", "--auth-local=trust", "--no-sync",
              "-E", "UTF8", "--no-locale", "--pwfile", str(_password_file(folder))])  # fmt: skip
        port = find_free_port()
        settings = {"fsync": "off", "listen_addresses": "127.0.0.1", "port": port, "unix_socket_directories": folder,
                    "ssl": "on", "ssl_cert_file": folder / "server.pem", "ssl_key_file": folder / "server.key",
                    "shared_buffers": "16MB", "max_connections": 100, "timezone": "UTC"}  # fmt: skip
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with _program([str(initdb.with_name("postgres")), "-D", str(data), *words], folder, signal.SIGINT) as process:
            _wait_for(("127.0.0.1", port), process, folder)
            yield RunningServer(folder, port, process)


@contextmanager
def run_mariadb() -> Iterator[RunningServer]:
    """MariaDB with the user `admin`, who may do everything, by password."""
    install = require_installed("mariadb-install-db", package="mariadb-server")
    server = require_installed("mariadbd", package="mariadb-server", folders="/usr/sbin")
    with _folder() as folder:
        data = folder / "data"
        _run([str(install), "--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=normal",
              "--skip-test-db", "--skip-name-resolve"])  # fmt: skip
        users = folder / "users.sql"
        users.write_text(
            f"CREATE USER admin IDENTIFIED BY '{PASSWORD}';\nGRANT ALL ON *.* TO admin WITH GRANT OPTION;\n"
        )
        users.chmod(0o644)
        port = find_free_port()
        words = ["--no-defaults", f"--datadir={data}", f"--socket={folder}/mariadb.sock", f"--port={port}",
                 "--bind-address=127.0.0.1", "--skip-name-resolve", f"--init-file={users}", "--innodb-fast-shutdown=2",
                 "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=16M",
                 f"--pid-file={folder}/pid", f"--ssl-cert={folder}/server.pem", f"--ssl-key={folder}/server.key"]  # fmt: skip
        with _program([str(server), *words], folder, signal.SIGTERM) as process:
            _wait_for(("127.0.0.1", port), process, folder)
            yield RunningServer(folder, port, process)


@contextmanager
def _folder() -> Iterator[Path]:
    """A short path that the unprivileged user may use: a socket's must not have more than 107 bytes."""
    folder = Path(tempfile.mkdtemp(prefix="ot-db-", dir="/tmp"))
    try:
        (folder / "loot").mkdir()
        write_certificates(folder)
        if os.geteuid() == 0:
            for place in (folder, folder / "loot", folder / "server.key"):
                shutil.chown(place, _user())
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _user() -> str:
    """Neither server runs as root."""
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in names)


def _password_file(folder: Path) -> Path:
    file = folder / "password"
    file.write_text(PASSWORD)
    file.chmod(0o644)
    return file


def _run(command: Sequence[str]) -> None:
    subprocess.run(
        command,
        check=True,
        stdout=subprocess.DEVNULL,
        cwd="/",
        timeout=120,
        user=_user() if os.geteuid() == 0 else None,
    )


@contextmanager
def _program(command: Sequence[str], folder: Path, end: signal.Signals) -> Iterator[subprocess.Popen[bytes]]:
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command,
            stdout=log,
            stderr=log,
            cwd="/",
            user=_user() if os.geteuid() == 0 else None,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        process.send_signal(end)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(place: tuple[str, int], process: subprocess.Popen[bytes], folder: Path) -> None:
    deadline = time.monotonic() + _READY
    while True:
        try:
            socket.create_connection(place, 1).close()
        except OSError:
            assert process.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < deadline, (folder / "log").read_text()
            time.sleep(0.05)
        else:
            return
