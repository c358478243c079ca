"""The helper process: reads one call after the other, carries it out on its main thread, answers. And its standby.

It keeps the pipe that was its stdout for itself and points descriptor 1 at stderr, so a chatty library is harmless.
Its guardian ends it when the server is gone, also in the middle of a call.

The standby forks helpers of one module, and has imported that and the libraries of its calls. It never sees a call:
neither arguments nor files. What it forks takes its bounds on before it hears of anything.
"""

from __future__ import annotations

import inspect
import os
import resource
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from ot.context import CallContext, OwnQuestion, Part, set_current
from ot.errors import ToolError
from ot.isolate.frames import CONNECTION_VARIABLE, mark, read_frame, write_frame
from ot.registry.pack_module import import_module
from ot.values import TAKES_ROWS, Arguments, ToolValue, expanded
from ot_guardian import Ledger, adopt_orphans, divide, end_with_parent
from ot_kernel.values import UnsupportedValueError
from ot_sdk.failures import builtin_name, innermost, is_network_failure, message_of
from ot_system import has_children

if TYPE_CHECKING:
    from ot.config.models import Config
    from ot.isolate.frames import ChildContext, HelperCall
    from ot.registry.registry import ToolRegistry

_SLOT = 0  # of the ledger: one call at a time needs one


class ChildDoor:
    """The door of a call in a helper: its pack's configuration, its secrets, the project's folder; no other tools."""

    def __init__(self, given: ChildContext) -> None:
        self._given = given
        self.project = Path(given["project"])

    @property
    def settings(self) -> Config:
        raise ToolError("an isolated tool sees its own pack's configuration only")

    @property
    def registry(self) -> ToolRegistry:
        raise ToolError("an isolated tool does not see other tools")

    def options_of(self, tool: str) -> Mapping[str, object]:
        return self._given["config"]

    def state_of(self, tool: str) -> Path:
        if (state := self._given["state"]) is None:
            raise ToolError(f"{tool} does not declare that it reads or writes {{state}}")
        return Path(state)

    def output_of(self, tool: str, argument: str) -> Path:
        """Return a place in the folder of this process, which the server looks into after the call."""
        if argument not in self._given["outputs"]:
            raise ToolError(f"{tool} was given no {argument}, or does not declare it as an output")
        place = Path(os.environ["TMPDIR"], self._given["outputs"][argument])
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    def secret_for(self, tool: str, name: str) -> str:
        if name not in self._given["secrets"]:
            raise ToolError(f"the secret {name} is not set, or not declared by the pack of {tool}")
        return self._given["secrets"][name]

    def part(self, kind: type[Part]) -> Part:
        raise ToolError(f"an isolated tool cannot use {kind.__name__}: it may only use what it was given")

    async def call_within(self, context: CallContext, name: str, arguments: Arguments) -> ToolValue:
        raise ToolError(f"an isolated tool cannot call {name}: it may only use what it was given")

    async def progress_within(self, context: CallContext, done: float, total: float | None, message: str) -> None:
        """Do nothing: a helper process is not listened to until it is done."""

    async def ask_within(self, context: CallContext, asked: OwnQuestion) -> bool:
        raise ToolError("an isolated tool cannot ask a person")

    async def admit_within(self, context: CallContext, names: tuple[str, ...], arguments: Arguments) -> None:
        raise ToolError(f"an isolated tool cannot get {names[0]}: it may only use what it was given")

    def hold_within(self, context: CallContext) -> AbstractContextManager[None]:
        """There is no clock in here: the server counts the time of the call."""
        return nullcontext()


def main(memory: int, ledger: Ledger, guarded: int) -> None:
    """Carry out calls; `memory` is the bytes of data it may hold, `guarded` ends when the guardian is there."""
    # Both pipes move to descriptors that no other code knows and no child inherits.
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    os.read(guarded, 1)
    os.close(guarded)
    adopt_orphans()
    end_with_parent()
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    known = set(sys.modules)
    while (call := read_frame(requests)) is not None:
        ledger.begin(_SLOT, call["number"])
        frame = _answer(call, known)
        replies.write(mark(frame) if has_children() else frame)  # orphans of what it started are its own
        replies.flush()
    os._exit(0)


def _answer(call: HelperCall, known: set[str]) -> bytes:
    try:
        return write_frame({"value": _carry_out(call), "imported": _imported(known)})
    except UnsupportedValueError as error:
        return write_frame({"error": "tool", "message": f"its result cannot be returned: {error}"})
    except ToolError as error:
        return write_frame({"error": "tool", "message": error.message})
    except BaseException as error:  # noqa: BLE001 - the loop of a helper answers whatever a tool does
        import traceback  # noqa: PLC0415 - a call that succeeds has no need of it

        cause = innermost(error)
        return write_frame(
            {
                "error": "network" if is_network_failure(cause) else "failure",
                "kind": builtin_name(cause),
                "message": message_of(cause),
                "traceback": "".join(traceback.format_exception(error))[-8000:],
            }
        )


def _imported(known: set[str]) -> list[str]:
    """List the modules, other than Python's own, that are new; they are known from now on."""
    new = [name for name in sys.modules.copy() if name not in known]
    known.update(new)
    return [name for name in new if name.partition(".")[0] not in sys.stdlib_module_names]


def _carry_out(call: HelperCall) -> object:
    if call["context"] is not None:
        set_current(CallContext(call["context"]["tool"], ChildDoor(call["context"])))
    function = getattr(import_module(call["module"]), call["function"])
    given = call["arguments"]
    value = function(**given if getattr(function, TAKES_ROWS, False) else expanded(given))
    if not inspect.iscoroutine(value):
        return value
    import asyncio  # noqa: PLC0415 - most helpers have no need of it

    return asyncio.run(value)


def stand_by(control: int) -> None:
    """Fork helpers until the server goes away."""
    from ot_confinement.program import CONFINES_ITSELF  # noqa: PLC0415 - a helper of its own needs none
    from ot_guardian.standby import Standby  # noqa: PLC0415

    if not CONFINES_ITSELF:
        return  # what it forked would have no bounds: each helper is started within its own
    os.environ["HOME"] = "/nonexistent"  # a library that is imported here is not to look at the person's own files
    for name in [name for name in os.environ if name.startswith("XDG_")]:
        del os.environ[name]
    Standby(control, _live, _load).serve()


def _live(words: list[str], ledger: Ledger, others: list[int]) -> None:
    memory, confine = words
    if others:
        os.environ[CONNECTION_VARIABLE] = str(others[0])
    # At once: what a helper does is of no use to anybody when its server is gone.
    guarded = divide(ledger, grace=0.0, confine=confine)
    main(int(memory), ledger, guarded)


def _load(module: str) -> None:
    try:
        import_module(module)
    except BaseException:  # noqa: BLE001 - the call that imports it itself tells what is wrong with it
        pass
    sys.stdout.flush()  # what it has printed is not to come out of every helper
    tempfile = sys.modules.get("tempfile")
    if tempfile is not None:
        vars(tempfile)["tempdir"] = None  # each helper has a folder of its own
