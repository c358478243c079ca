"""What a guardian's child may touch: as root and as an ordinary user, where namespaces are allowed and where they are not."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ot_confinement.confine import Confine
from ot_confinement.own_files import executables_of, files_of_python
from ot_confinement.program_filter import ALWAYS
from ot_confinement.seccomp import ARCHITECTURES
from ot_guardian import VARIABLE, Ledger, guarded
from tests.confine.pages import pages

SOURCES = Path(__file__).parents[2] / "src"
PROGRAMS = Path(__file__).parents[1] / "programs"
HOSTILE = PROGRAMS / "servers" / "hostile.py"
PYTHON = shutil.which("python3", path="/usr/bin") or sys.executable  # which every user may start
ALLOWED, REFUSED = "allowed", "bare"
WAYS = [pytest.param(f"{user} {way}", id=f"{user}-{way}") for user in ("self", "user") for way in (ALLOWED, REFUSED)]


@dataclass(frozen=True)
class Ended:
    """What came of each attempt, by its name; how the program ended, and what its guardian has to say."""

    tried: dict[str, Any]
    status: int
    explanation: str


class Place:
    """A folder for everybody, with a home in it that holds a secret."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        (self.home / ".ssh").mkdir(parents=True)
        (self.home / ".ssh" / "id_ed25519").write_text("private key")
        for name in ("readable", "writable"):
            (folder / name).mkdir()
            (folder / name / "notes").write_text("milk")
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o777 if path.is_dir() else 0o666)

    def run(self, way: str, attempts: dict[str, str], **confine: Any) -> Ended:
        """Let a program try each of these expressions, within its bounds."""
        _require_user(way)
        own = (*files_of_python(Path(PYTHON)), str(HOSTILE))
        bounds = Confine(**{**confine, "readable": (*own, *confine.get("readable", ()))})
        command = guarded([PYTHON, "-I", str(HOSTILE), json.dumps(attempts)], confine=bounds)
        start = [PYTHON, str(PROGRAMS / "restricted_start.py"), way, PYTHON, *command[1:]]
        ledger = os.memfd_create("ledger")
        environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCES), "HOME": str(self.home)}
        stdin, held = os.pipe()
        try:
            done = subprocess.run(
                start, stdin=stdin, capture_output=True, text=True, check=False, timeout=120, pass_fds=[ledger],
                env={**environ, "TMPDIR": str(self.folder), VARIABLE: str(ledger)}, cwd="/",
            )  # fmt: skip
            tried = json.loads(done.stdout) if done.stdout else {}
            return Ended(tried, done.returncode, Ledger(ledger).explanation() or done.stderr)
        finally:
            for descriptor in (stdin, held, ledger):
                os.close(descriptor)


def _require_user(way: str) -> None:
    if "user" in way and os.geteuid() != 0:
        pytest.skip("these tests are run by an ordinary user as they are")
    if "user" in way and not all(path.stat().st_mode & 0o001 for path in Path(PYTHON).parents):
        pytest.skip("this interpreter is root's alone")


@pytest.fixture
def place() -> Iterator[Place]:
    # Not below pytest's own folder, which is closed to others.
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Place(Path(folder))


def test_it_stays_the_same_user_where_a_user_namespace_is_given_and_not_its_users(place: Place) -> None:
    ended = place.run("user nobody", {"user": "os.getuid()", "note": f"open({str(place.folder / 'readable/notes')!r})"})

    assert (ended.tried["user"], ended.explanation) == (1000, "")
    assert "PermissionError" in ended.tried["note"]
    assert "refuses one (Operation not permitted)" in place.run("user nobody", {}, hosts=("example.com",)).explanation


@pytest.mark.parametrize("way", WAYS)
def test_it_reads_and_writes_what_is_named_and_nothing_else(place: Place, way: str) -> None:
    secret, readable, writable = (
        place.home / ".ssh" / "id_ed25519",
        place.folder / "readable",
        place.folder / "writable",
    )
    ended = place.run(
        way,
        {
            "secret": f"open({str(secret)!r}).read()",
            "listing": f"os.listdir({str(place.home)!r})",
            "through a link": f"os.symlink({str(secret)!r}, {str(writable / 'link')!r}) or open({str(writable / 'link')!r}).read()",
            "hard link": f"os.link({str(secret)!r}, {str(writable / 'hard')!r})",
            "new file": f"open({str(place.home / 'planted')!r}, 'w')",
            "truncation": f"os.truncate({str(secret)!r}, 0)",
            "mode": f"os.chmod({str(secret)!r}, 0o644)",
            "time": f"os.utime({str(secret)!r})",
            "attribute": f"os.setxattr({str(secret)!r}, 'user.a', b'b')",
            "mode of what it reads": f"os.chmod({str(readable / 'notes')!r}, 0)",
            "mode by descriptor": f"os.fchmod(os.open({str(readable / 'notes')!r}, os.O_RDONLY), 0)",
            "removal": f"os.remove({str(readable / 'notes')!r})",
            "rename": f"os.rename({str(readable)!r}, {str(place.folder / 'moved')!r})",
            "shadow": "open('/etc/shadow').read()",
            "other processes": "open(f'/proc/{os.getppid()}/environ').read()",
            "their words": "open(f'/proc/{os.getppid()}/cmdline').read()",
            "reads": f"open({str(readable / 'notes')!r}).read()",
            "writes": f"open({str(writable / 'notes')!r}, 'w').write('bread')",
            "makes": f"os.mkdir({str(writable / 'new')!r})",
            "its own folder": "open(os.path.join(os.environ['TMPDIR'], 'a'), 'w').write('b')",
            "its home": "os.environ['HOME'] == os.environ['TMPDIR']",
        },
        readable=(str(readable),),
        writable=(str(writable),),
    )

    assert ended.explanation == ""
    outcomes = {"reads": "milk", "writes": 5, "makes": None, "its own folder": 1, "its home": True}
    assert {name: value for name, value in ended.tried.items() if not str(value).startswith("refused")} == outcomes
    assert secret.read_text() == "private key"
    assert secret.stat().st_mode & 0o777 == 0o666
    assert [entry.name for entry in place.folder.iterdir() if entry.name.startswith("onetool-")] == []


@pytest.mark.parametrize("way", WAYS)
def test_without_hosts_there_is_no_network_of_any_kind(place: Place, way: str) -> None:
    path = str(place.folder / "socket")
    with socket.socket(socket.AF_UNIX) as unix, socket.create_server(("127.0.0.1", 0)) as tcp:
        unix.bind(path)
        unix.listen()
        Path(path).chmod(0o777)
        address = tcp.getsockname()
        ended = place.run(
            way,
            {
                "tcp": f"socket.create_connection({address!r}, 5)",
                "udp": f"socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'a', {address!r})",
                "ipv6": "socket.socket(socket.AF_INET6)",
                "unix": f"socket.socket(socket.AF_UNIX).connect({path!r})",
                "datagrams of a pair": f"socket.socketpair(type=socket.SOCK_DGRAM)[0].sendto(b'a', {path!r})",
                "netlink": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
                "vsock": "socket.socket(socket.AF_VSOCK)",
                "raw": "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
                "io_uring": "syscall(425, 8, ctypes.byref((ctypes.c_char * 120)()))",
                "a name": "socket.gethostbyname('example.com')",
                "a pair": "(lambda pair: pair[0].send(b'a'))(socket.socketpair())",
                "a pair connected elsewhere": f"(lambda pair: pair[0].connect({path!r}))(socket.socketpair())",
                "inherited": "descriptors()",
            },
            writable=(str(place.folder),),
        )

    outcomes = {"a pair": 1, "inherited": [0, 1, 2]}
    assert {name: value for name, value in ended.tried.items() if not str(value).startswith("refused")} == outcomes


@pytest.mark.parametrize("way", WAYS)
def test_others_cannot_be_touched_nor_the_bounds_left(place: Place, way: str) -> None:
    numbers = dict(zip(("unshare", "setns", "ptrace", "keyctl", "shmget", "bpf", "mount"), _numbers(), strict=True))
    ended = place.run(
        way,
        {
            "a user namespace": f"syscall({numbers['unshare']}, 0x10000000)",
            "a namespace by clone": "syscall({'aarch64': 220}.get(os.uname().machine, 56), 0x10000000 | 17, 0, 0, 0, 0)",
            "clone3": "syscall(435, 0, 0)",
            "setns": f"syscall({numbers['setns']}, 0, 0)",
            "ptrace": f"syscall({numbers['ptrace']}, 16, os.getppid(), 0, 0)",
            "keys": f"syscall({numbers['keyctl']}, 0, -3, 0)",
            "shared memory": f"syscall({numbers['shmget']}, 1, 4096, 0o1777)",
            "bpf": f"syscall({numbers['bpf']}, 0, 0, 0)",
            "mount": f"syscall({numbers['mount']}, b'none', b'/tmp', b'tmpfs', 0, 0)",
            "a later call": "syscall(500)",
            "the guardian": "os.kill(os.getppid(), 0)",
            "their limits": "resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1))",
            "their priority": "os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)",
            "their processors": "os.sched_setaffinity(os.getppid(), {0})",
            "facts of itself": "[line for line in open('/proc/self/status')]",
            "capabilities": "capabilities()",
            "privileges": "ctypes.CDLL(None).prctl(39, 0, 0, 0, 0)",
            "its own limits": "resource.prlimit(0, resource.RLIMIT_CORE)",
            "its own child": "subprocess.run(['sh', '-c', 'exit 3']).returncode",
            "a thread": "threading.Thread(target=print, args=('',), kwargs={'file': sys.stderr}).start()",
        },
    )

    outcomes = {
        "capabilities": [0, 0, 0, 0, 0, 0],
        "privileges": 1,
        "its own limits": [0, 0],
        "its own child": 3,
        "a thread": None,
    }
    assert {name: value for name, value in ended.tried.items() if not str(value).startswith("refused")} == outcomes
    assert ended.status == 0


def _numbers() -> list[int | None]:
    column = ARCHITECTURES[os.uname().machine][1]
    return [ALWAYS[name][column] for name in ("unshare", "setns", "ptrace", "keyctl", "shmget", "bpf", "mount")]


@pytest.mark.parametrize("user", ["self", "user"])
def test_with_hosts_there_is_one_way_out_and_it_leads_to_them(place: Place, user: str) -> None:
    path = str(place.folder / "socket")
    with pages() as named, pages() as other, socket.socket(socket.AF_UNIX) as unix:
        unix.bind(path)
        unix.listen()
        Path(path).chmod(0o777)
        ended = place.run(
            user,
            {
                "a page": f"fetch('http://127.0.0.1:{named}/a?b=c')",
                "a large answer": f"len(fetch('http://127.0.0.1:{named}/', b'x' * 3_000_000))",
                "a tunnel": f"tunnel('127.0.0.1', {named})",
                "another host in the head": f"raw({named}, 'GET http://127.0.0.1:{named}/ HTTP/1.1\\r\\nHost: evil.com\\r\\n\\r\\n')",
                "another port": f"fetch('http://127.0.0.1:{other}/')",
                "a tunnel to another port": f"tunnel('127.0.0.1', {other})",
                "a name that nobody gave": f"fetch('http://localhost:{named}/')",
                "an address in disguise": f"fetch('http://127.1:{named}/')",
                "a number for an address": f"fetch('http://2130706433:{named}/')",
                "ipv6 that holds the address": f"fetch('http://[::ffff:127.0.0.1]:{other}/')",
                "not a proxy's request": "raw(0, 'GET / HTTP/1.1\\r\\n\\r\\n')",
                "past the proxy": f"socket.create_connection(('127.0.0.1', {named}), 5)",
                "udp": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'a', ('192.0.2.1', 53))",
                "unix": f"socket.socket(socket.AF_UNIX).connect({path!r})",
                "netlink": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
                "itself": "socket.create_server(('127.0.0.1', 0)).getsockname()[0]",
                "home": f"open({str(place.home / '.ssh' / 'id_ed25519')!r}).read()",
            },
            hosts=(f"127.0.0.1:{named}",),
        )

    outcomes = {
        "a page": f"/a?b=c of 127.0.0.1:{named}",
        "a large answer": 3_000_000,
        "a tunnel": f"/ of 127.0.0.1:{named}",
        "another host in the head": f"/ of 127.0.0.1:{named}",
        "itself": "127.0.0.1",
    }
    assert {name: value for name, value in ended.tried.items() if not str(value).startswith("refused")} == outcomes
    assert "is not one of its allowed hosts" in ended.tried["another port"]
    assert "is not one of its allowed hosts" in ended.tried["a tunnel to another port"]


@pytest.mark.parametrize("user", ["self", "user"])
def test_hosts_where_namespaces_are_refused_keep_it_from_starting(place: Place, user: str) -> None:
    ended = place.run(f"{user} {REFUSED}", {"started": "True"}, hosts=("example.com",))

    assert (ended.tried, ended.status) == ({}, 126)
    assert "`hosts` needs a network namespace, and this system refuses one" in ended.explanation


@pytest.mark.parametrize("user", ["self", "user"])
def test_without_landlock_nothing_is_started(place: Place, user: str) -> None:
    ended = place.run(f"{user} old", {"started": "True"})

    assert (ended.tried, ended.status) == ({}, 126)
    assert "this system has no Landlock" in ended.explanation


@pytest.mark.parametrize(
    "greed",
    [
        "hold(300 << 20) and time.sleep(60)",
        "hold(300 << 20, shared=True) and time.sleep(60)",
        "[hold_after_its_writer(60 << 20) for _ in range(5)] and time.sleep(60)",
        "[os.write(os.memfd_create('a'), bytes(60 << 20)) for _ in range(5)] and time.sleep(60)",
        "mmap.mmap(os.open('/dev/zero', os.O_RDWR), 300 << 20)",
        "[os.fork() or hold(60 << 20) and time.sleep(60) for _ in range(4)] and time.sleep(60)",
    ],
    ids=["its own", "shared", "of a writer that is gone", "in files of memory", "of a device", "of several processes"],
)
def test_memory_is_bounded_for_all_processes_together(place: Place, greed: str) -> None:
    ended = place.run("self", {"greed": greed}, memory=128 << 20)

    assert "refused" in str(ended.tried.get("greed")) or "used more memory than the 128m" in ended.explanation
    assert (ended.status == 0) is bool(ended.tried)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("route", ["writable/inner", "writable/inner/.ssh", "link/inner", "alias/.ssh"])
def test_a_name_inside_what_it_may_write_opens_nothing_outside_at_the_next_start(
    place: Place, route: str, way: str
) -> None:
    """A program could have replaced the name by a link."""
    writable, secret = place.folder / "writable", place.home / ".ssh" / "id_ed25519"
    (writable / "inner").symlink_to(place.home)
    (place.folder / "link").symlink_to(writable)
    (place.folder / "alias").symlink_to(writable / "inner")
    named = str(place.folder / route)

    ended = place.run(
        way,
        {
            "secret": f"open({str(secret)!r}).read()",
            "mode": f"os.chmod({str(secret)!r}, 0o600)",
            "file": f"open({str(place.home / 'planted')!r}, 'w')",
            "writable": f"open({str(writable / 'notes')!r}, 'w').write('bread')",
        },
        readable=(named,),
        writable=(str(writable), named),
    )

    assert {name: value for name, value in ended.tried.items() if not str(value).startswith("refused")} == {
        "writable": 5
    }


@pytest.mark.parametrize("way", WAYS)
def test_it_executes_only_the_programs_that_are_named(place: Place, way: str) -> None:
    own = executables_of(Path(PYTHON).resolve())
    assert own is not None
    script = place.folder / "writable" / "script"
    attempts = {
        "itself": f"subprocess.run([{PYTHON!r}, '-c', '']).returncode",
        "another": "subprocess.run(['/bin/true']).returncode",
        "a shell": "subprocess.run('true', shell=True).returncode",
        "its own script": f"[open({str(script)!r}, 'w').write('#!{PYTHON}'), os.chmod({str(script)!r}, 0o755), "
        f"subprocess.run([{str(script)!r}])]",
    }
    writable = (str(place.folder / "writable"),)

    held = place.run(way, attempts, writable=writable, programs=own)
    free = place.run(way, attempts, writable=writable)

    assert held.tried["itself"] == free.tried["itself"] == free.tried["another"] == 0, (held, free)
    for name in ("another", "a shell", "its own script"):
        assert held.tried[name].startswith("refused: PermissionError"), held


def test_without_a_temporary_folder_it_does_not_start(place: Place) -> None:
    place.folder = place.folder / "nowhere"

    ended = place.run("self", {"started": "True"})

    assert (ended.tried, ended.status) == ({}, 126)
    assert "its temporary folder cannot be made" in ended.explanation


def test_a_system_that_cannot_confine_a_program_says_the_way_out(place: Place) -> None:
    said = place.run("self old", {}, otherwise=". Set something").explanation
    off = place.run("self old", {"secret": f"open({str(place.home / '.ssh' / 'id_ed25519')!r}).read()"}, off=True)

    assert said == "cannot be confined: this system has no Landlock, or its seccomp is not known. Set something"
    assert off.tried == {"secret": "private key"}
