"""How much confinement a run gets: all of it, what the system has, or none; and it is told which."""

from __future__ import annotations

import mimetypes
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import anyio
import anyio.to_thread
import pytest

from ot.config.models import ExecutionSettings
from ot.errors import KernelStartError, SandboxError
from ot.kernel import zygote_process
from ot.kernel.supply import COMPILING, KernelSupply, open_supply
from ot.kernel.zygote_process import KernelSettings, ZygoteProcess, launch_zygote
from ot_system.sockets import message_pair
from tests.availability import require_component
from tests.e2e.processes import wait_until_gone
from tests.engines import on_wasm
from tests.unit.kernel.kernels import kernels, run, run_in, until

OTHER_ZYGOTE = Path(__file__).parents[2] / "programs" / "other_zygote.py"


only_native = pytest.mark.only_as_process("the module needs native code, which the component does not have")


@asynccontextmanager
async def other_system(
    system: str, folder: Path, *, patience: float = 60, has_wasmtime: bool = True, **settings: Any
) -> AsyncIterator[KernelSupply]:
    """A supply on a system that lacks Landlock, where Landlock fails, or where no kernel survives its birth."""
    root = folder / "scratch"

    def launch(settings: KernelSettings, *, engine: str = "process", **options: Any) -> ZygoteProcess:
        if engine == "wasm" and has_wasmtime:
            return launch_zygote(settings, engine=engine, **options)
        ours, theirs = message_pair()
        ours.setblocking(False)
        root.mkdir(exist_ok=True)
        with theirs:
            played = "bare" if engine == "wasm" else system
            command = [sys.executable, str(OTHER_ZYGOTE), str(theirs.fileno()), str(root), played]
            process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdout=subprocess.PIPE)
        return ZygoteProcess(process, ours, root, settings, engine=engine)

    zygote = launch(ExecutionSettings(**{"warm": 1, "engine": "auto", **settings}))
    async with open_supply(zygote, launch=launch, patience=patience) as supply:
        yield supply


@pytest.mark.parametrize("sandbox", ["strict", "standard"])
async def test_a_run_is_confined_by_every_layer_and_says_so(sandbox: str) -> None:
    async with kernels(warm=1, sandbox=sandbox) as supply:
        refused, walls = ("FileNotFoundError", ("wasm",)) if on_wasm() else ("PermissionError", ())
        assert (await run(supply, "open('/etc/hostname').read()")).error.startswith(refused)
        assert (supply.layers, supply.missing) == ((*walls, "landlock", "seccomp"), ())


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("import subprocess\nsubprocess.run(['ls'])", "a run cannot start processes"),
        ("import os\nos.fork()", "a run cannot start processes"),
        ("import os\nos.system('ls')", "a run cannot start processes"),
        ("import socket\nsocket.create_connection(('127.0.0.1', 80))", "a run cannot open network connections"),
        ("import socket\nsocket.socket()", "a run cannot open network connections"),
        ("import urllib.request as u\nu.urlopen('http://localhost')", "a run cannot open network connections"),
    ],
)
async def test_what_a_run_cannot_do_is_said_in_a_sentence(supply: KernelSupply, code: str, sentence: str) -> None:
    ended = await run(supply, code)

    assert sentence in ended.error
    assert ended.message["frames"][-1][0] == 2


STREAMS = """
import asyncio, socket
async def pair():
    one, other = socket.socketpair()
    return await asyncio.open_connection(sock=one), await asyncio.open_connection(sock=other)
(reader, unused), (silent, writer) = await pair()
async def write():
    for number in range(100):
        writer.write(bytes([number]) * 50_000)
    writer.write_eof()
    await writer.drain()
_, received = await asyncio.gather(write(), reader.read())
writer.close(), unused.close()
received == b"".join(bytes([number]) * 50_000 for number in range(100))
"""


only_with_sockets = pytest.mark.only_as_process("there are no sockets there, not even within one run")


@only_with_sockets
async def test_streams_of_asyncio_work_between_sockets_of_a_run(supply: KernelSupply) -> None:
    assert (await run(supply, STREAMS)).value is True


@only_with_sockets
@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("(a.sendmsg([b'12', bytearray(b'3'), memoryview(b'45')]), b.recv(9))", (5, b"12345")),
        ("(a.sendmsg([]), a.sendmsg([b'x'], [], 0, None), b.recvmsg(9)[0])", (0, 1, b"x")),
        ("(a.setblocking(False), a.sendmsg(iter([bytes(200_000)] * 9)) <= 2**18)", (None, True)),
    ],
)
async def test_data_can_be_sent_as_a_message(supply: KernelSupply, code: str, value: object) -> None:
    assert (await run(supply, f"import socket\na, b = socket.socketpair()\n{code}")).value == value


async def test_descriptors_cannot_be_sent_as_a_message(supply: KernelSupply) -> None:
    code = "import os, socket\na, b = socket.socketpair()\nsocket.send_fds(a, [b'x'], [os.open('x', 66)])"

    assert (await run(supply, code)).error.startswith("PermissionError")


only_unconfined = pytest.mark.only_as_process("an instance reaches nothing more with `sandbox: off`")


@only_unconfined
async def test_without_sandbox_a_run_has_its_own_process_and_limits_only() -> None:
    async with kernels(warm=1, sandbox="off", memory=64 * 1024**2) as supply:
        code = "import os, socket\nsocket.socket().close()\npid = os.fork()\nif pid == 0:\n    os._exit(7)\nos.waitpid(pid, 0)[1] >> 8"

        assert (await run(supply, code)).value == 7
        assert (await run(supply, "open('/proc/self/comm').read()")).message["op"] == "value"
        assert (await run(supply, "'x' * 10**9")).error.startswith("MemoryError")
        assert (supply.layers, supply.missing) == ((), ())


@only_unconfined
async def test_without_sandbox_what_a_run_starts_ends_with_it_and_not_with_another() -> None:
    start = "subprocess.Popen(['/bin/sleep', '600'], start_new_session=True).pid"
    orphan = (
        "int(subprocess.run(['/bin/sh', '-c', '/bin/sleep 600 >/dev/null 2>&1 & echo $!'], capture_output=True).stdout)"
    )
    code = f"import subprocess\n({start}, {orphan})"
    async with kernels(warm=2, sandbox="off") as supply, supply.take() as kernel:
        kept = (await run_in(kernel, code)).value
        ended = (await run(supply, code)).value

        await anyio.to_thread.run_sync(wait_until_gone, set(ended))
        assert all(Path(f"/proc/{pid}").exists() for pid in kept)

    wait_until_gone(set(kept))


@pytest.mark.parametrize("sandbox", ["strict", "standard"])
def test_a_system_that_cannot_confine_processes_refuses_them_in_a_sentence(
    sandbox: Literal["strict", "standard"],
) -> None:
    with pytest.raises(
        KernelStartError,
        match=r"a process cannot be confined on plan9; `execution\.engine: wasm` runs code as a component",
    ):
        launch_zygote(ExecutionSettings(sandbox=sandbox, engine="process"), system="plan9")


def test_a_system_that_cannot_fork_refuses_runs_in_a_sentence() -> None:
    with pytest.raises(KernelStartError, match=r"runs need Linux or macOS; on Windows, use OneTool in WSL2"):
        launch_zygote(ExecutionSettings(), system="win32")


@pytest.mark.parametrize("sandbox", ["strict", "standard"])
async def test_a_system_that_cannot_confine_processes_runs_code_as_a_component(
    sandbox: Literal["strict", "standard"],
) -> None:
    require_component()
    settings = ExecutionSettings(warm=1, sandbox=sandbox, engine="auto")
    async with open_supply(launch_zygote(settings, system="plan9")) as supply:
        assert (await run(supply, "6 * 7")).value == 42
        assert (supply.engine, supply.layers) == ("wasm", ("wasm",))


async def test_a_system_that_cannot_confine_runs_has_limits_where_that_was_asked_for() -> None:
    settings = ExecutionSettings(warm=1, sandbox="off", memory=64 * 1024**2, engine="process")
    async with open_supply(launch_zygote(settings, system="plan9")) as supply:
        assert (await run(supply, "open('/proc/self/comm').read()")).message["op"] == "value"
        assert (await run(supply, "'x' * 10**9")).error.startswith("MemoryError")
        assert (supply.layers, supply.missing) == ((), ())


@pytest.mark.parametrize("sandbox", ["strict", "standard"])
async def test_processes_are_refused_where_the_system_lacks_a_layer(tmp_path: Path, sandbox: str) -> None:
    async with other_system("lacking", tmp_path, sandbox=sandbox, engine="process") as supply:
        with pytest.raises(SandboxError, match="landlock"):
            await run(supply, "1")


@pytest.mark.parametrize("engine", ["auto", "process"])
async def test_processes_run_without_a_layer_that_a_person_does_without(tmp_path: Path, engine: str) -> None:
    settings: dict[str, Any] = {"engine": engine, "without": ["landlock"]}
    async with other_system("lacking", tmp_path, **settings) as supply, supply.take():
        assert (supply.engine, supply.layers, supply.missing) == ("process", ("seccomp",), ("landlock",))
        assert supply.written_by == "execution.without"


async def test_code_that_is_not_held_may_write_by_itself(tmp_path: Path) -> None:
    async with other_system("leaky", tmp_path, sandbox="standard", engine="process") as supply:
        async with supply.take():
            assert supply.written_by == ""  # as far as is known by then
        await until(lambda: supply.written_by == "execution.sandbox")


@pytest.mark.parametrize(("key", "value"), [("sandbox", "off"), ("writable", [Path("/tmp")])])
async def test_a_setting_may_let_code_write_by_itself(key: str, value: Any) -> None:
    async with kernels(warm=1, **{key: value}) as supply:
        assert supply.written_by == f"execution.{key}"


@pytest.mark.parametrize(
    ("system", "sandbox"),
    [("lacking", "standard"), ("lacking", "strict"), ("failing", "standard"), ("leaky", "strict")],
)
async def test_code_runs_as_a_component_where_a_process_is_not_held(tmp_path: Path, system: str, sandbox: str) -> None:
    require_component()
    async with other_system(system, tmp_path, sandbox=sandbox) as supply:
        assert (await run(supply, "1 + 1")).value == 2
        assert (await run(supply, "open('/etc/hostname')")).error.startswith(("PermissionError", "FileNotFoundError"))
        assert (supply.engine, supply.layers[0], supply.missing) == ("wasm", "wasm", ())


async def test_without_wasmtime_a_run_is_refused_with_the_reason_and_the_command(tmp_path: Path) -> None:
    async with other_system("lacking", tmp_path, has_wasmtime=False) as supply:
        with pytest.raises(KernelStartError) as refused:
            await run(supply, "1")

    reason, remedy = refused.value.reason.split("; ")
    assert reason == (
        "this system cannot confine a process (landlock), and the engine wasm cannot be used: wasmtime is not installed"
    )
    assert "[wasm]" in remedy


async def test_a_run_goes_on_when_the_engine_has_to_change(tmp_path: Path) -> None:
    require_component()
    async with other_system("leaky", tmp_path) as supply:
        async with supply.take():
            pass
        async with supply.take() as kernel:
            await until(lambda: supply._choice.due)
            assert (supply.engine, kernel.has_ended()) == ("process", False)

        assert (await run(supply, "1 + 1")).value == 2
        assert supply.engine == "wasm"


@pytest.mark.parametrize("system", ["failing", "failing late"])
@pytest.mark.parametrize("sandbox", ["strict", "standard"])
async def test_a_layer_that_exists_but_fails_refuses_every_run(tmp_path: Path, sandbox: str, system: str) -> None:
    async with other_system(system, tmp_path, sandbox=sandbox, engine="process") as supply:
        if system == "failing late":  # after the kernel was announced, when it may have been taken already
            await until(lambda: supply._refused is not None)
        for _ in range(2):
            with pytest.raises(SandboxError, match="landlock: Operation not permitted"):
                await run(supply, "1")


async def test_a_run_that_waits_for_the_component_to_be_compiled_says_so(tmp_path: Path) -> None:
    told: list[str] = []

    async def hear(_done: float, _total: float | None, message: str) -> None:
        told.append(message)

    async with other_system("compiling", tmp_path) as supply:
        for _ in range(2):
            with anyio.fail_after(60):
                async with supply.take(progress=hear):
                    pass

    assert told == [COMPILING]


@pytest.mark.parametrize("key", ["readable", "writable"])
async def test_on_the_engine_wasm_a_single_file_is_refused_by_name(tmp_path: Path, key: str) -> None:
    file = tmp_path / "facts.csv"
    file.touch()
    settings: dict[str, Any] = {"engine": "wasm", key: (file,)}

    async with kernels(**settings) as supply:
        with pytest.raises(KernelStartError, match=f"execution.{key} names the file {file}.*only folders"):
            await run(supply, "1")


async def test_kernels_that_never_get_ready_refuse_runs_with_what_they_said(tmp_path: Path) -> None:
    reason = "no kernel was ready after 4 s; kernels keep ending before they are ready; MemoryError: no room to live"
    async with other_system("stillborn", tmp_path, patience=4) as supply:
        with pytest.raises(KernelStartError, match=reason):
            await run(supply, "1")


async def test_a_run_waits_until_kernels_can_start_again(tmp_path: Path) -> None:
    async with other_system("sickly", tmp_path) as supply:
        await until(lambda: supply._pauses.reason != "")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(take_one, supply)
            await until(lambda: len(supply._line.runs) == 1)
            (tmp_path / "healed").touch()


async def take_one(supply: KernelSupply) -> None:
    async with supply.take() as kernel:
        assert not kernel.has_ended()


async def test_strict_waits_for_a_kernel_that_has_tried_its_confinement() -> None:
    async with kernels(warm=1, sandbox="strict") as supply:
        await until(lambda: len(supply._ready) > 0)
        seen = supply._choice.probe.proven

        assert (await run(supply, "1 + 1")).value == 2
        assert (seen, supply._choice.probe.proven) in {(False, True), (True, True)}
        assert supply.missing == ()


async def test_strict_refuses_runs_where_a_layer_is_in_force_and_holds_nothing(tmp_path: Path) -> None:
    async with other_system("leaky", tmp_path, sandbox="strict", engine="process") as supply:
        with pytest.raises(SandboxError, match="a run can truncate a file"):
            await run(supply, "1")


async def test_standard_names_what_a_run_can_do_after_the_first_one(tmp_path: Path) -> None:
    async with other_system("leaky", tmp_path, engine="process") as supply:
        async with supply.take():
            assert supply.missing == ()

        await until(lambda: supply.missing == ("a guard: a run can truncate a file", "a guard: a run can fork"))
        async with supply.take():
            pass  # it is named, and runs go on


@pytest.mark.parametrize(
    "code",
    [
        "import mimetypes\nmimetypes.guess_type('a.png')[0] == 'image/png'",
        "import mimetypes\nmimetypes.init()\nmimetypes.add_type('x/y', '.xy')\nmimetypes.guess_extension('x/y') == '.xy'",
        "import locale\nlocale.setlocale(locale.LC_ALL, '')\nlocale.getpreferredencoding().lower() == 'utf-8'",
        pytest.param(
            "import ssl\nssl.get_default_verify_paths()\nlen(ssl.create_default_context().get_ciphers()) > 0",
            marks=only_native,
        ),
        "import hashlib\nlen(hashlib.new('sha256').hexdigest()) == 64",
        "import netrc\ntry:\n    netrc.netrc()\nexcept FileNotFoundError:\n    gone = True\ngone",
        "import webbrowser\ntry:\n    webbrowser.get()\nexcept webbrowser.Error:\n    none = True\nnone",
        "import configparser\nconfigparser.ConfigParser().read(['/etc/hosts', '/etc/nothing', 'setup.cfg']) == []",
        "import platform\nplatform.platform().startswith(('Linux', 'wasi'))",
        "import email.utils\n'@' in email.utils.make_msgid()",
        "import gettext, argparse\ngettext.install('none')\n'usage' in argparse.ArgumentParser(prog='x').format_help()",
        "import zoneinfo, time\ntime.tzset()\nlen(zoneinfo.available_timezones()) >= 0",
        "import urllib.request\nurllib.request.build_opener()\nurllib.request.getproxies() == {}",
        "import uuid\nlen(str(uuid.uuid1())) == 36",
        pytest.param("import ctypes.util\nctypes.util.find_library('no such library') is None", marks=only_native),
    ],
    ids=lambda code: code.split()[1].rstrip(","),
)
async def test_the_standard_library_finds_no_file_that_it_may_not_open(supply: KernelSupply, code: str) -> None:
    assert (await run(supply, code)).value is True


def test_every_list_of_file_types_that_a_system_may_have_can_be_read() -> None:
    assert set(mimetypes.knownfiles) <= set(zygote_process.SYSTEM_FACTS)


async def test_what_the_configuration_opens_can_be_read_and_written(tmp_path: Path) -> None:
    for name in ("open", "shut", "box"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    code = f"""
def outcome(name, mode):
    try:
        with open(f"{tmp_path}/{{name}}/file", mode) as file:
            return file.read() if mode == "r" else file.write("new")
    except (PermissionError, FileNotFoundError):
        return "refused"
[outcome(name, mode) for name in ("open", "shut", "box") for mode in "rw"]
"""
    async with kernels(
        warm=1,
        readable=[tmp_path / "open", tmp_path / "missing", tmp_path / "open" / "file" / "x"],
        writable=[tmp_path / "box"],
    ) as supply:
        assert (await run(supply, code)).value == ["open", "refused", "refused", "refused", "box", 3]

    assert (tmp_path / "box" / "file").read_text() == "new"


@pytest.mark.only_as_process("only whole folders can be opened for code there; a single file is refused at the start")
async def test_one_file_can_be_opened_without_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("mine")
    (tmp_path / "two").write_text("yours")

    async with kernels(warm=1, readable=[tmp_path / "one"]) as supply:
        assert (await run(supply, f"open('{tmp_path}/one').read()")).value == "mine"
        assert (await run(supply, f"open('{tmp_path}/two').read()")).error.startswith("PermissionError")


@pytest.mark.only_as_process("each folder opened for code is an open descriptor there")
async def test_many_readable_folders_leave_a_kernel_no_descriptor_of_theirs(tmp_path: Path) -> None:
    folders = [tmp_path / str(number) for number in range(100)]
    for folder in folders:
        folder.mkdir()
    look = (
        "import os\ndef is_open(fd):\n    try:\n        os.fstat(fd)\n    except OSError:\n        return False\n"
        "    return True\n[fd for fd in range(2000) if is_open(fd)]"
    )

    async with kernels(warm=2, readable=folders) as supply:
        await until(lambda: len(supply._ready) == 2)

        assert (await run(supply, look)).value == [0, 1, 2, 3, 4]
