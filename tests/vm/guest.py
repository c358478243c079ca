"""In a guest: makes the attempts of each case, as root and as an ordinary user, and tells the host what came of them.

`python -m tests.vm.guest FOLDER` goes through `job.json` there and writes `told.jsonl`, one JSON object a line; for each
case and user it starts itself again with the case as its argument. Nothing is judged here. A plain client is used
instead of the official one, which an emulated processor would load for a minute.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Self

from ot_wasm.component import _name_processor
from tests.abuse.routes import ROUTES, is_native, write_attempt
from tests.confine.attempts import Place, try_files, try_hosts, try_network, try_others
from tests.vm.routes import ROUTES_HERE

SECRET = "hunter2-hunter2"
USERS = ("root", "alice")
CONFIG = """
execution: {timeout: 900, memory: 300m, patience: off, sandbox: LEVEL}
policy: {deny: ["demo.bar"]}
packs: {demo: {enabled: true}, ot: {timeout: 600}}
log: {level: warning}
"""
COMPILED = Path("/srv/onetool/compiled")
TRIES = 8  # of the first run: a kernel that is emulated may not be ready in the time that a person would wait


def main(folder: Path) -> None:
    """Make the attempts of every case."""
    job = json.loads((folder / "job.json").read_text())
    with (folder / "told.jsonl").open("ab", buffering=0) as told:
        for case in job["cases"]:
            subprocess.run(["sh", "-ec", case["prepare"]], check=True, stdout=sys.stderr)
            for user in USERS:
                words = [sys.executable, "-m", "tests.vm.guest", json.dumps({**case, "user": user})]
                subprocess.run([*_become(user, delegated=case["delegated"]), *words], stdout=told, check=False)


def _become(user: str, *, delegated: bool) -> list[str]:
    home = f"HOME={Path('~' + user).expanduser()}"
    if delegated:
        service = [
            "systemd-run",
            "--pipe",
            "--wait",
            "--collect",
            "--quiet",
            "-p",
            "Delegate=yes",
            "-p",
            f"User={user}",
        ]
        return [*service, "-E", home, "-E", f"PATH={os.environ['PATH']}"]
    return ["setpriv", "--reuid", user, "--regid", user, "--clear-groups", "env", home]


def make_attempts(case: dict[str, Any]) -> None:
    """Make the attempts of one case as this user."""

    def tell(kind: str, **facts: object) -> None:
        line = json.dumps({"case": case["name"], "user": case["user"], "kind": kind, **facts})
        os.write(1, line.encode() + b"\n")

    tell("system", release=os.uname().release, uid=os.getuid())
    with tempfile.TemporaryDirectory(dir=Path.home()) as folder:
        home = Path(folder)
        _try_runs(home, case["level"], tell, delegated=case["delegated"])
        tell("home", diary=(home / "diary.txt").read_text(), planted=(home / "planted").exists())
    for trial in (try_files, try_network, try_others, try_hosts):
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            place = Place(Path(folder), patience=1200)
            with trial(place) as tried:
                ended = place.run("self", tried.attempts, **tried.bounds)
            tell(
                "program", name=trial.__name__, tried=ended.tried, outcomes=tried.outcomes, status=ended.status,
                explanation=ended.explanation, kept=place.secret.read_text() == "private key",
            )  # fmt: skip
    tell("end")


def _try_runs(home: Path, level: str, tell: Any, *, delegated: bool) -> None:
    (home / "secrets.yaml").write_text(f"TOKEN: {SECRET}\n")
    (home / "secrets.yaml").chmod(0o600)
    (home / "diary.txt").write_text("private\n")
    (home / "onetool.yaml").write_text(CONFIG.replace("LEVEL", level))
    _give_component(home)
    with Server(home, delegated=delegated) as server:
        for _ in range(TRIES):
            text, failed = server.run("6 * 7")
            tell("works", text=text, failed=failed)
            if not failed:
                break
        text, _ = server.run("import json\njson.dumps(ot.health()['sandbox'])")
        tell("health", text=text)
        if failed:
            return
        engine = json.loads(text)["engine"]
        for name, route in {**ROUTES, **ROUTES_HERE}.items():
            if engine == "process" or not is_native(route):
                text, failed = server.run(write_attempt(route, str(home)))
                tell("run", name=name, text=text, failed=failed)
        text, failed = server.run("6 * 7")
        tell("works", text=text, failed=failed)


def _give_component(home: Path) -> None:
    """Leave what the first start would compile, which takes an hour when it is emulated."""
    folder = home / ".onetool" / "state" / "wasm"
    folder.mkdir(parents=True, mode=0o700)
    for file in COMPILED.glob("*.compiled"):
        component, *_, digest = file.stem.split("-")
        own = folder / f"{component}-{_name_processor()}-{digest}.compiled"  # the emulator of programs did not know it
        shutil.copyfile(file, own)
        own.chmod(0o600)


def _share_group() -> Path:
    """Move this process out of its control group; return the file that takes a server, which must be alone in its own.

    A service that is nothing but a server has its group to itself.
    """
    group = Path("/sys/fs/cgroup", Path("/proc/self/cgroup").read_text().strip().partition("::/")[2])
    for part in ("client", "server"):
        (group / part).mkdir()
    if os.getuid() == 0:  # the mark of what systemd delegates, without which root's server leaves a group alone
        os.setxattr(group / "server", "user.delegate", b"1")
    (group / "client" / "cgroup.procs").write_text(str(os.getpid()))
    (group / "cgroup.subtree_control").write_text("+memory +pids")
    return group / "server" / "cgroup.procs"


class Server:
    """A server on stdin and stdout, and requests to it, one after the other."""

    def __init__(self, home: Path, *, delegated: bool) -> None:
        command = [sys.executable, "-m", "onetool", "serve", "--config", str(home / "onetool.yaml")]
        if delegated:
            command = ["sh", "-c", 'echo $$ > "$0" && exec "$@"', str(_share_group()), *command]
        environ = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=home, env=environ, text=True
        )
        self._asked = 0

    def __enter__(self) -> Self:
        client = {"name": "guest", "version": "1"}
        self._ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        self._send({"method": "notifications/initialized"})
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def run(self, command: str) -> tuple[str, bool]:
        """Return the text of an answer, and whether it is an error."""
        result = self._ask("tools/call", {"name": "run", "arguments": {"command": command}})
        text = "\n".join(part["text"] for part in result["content"] if part["type"] == "text")
        return text, bool(result.get("isError"))

    def _ask(self, method: str, params: object) -> dict[str, Any]:
        self._asked += 1
        self._send({"id": self._asked, "method": method, "params": params})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = json.loads(line)
            if message.get("id") == self._asked and "method" not in message:
                answer: dict[str, Any] = message["result"]
                return answer
        raise EOFError("the server has ended")

    def _send(self, message: dict[str, object]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()


if __name__ == "__main__":
    if sys.argv[1].startswith("{"):
        make_attempts(json.loads(sys.argv[1]))
    else:
        main(Path(sys.argv[1]))
