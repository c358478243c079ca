"""The environment of a worker on its node: made there by uv, from the header and lock that came with the order."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import shutil
import signal
import sysconfig
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ot_confinement.confine import Confine
from ot_confinement.own_files import files_of_python
from ot_guardian import VARIABLE, Ledger, guarded
from ot_guardian.processes import plain_environment
from ot_ray.frames import MOST, Bounds, Order
from ot_system import memory_file

TAIL = 8000  # bytes
# When Ray ends a process, it kills the children of that first. The guardian must not be one of them: it would leave
# behind what it guards. A shell stands in between, and waits until the guardian has ended everything.
_BETWEEN = ("/bin/sh", "-c", 'trap : TERM; "$@"; exit "$?"', "sh")
OnOutput = Callable[[bytes], Awaitable[None]]


class GuardedProgram:
    """A command whose first process is a guardian. Owned by `run`; `ledger` is open until that has returned."""

    def __init__(self, words: Sequence[str], *, environ: Mapping[str, str], cwd: Path) -> None:
        self.ledger = Ledger(memory_file("onetool-ledger"))
        self.exit_code = 0  # once it has ended
        self._words = words
        self._environ = environ
        self._cwd = cwd
        self._process: asyncio.subprocess.Process | None = None
        self._tail = b""

    @property
    def tail(self) -> str:
        """The end of what it wrote to stderr."""
        return self._tail.decode(errors="replace").strip()

    async def start(self) -> None:
        """Start it; raises OSError."""
        self._process = await asyncio.create_subprocess_exec(
            *_BETWEEN,
            *self._words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**self._environ, VARIABLE: str(self.ledger.descriptor)},
            pass_fds=(self.ledger.descriptor,),
            cwd=self._cwd,
            start_new_session=True,
        )

    async def run(self, on_output: OnOutput, on_stderr: Callable[[bytes], None] = lambda _: None) -> None:
        """Pass on what it writes until it has ended, with everything that it started."""
        assert self._process is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None

        async def keep_tail(data: bytes) -> None:
            self._tail = (self._tail + data)[-TAIL:]
            on_stderr(data)

        try:
            await asyncio.gather(_pump(self._process.stdout, on_output), _pump(self._process.stderr, keep_tail))
            self.exit_code = await self._process.wait()
        finally:
            self.kill()

    async def write(self, data: bytes) -> None:
        """Write to its stdin; data that cannot be written is dropped, since `run` reports its end."""
        stdin = self._process.stdin if self._process is not None else None
        if stdin is not None and not stdin.is_closing():
            with contextlib.suppress(ConnectionError):
                stdin.write(data)
                await stdin.drain()

    def close_input(self) -> None:
        """Close its stdin, so that it ends by itself; if it does not, the guardian ends it."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()

    def kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGTERM)


async def _pump(stream: asyncio.StreamReader, take: OnOutput) -> None:
    while data := await stream.read(MOST):
        await take(data)


def put_files(folder: Path, files: dict[str, bytes]) -> Path:
    """Return a folder below `folder` that holds these files, made if need be; raises OSError."""
    digest = hashlib.sha256()
    for name, content in sorted(files.items()):
        digest.update(b"%d %s %d\0" % (len(name), name.encode(), len(content)) + content)
    place = folder / digest.hexdigest()[:32]
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, content in files.items():
        with contextlib.suppress(OSError):
            if (place / name).read_bytes() == content:
                continue
        # In one step: others may be doing the same.
        with tempfile.NamedTemporaryFile(dir=place, delete=False) as draft:
            draft.write(content)
        Path(draft.name).replace(place / name)
    return place


_PLACES_OF_UV = ("~/.local/bin", "~/.cargo/bin", "/usr/local/bin")
_SHARES = ("_VISIBLE_DEVICES", "_VISIBLE_CHIPS", "_VISIBLE_CORES", "ONEAPI_DEVICE_SELECTOR", "OMP_NUM_THREADS")
_OPTIONS = ("--output-format", "json", "--color", "never", "--no-progress")
Tell = Callable[[str], None]


class NotPreparedError(Exception):
    """No worker can be started on this node; the text says why."""


@dataclass(frozen=True)
class Command:
    words: tuple[str, ...]
    environ: dict[str, str]
    cwd: Path


async def prepare(order: Order, sdk: Path, tell: Tell) -> Command:
    """Make the environment of an extension; `sdk` is the folder that holds `ot_sdk`. Raises NotPreparedError."""
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "onetool" / "ray"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_uid != os.geteuid():
            raise PermissionError(f"{folder} belongs to another user")
        file = put_files(folder / "files", {order.name: order.source}) / order.name
        script = put_files(folder / "locks", {order.name: order.header, f"{order.name}.lock": order.lock}) / order.name
    except OSError as error:
        raise NotPreparedError(f"its files cannot be written: {error}") from error
    tell("making its environment")
    python = await _sync(script, tell, checked=order.checked)
    own = plain_environment(os.environ)
    programs = os.pathsep.join(filter(None, (str(python.parent), own.get("PATH"))))
    words = [str(python), str(sdk / "ot_sdk" / "__main__.py"), str(file)]
    if order.bounds is not None:
        words.append(_confine(order.bounds, python, (str(sdk), str(file.parent))))
    # The variables in which Ray lists the devices and processors of a process.
    share = {name: value for name, value in os.environ.items() if name.endswith(_SHARES)}
    environ = own | share | {"VIRTUAL_ENV": str(python.parent.parent), "PATH": programs}
    return Command(tuple(words), environ, file.parent)


def _confine(bounds: Bounds, python: Path, own: tuple[str, ...]) -> str:
    files = (*files_of_python(python, writable=[Path(place) for place in bounds.write]), *own, *bounds.read)
    closed = (os.path.expanduser("~/.onetool"),)
    return Confine(files, bounds.write, bounds.hosts, bounds.memory, closed=closed).to_text()


async def _sync(script: Path, tell: Tell, *, checked: bool) -> Path:
    """Return the interpreter of the environment that uv makes for a script, from the lock beside it."""
    # That beside Ray, that on the PATH, or one where installers put it.
    places = (sysconfig.get_path("scripts"), os.environ.get("PATH", ""), *map(os.path.expanduser, _PLACES_OF_UV))
    uv = shutil.which("uv", path=os.pathsep.join(filter(None, places)))
    if uv is None:
        raise NotPreparedError(
            "uv, which makes its environment, was not found. Install it on every node, for example beside Ray with "
            "`pip install uv`"
        )
    words = [uv, "sync", "--script", str(script), "--locked" if checked else "--frozen", *_OPTIONS]
    settings = {name: value for name, value in os.environ.items() if name.startswith("UV_")}
    output = bytearray()

    async def keep(data: bytes) -> None:
        output.extend(data)

    def tell_last_line(data: bytes) -> None:
        lines = data.decode(errors="replace").strip().splitlines()
        tell(f"making its environment: {(lines or [''])[-1]}")

    program = GuardedProgram(guarded(words), environ=plain_environment(os.environ) | settings, cwd=script.parent)
    try:
        await program.start()
        await program.run(keep, tell_last_line)
        if program.exit_code != 0:
            raise NotPreparedError(f"its dependencies cannot be installed. uv says:\n{program.tail}")
        return Path(json.loads(output)["sync"]["environment"]["python"]["path"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NotPreparedError(f"uv did not make its environment: {type(error).__name__}: {error}") from error
    finally:
        os.close(program.ledger.descriptor)
