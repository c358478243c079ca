"""A kernel process around an instance of the component: it passes messages between the instance and the server."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import select
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from wasmtime import Config, Engine, ExitTrap, Store, WasiConfig
from wasmtime import _bindings as bindings
from wasmtime.component import Component, Linker

from ot_kernel import child
from ot_kernel.wire import Channel, Message, frame
from ot_wasm.text_functions import add_text_function

if TYPE_CHECKING:
    import signal
else:
    import _signal as signal

STACK = 6 * 1024 * 1024  # bytes; the system gives a process eight
_TIME_IS_OVER, _WHERE = 1, 2
_LONGEST_PAUSE = 3600  # seconds
_PENDING: dict[int, int] = {child.INTERRUPT: _TIME_IS_OVER, child.WHERE: _WHERE, child.DUMP: _WHERE}
_TOO_DEEP: Message = {
    "op": "error",
    "type": "RecursionError",
    "message": "the code calls itself, or nests a value, more deeply than the engine wasm can follow",
    "frames": [],
    "names": [],
    "notes": [],
}


def open_engine() -> Engine:
    """Return an engine with the settings that the component is compiled with."""
    config = Config()
    config.macos_use_mach_ports = False  # what handles them is a thread, and a forked kernel would not have it
    # No stack may be larger than that of asynchronous code, for which the package has no setting of its own.
    vars(bindings)["dll"].wasmtime_config_async_stack_size_set(config.ptr(), ctypes.c_size_t(2 * STACK))
    config.max_wasm_stack = STACK
    return Engine(config)


class WasmKernels:
    """The component, loaded once in the zygote; each kernel has an instance of its own, which is never used again."""

    def __init__(self, file: str, memory: int, folders: Mapping[str, bool], path: Sequence[str]) -> None:
        """Load the compiled component. `folders` are open to code beside its own, those that are True for writing."""
        self._folders = folders
        self._path = list(path)
        self._channel: Channel
        self._last = False  # the line that is asked for is that of code which is about to be killed
        engine = open_engine()
        component = Component.deserialize_file(engine, file)
        linker = Linker(engine)
        linker.add_wasip2()
        with linker.root() as root:
            for exchange in (self.tell, self.hear, self.ask):
                add_text_function(root, exchange.__name__, exchange, _end)
            for function in (self.pending, self.pause, self.at_line, self.exit):
                root.add_func(function.__name__.replace("_", "-"), function)
        self._store = Store(engine)
        self._store.set_limits(memory_size=memory)
        self._instance = linker.instantiate(self._store, component)

    def run_kernel(self, start: child.KernelStart) -> NoReturn:
        """Live the whole life of a forked kernel."""
        self._live(start, "run", start.scratch.path, self._path)
        while True:
            signal.pause()

    def probe_kernel(self, outside: str | None, start: child.KernelStart) -> NoReturn:
        """Become a kernel in which nothing is run, and tell what an instance can do that it must not."""
        broken = self._live(start, "probe", outside or "", probe=True)
        self._channel.send({"op": "probed", "broken": broken})
        while True:
            signal.pause()

    def _live(self, start: child.KernelStart, export: str, *args: object, probe: bool = False) -> Any:
        start.confinement.layers.append("wasm")
        self._channel = child.become_kernel(start, probe=probe)
        self._wake_at_signals()
        wasi = WasiConfig()
        wasi.argv = ("-c",)  # as code of a process finds it
        wasi.inherit_stdout()
        wasi.inherit_stderr()
        for folder, mutable in {**self._folders, start.scratch.path: True}.items():
            wasi.preopen_dir(folder, folder, mutable)
        self._store.set_wasi(wasi)
        function = self._instance.get_func(self._store, export)
        assert function is not None, "the component was made with another `kernel.wit`"
        try:
            return function(self._store, *args)
        except ExitTrap as error:
            os._exit(error.code)
        except Exception as error:  # noqa: BLE001 - a trap, or what our functions raised at what code gave them
            if "call stack exhausted" not in str(error):
                _end(error)
            self._channel.send(_TOO_DEEP)
            while True:
                signal.pause()

    def _wake_at_signals(self) -> None:
        """Have the numbers of signals in a pipe: what waits for it misses none."""
        self._woken, wake = os.pipe()
        for fd in (self._woken, wake):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        faulthandler.unregister(child.DUMP)  # it would dump the frames of this process
        for number in _PENDING:
            signal.signal(number, _do_nothing)
        self._poll = select.poll()
        self._poll.register(self._woken, select.POLLIN)
        self._poll.register(child.SERVER_FD, select.POLLIN)

    # -- the functions of `kernel.wit`

    def tell(self, message: bytes) -> None:
        self._channel.write(frame(message))

    def hear(self) -> bytes:
        if not self._channel.has_frame():
            self._channel.spin()
            if any(fd == self._woken for fd, _ in self._poll.poll()):
                return b""
        return self._channel.receive_frame()

    def ask(self, message: bytes) -> bytes:
        self._channel.write(frame(message))
        return self.hear()

    def pending(self, _: object) -> int:
        try:
            numbers = os.read(self._woken, 64)
        except BlockingIOError:
            return 0
        self._last = child.DUMP in numbers
        bits = {_PENDING[number] for number in numbers if number in _PENDING}
        return sum(bits)

    def pause(self, _: object, seconds: float) -> None:
        select.select([self._woken], [], [], min(max(0, seconds), _LONGEST_PAUSE))

    def at_line(self, _: object, line: int) -> None:
        form = b'(most recent call first):\n  File "<run>", line %d\n' if self._last else b"[line %d]\n"
        os.write(child.DUMP_FD, form % line)

    def exit(self, _: object, status: int) -> NoReturn:
        os._exit(status & 0xFF)


def _end(error: Exception) -> NoReturn:
    """End the process for a trap, or for what our functions raised; the server is told why."""
    os.write(child.DUMP_FD, str(error).encode()[-3000:])
    os.abort()


def _do_nothing(_signum: int, _frame: FrameType | None) -> None: ...
