"""The nginx configuration in `deploy/`, in a real nginx before replicas that say who they are."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx2
import pytest
import yaml

from ot.config.loader import load_config
from tests.availability import require_installed
from tests.ports import find_free_port

DEPLOY = Path(__file__).parents[2] / "deploy"
WAIT = 60.0  # seconds: a bound for a machine that is busy


class Replica:
    """Answers with its number; one that drains refuses, and sessions of others are unknown to it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.draining = False
        self.asked: list[str] = []
        self.port = 0
        self.life = ExitStack()


@contextmanager
def running(replica: Replica) -> Iterator[None]:
    connections: list[socket.socket] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            connections.append(self.connection)

        def do_POST(self) -> None:
            replica.asked.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            session = self.headers.get("Mcp-Session-Id", "")
            known = not session.startswith("replica") or session.startswith(f"replica{replica.number}-8080.")
            self.send_response(503 if replica.draining else 200 if known else 404)
            body = f"{replica.number} {self.headers['Host']} {self.headers['X-Forwarded-For']}".encode()
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", replica.port), Handler) as server:
        server.daemon_threads = True
        replica.port = server.server_port
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()
            for connection in connections:  # as the system does when a process has died
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)


class Site:
    """nginx, and the replicas behind it."""

    def __init__(self, url: str, replicas: list[Replica]) -> None:
        self.url = url
        self.replicas = replicas

    def post(self, session: str = "") -> httpx2.Response:
        headers = {"Mcp-Session-Id": session} if session else {}
        return httpx2.post(
            f"{self.url}/mcp", content="run", headers={"Host": "tools.example.com", **headers}, timeout=WAIT
        )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    nginx = require_installed("nginx", package="nginx-light", folders="/usr/sbin")
    folder, port = tmp_path_factory.mktemp("nginx"), find_free_port()
    replicas = [Replica(number) for number in (1, 2, 3)]
    with ExitStack() as stack:
        for replica in replicas:
            replica.life.enter_context(running(replica))
            stack.callback(replica.life.close)
        (folder / "nginx.conf").write_text(_whole(folder, port, replicas))
        command = [str(nginx), "-p", str(folder), "-e", str(folder / "error.log"), "-c", str(folder / "nginx.conf")]
        subprocess.run([*command, "-t", "-q"], check=True, timeout=WAIT)
        process = stack.enter_context(subprocess.Popen([*command, "-g", "daemon off;"]))
        stack.callback(process.terminate)
        _wait_for(port, process)
        yield Site(f"http://127.0.0.1:{port}", replicas)


def _whole(folder: Path, port: int, replicas: list[Replica]) -> str:
    """The file of the page, with addresses of this machine and without TLS."""
    text = (DEPLOY / "nginx" / "onetool.conf").read_text()
    for replica in replicas:
        text = text.replace(f"server replica{replica.number}:8080", f"server 127.0.0.1:{replica.port}")
    text = re.sub(r"\n +ssl_\w+ +[^;]+;", "", text.replace("listen 443 ssl http2;", f"listen 127.0.0.1:{port};"))
    user = "user root;" if os.geteuid() == 0 else ""
    paths = "\n".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return f"{user}\npid {folder}/pid;\nevents {{}}\nhttp {{\naccess_log off;\n{paths}\n{text}\n}}\n"


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + WAIT
    while True:
        try:
            httpx2.get(f"http://127.0.0.1:{port}/metrics", timeout=WAIT)
        except httpx2.TransportError:
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.02)
        else:
            return


def test_requests_without_a_session_go_to_every_replica(site: Site) -> None:
    answers = [site.post().text for _ in range(6)]

    assert {answer.split()[0] for answer in answers} == {"1", "2", "3"}
    assert all(answer.split()[1:] == ["tools.example.com", "127.0.0.1"] for answer in answers)


def test_requests_of_a_session_go_to_the_replica_that_its_id_names(site: Site) -> None:
    for number in ("1", "2", "3"):
        assert {site.post(f"replica{number}-8080.0123").text[0] for _ in range(4)} == {number}
    assert site.post("elsewhere-8080.0123").status_code == 200


def test_a_session_of_a_dead_replica_is_unknown_and_its_live_neighbours_go_on(site: Site) -> None:
    first = site.replicas[0]
    first.life.close()
    try:
        dead = [site.post("replica1-8080.0123").status_code for _ in range(3)]
        alive = site.post("replica2-8080.0123")
    finally:
        first.life.enter_context(running(first))

    assert dead == [404] * 3
    assert (alive.status_code, alive.text[0]) == (200, "2")
    assert site.post("replica1-8080.0123").text[0] == "1"


def test_what_a_draining_replica_refuses_goes_to_another(site: Site) -> None:
    site.replicas[0].draining = True
    try:
        answers = [site.post() for _ in range(6)]
    finally:
        site.replicas[0].draining = False

    assert {answer.status_code for answer in answers} == {200}
    assert {answer.text[0] for answer in answers} <= {"2", "3"}


def test_figures_are_not_for_the_world(site: Site) -> None:
    assert httpx2.get(f"{site.url}/metrics", headers={"Host": "tools.example.com"}, timeout=WAIT).status_code == 403


def test_the_objects_for_kubernetes_are_whole() -> None:
    objects = list(yaml.safe_load_all((DEPLOY / "kubernetes" / "onetool.yaml").read_text()))

    assert [each["kind"] for each in objects] == ["Service", "StatefulSet", "Deployment", "Service"]
    [container] = objects[1]["spec"]["template"]["spec"]["containers"]
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"


def test_the_configuration_of_a_replica_is_whole(tmp_path: Path) -> None:
    environ = {"DASHBOARD_CLIENT_SECRET": "a-secret-of-the-client"}
    loaded = load_config(DEPLOY / "onetool.yaml", environ=environ, cwd=tmp_path, home=tmp_path)
    unit = (DEPLOY / "systemd" / "onetool@.service").read_text()
    auth, seal = loaded.config.auth, loaded.config.seal

    assert (auth.client_id, auth.client_secret) == ("onetool", environ["DASHBOARD_CLIENT_SECRET"])
    assert seal.file is not None
    assert f"StateDirectory={seal.file.parent.name}" in unit  # where its user may write
    assert f"WorkingDirectory={seal.file.parent}" in unit
