"""What a confined program tries, the bounds within which it does, and what it may have; everything else must be refused."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ot_confinement.confine import Confine
from ot_confinement.own_files import files_of_python
from ot_confinement.program_filter import ALWAYS
from ot_confinement.seccomp import ARCHITECTURES
from ot_guardian import VARIABLE, Ledger, guarded
from tests.confine.pages import pages

SOURCES = Path(__file__).parents[2] / "src"
PROGRAMS = Path(__file__).parents[1] / "programs"
HOSTILE = PROGRAMS / "servers" / "hostile.py"
PYTHON = shutil.which("python3", path="/usr/bin") or sys.executable  # which every user may start


@dataclass(frozen=True)
class Trial:
    """Expressions by their names, the values of those that are allowed, and the bounds of the program that tries them."""

    attempts: Mapping[str, str]
    outcomes: Mapping[str, object]
    bounds: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Ended:
    """What came of each attempt, by its name; how the program ended, and what its guardian has to say."""

    tried: dict[str, Any]
    status: int
    explanation: str

    @property
    def done(self) -> dict[str, Any]:
        """The attempts that were not refused."""
        return {name: value for name, value in self.tried.items() if not str(value).startswith("refused")}


class Place:
    """A folder for everybody, with a home in it that holds a secret."""

    def __init__(self, folder: Path, *, patience: float = 120) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.secret = self.home / ".ssh" / "id_ed25519"
        self._patience = patience  # seconds
        self.secret.parent.mkdir(parents=True)
        self.secret.write_text("private key")
        for name in ("readable", "writable"):
            (folder / name).mkdir()
            (folder / name / "notes").write_text("milk")
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o777 if path.is_dir() else 0o666)

    def run(self, way: str, attempts: Mapping[str, str], **confine: Any) -> Ended:
        """Let a program try each of these expressions, within its bounds; `way` is for `restricted_start.py`."""
        own = (*files_of_python(Path(PYTHON)), str(HOSTILE))
        bounds = Confine(**{**confine, "readable": (*own, *confine.get("readable", ()))})
        command = guarded([PYTHON, "-I", str(HOSTILE), json.dumps(attempts)], confine=bounds)
        start = [PYTHON, str(PROGRAMS / "restricted_start.py"), way, PYTHON, *command[1:]]
        ledger = os.memfd_create("ledger")
        environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCES), "HOME": str(self.home)}
        stdin, held = os.pipe()
        try:
            done = subprocess.run(
                start, stdin=stdin, capture_output=True, text=True, check=False, timeout=self._patience, cwd="/",
                pass_fds=[ledger], env={**environ, "TMPDIR": str(self.folder), VARIABLE: str(ledger)},
            )  # fmt: skip
            tried = json.loads(done.stdout) if done.stdout else {}
            return Ended(tried, done.returncode, Ledger(ledger).explanation() or done.stderr)
        finally:
            for descriptor in (stdin, held, ledger):
                os.close(descriptor)


@contextmanager
def try_files(place: Place) -> Iterator[Trial]:
    """Files that are named and files that are not."""
    secret, readable, writable = str(place.secret), place.folder / "readable", place.folder / "writable"
    yield Trial(
        {
            "secret": f"open({secret!r}).read()",
            "listing": f"os.listdir({str(place.home)!r})",
            "through a link": f"os.symlink({secret!r}, {str(writable / 'link')!r}) or open({str(writable / 'link')!r}).read()",
            "hard link": f"os.link({secret!r}, {str(writable / 'hard')!r})",
            "new file": f"open({str(place.home / 'planted')!r}, 'w')",
            "truncation": f"os.truncate({secret!r}, 0)",
            "mode": f"os.chmod({secret!r}, 0o644)",
            "time": f"os.utime({secret!r})",
            "attribute": f"os.setxattr({secret!r}, 'user.a', b'b')",
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
        {"reads": "milk", "writes": 5, "makes": None, "its own folder": 1, "its home": True},
        {"readable": (str(readable),), "writable": (str(writable),)},
    )


@contextmanager
def try_network(place: Place) -> Iterator[Trial]:
    """Sockets of all kinds, without hosts."""
    path = str(place.folder / "socket")
    with _unix_socket(path), socket.create_server(("127.0.0.1", 0)) as tcp:
        address = tcp.getsockname()
        yield Trial(
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
            {"a pair": 1, "inherited": [0, 1, 2]},
            {"writable": (str(place.folder),)},
        )


@contextmanager
def try_others(_: Place) -> Iterator[Trial]:
    """Other processes, and the bounds themselves."""
    column = ARCHITECTURES[os.uname().machine][1]
    names = ("unshare", "setns", "ptrace", "keyctl", "shmget", "bpf", "mount")
    numbers = {name: ALWAYS[name][column] for name in names}
    yield Trial(
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
        {
            "capabilities": [0, 0, 0, 0, 0, 0],
            "privileges": 1,
            "its own limits": [0, 0],
            "its own child": 3,
            "a thread": None,
        },
    )


@contextmanager
def try_hosts(place: Place) -> Iterator[Trial]:
    """One host, by the proxy, and everything beside it."""
    path = str(place.folder / "socket")
    with pages() as named, pages() as other, _unix_socket(path):
        yield Trial(
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
                "home": f"open({str(place.secret)!r}).read()",
            },
            {
                "a page": f"/a?b=c of 127.0.0.1:{named}",
                "a large answer": 3_000_000,
                "a tunnel": f"/ of 127.0.0.1:{named}",
                "another host in the head": f"/ of 127.0.0.1:{named}",
                "itself": "127.0.0.1",
            },
            {"hosts": (f"127.0.0.1:{named}",)},
        )


@contextmanager
def _unix_socket(path: str) -> Iterator[None]:
    """A socket in the file system that everybody may connect to."""
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(path)
        unix.listen()
        Path(path).chmod(0o777)
        yield
