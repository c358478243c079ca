"""The loop of a worker: reads calls, carries several out at once, answers each under its number.

Its threads take turns to read. The one whose turn it is carries a call of a plain tool out itself. If nothing else is
going on it keeps its turn meanwhile, which saves waking another thread, and a watch relieves it of it where the call
takes long; otherwise the next thread reads on at once. Calls of `async def` tools go to an event loop beside them, so
that one which blocks the loop keeps nothing else waiting.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from contextvars import copy_context
from types import ModuleType

from ot_guardian import VARIABLE, Ledger, inherit_ledger
from ot_sdk import protocol
from ot_sdk.calls import Call, answer_with, answer_with_error, is_async, list_tools, needs_loop
from ot_sdk.channel import Channel, Turns, take_channel
from ot_sdk.host import CURRENT, PROCESS, Host
from ot_sdk.protocol import ProtocolError

TYPE_CHECKING = False  # typing itself takes longer to import than all of a worker
if TYPE_CHECKING:
    from typing import NoReturn

    from ot_sdk.event_loop import EventLoop
    from ot_sdk.json_types import Message, Params


def serve() -> None:
    """Serve the tools of the file that is being run: for `if __name__ == "__main__":` at its end.

    With arguments, or at a terminal, it is a small command line: `file.py TOOL name=value`. Otherwise it reads calls
    from stdin and answers on stdout. Under a server that has loaded the file by itself there is nothing left to do.
    """
    if PROCESS.host is not None:
        return
    module = sys.modules["__main__"]
    if VARIABLE in os.environ:
        ledger = inherit_ledger()
        channel = take_channel()
        start = channel.receive()
        if start is not None:
            Server(channel, ledger).serve(module, start)
    elif len(sys.argv) > 1 or sys.stdin.isatty():
        from ot_sdk.by_hand import run_command  # noqa: PLC0415 - a worker has no need of it

        sys.exit(run_command(module, sys.argv[1:]))
    else:
        Server(take_channel(), None).serve(module, None)


class Server:
    """Serves one module until the other side is gone. Without a ledger it was started by hand."""

    def __init__(self, channel: Channel, ledger: Ledger | None) -> None:
        self._channel = channel
        self._ledger = ledger
        self._module: ModuleType
        self._pid = os.getpid()
        self._host = Host(channel.send)
        self._calls: dict[int, Call] = {}
        self._loop: EventLoop | None = None
        self._turns = Turns(self._work)
        self._counting = threading.Lock()
        self._last_calls = False  # nothing more will come
        self._host.before_waiting = self._turns.relieve

    def take_start(self, start: Message) -> None:
        """Take over configuration and secrets, before the file is imported, which may ask for them."""
        params = start.get("params") or {}
        PROCESS.host = self._host
        PROCESS.pack = params.get("pack", "")
        PROCESS.config = params.get("config") or {}
        PROCESS.secrets = params.get("secrets") or {}
        PROCESS.log_level = params.get("log_level", 20)

    def serve(self, module: ModuleType, start: Message | None) -> None:
        """Say that the module is ready, and serve it on this thread and as many others as it takes; never returns."""
        self._module = module
        if start is not None:
            self.take_start(start)
            if any(map(is_async, vars(module).values())):
                self._event_loop()  # now: importing asyncio is part of starting, not of the first call
            self._channel.send(protocol.write_result(start["id"], {"pid": self._pid, "tools": list_tools(module)}))
        self._work()

    # -- threads

    def _work(self) -> None:
        """Wait for the turn to read, read, carry out: the loop of every thread."""
        try:
            while True:
                call = self._turns.take() or self._read()
                if call is not None:
                    copy_context().run(self._carry_out, call)
        except BaseException:  # noqa: BLE001 - a thread that is missing would be a hang; an end is seen and told
            import traceback  # noqa: PLC0415 - a worker that is well has no need of it

            traceback.print_exc()
            os._exit(70)

    def _read(self) -> Call | None:
        """Read until a call needs the turn to be given up; None if another thread has taken the turn."""
        while True:
            message = self._receive()
            if message is None:
                threading.Event().wait()  # whoever finishes the last call ends the process
                continue
            call = self._handle(message)
            if call is None:
                continue
            if len(self._calls) == 1 and not self._channel.pending:
                self._turns.keep(call)
                copy_context().run(self._carry_out, call)
                if not self._turns.resume(call):
                    return None
            elif self._turns.pass_on(call):
                return call

    # -- messages

    def _receive(self) -> Message | None:
        """Wait for the next message; None if no more will come and calls are still in progress."""
        try:
            message = self._channel.receive()
        except ProtocolError as error:
            os.write(2, f"the other side broke the protocol: {error}\n".encode())
            message = None
        if message is None:
            self._end()
        return message

    def _handle(self, message: Message) -> Call | None:
        """Handle a message; return the call if it is for a plain tool."""
        if "method" not in message:
            self._host.resolve(message.get("id"), message)
        elif message["method"] == "call":
            return self._accept(message["id"], message.get("params") or {})
        elif message["method"] == "cancel":
            self._cancel(message["params"]["id"])
        return None

    def _accept(self, number: int, params: Params) -> Call | None:
        function = getattr(self._module, str(params.get("tool")), None)
        if not callable(function):
            reason, tools = f"the file has no function {params.get('tool')}", list_tools(self._module)
            self._channel.send(protocol.write_error(number, protocol.NO_SUCH_TOOL, reason, tools=tools))
            return None
        call = self._calls[number] = Call(number, function, params)
        if is_async(function):
            self._event_loop().start(call)
            return None
        return call

    def _cancel(self, number: int) -> None:
        if (call := self._calls.get(number)) is not None:  # else it is answered already
            call.cancelled = True
            self._host.abandon(call)
            if self._loop is not None:
                self._loop.cancel(call)

    def _end(self) -> None:
        """End because the other side is gone. A server needs no more answers; a person who started the file does."""
        with self._counting:
            self._last_calls = True
            busy = bool(self._calls)
        if self._ledger is not None or not busy:
            _exit()

    # -- calls

    def _carry_out(self, call: Call) -> None:
        CURRENT.set(call)  # in a context of its own
        value: object = None
        error: BaseException | None = None
        try:
            self._begin(call)
            value = call.invoke()
            if needs_loop(value):
                self._event_loop().start(call, value)
                return
        except BaseException as raised:  # noqa: BLE001 - the loop of a worker answers whatever a tool does
            error = raised
        self._finish(call, value, error)

    def _begin(self, call: Call) -> None:
        if self._ledger is not None and call.slot is not None:
            self._ledger.begin(call.slot, call.number)

    def _finish(self, call: Call, value: object, error: BaseException | None) -> None:
        if os.getpid() != self._pid:
            os._exit(1)  # a child that the tool forked, and that came back here: the answer is its parent's to give
        line = answer_with(call, value) if error is None else answer_with_error(call, error)
        try:
            self._channel.send(line)
        except OSError:
            pass  # nobody is there any more; whoever reads will see it too
        with self._counting:
            self._calls.pop(call.number, None)
            last = self._last_calls and not self._calls
        if last:
            _exit()

    def _event_loop(self) -> EventLoop:
        from ot_sdk.event_loop import EventLoop  # noqa: PLC0415 - asyncio takes longer than all of ot_sdk

        with self._counting:
            if self._loop is None:
                self._loop = EventLoop(self._begin, self._finish)
            return self._loop


def _exit() -> NoReturn:
    """End now, whatever other threads do, but let the extension tidy up first."""
    atexit._run_exitfuncs()  # noqa: SLF001 - nothing else runs them without waiting for every thread
    try:
        sys.stdout.flush()  # stderr is never held back
    except (OSError, ValueError):
        pass
    os._exit(0)
