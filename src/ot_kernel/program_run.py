"""One program, from text to reply: compile, ask whether its references hold, execute, report."""

from __future__ import annotations

import errno
import gc
import io
import itertools
import linecache
import sys
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING

from ot_kernel.compiler import ENTRY, AliasCycle, compile_program
from ot_kernel.executing import NOTHING, RunInterrupted, execute, fill_scope
from ot_kernel.indentation import FILENAME
from ot_kernel.large_results import ORDINARY, set_apart
from ot_kernel.pack_proxy import PackProxy, ToolError, Tools, build_packs
from ot_kernel.parts import report_parts
from ot_kernel.values import UnsupportedValueError, encode
from ot_kernel.wire import Channel, Message

if TYPE_CHECKING:
    from ot_kernel.message_types import SkillSource

MAX_FRAMES = 20
MAX_TEXT = 4_000
MAX_NOTES = 20
_IN_COMPONENT = sys.platform == "wasi"  # where errors have fewer reasons
_DEEPEST_GROUP = 12  # characters of margin, three a level
_MOST_MEMBER_LINES = 60

_Frame = tuple[int, str, str] | tuple[int, str, str, str]  # line, function, source; the file, if it is a skill's


class ProgramRun:
    """Runs the program of one request, and puts its outcome into a message."""

    def __init__(self, channel: Channel, request: Message) -> None:
        self._channel = channel
        self._request = request
        self._source = request["code"]
        self._tools = Tools(channel, self._run_skill, self._stand_in)
        self._packs: dict[str, PackProxy] = {}
        self._skill_files: set[str] = set()

    def reply(self) -> Message:
        """Run the program; every way in which it can end has its message."""
        try:
            return self._reply_to(self._run())
        except BaseException as error:  # noqa: BLE001 - the edge: whatever the code raised is its outcome
            try:
                return self._describe(error)
            except BaseException as inner:  # noqa: BLE001 - it is made of the code's own objects
                return _describe_indescribable(error, inner)

    def _run(self) -> object:
        lines = io.StringIO(self._source, newline=None).readlines()  # split as Python does, and not at every \u2028
        linecache.cache[FILENAME] = (len(self._source), None, lines, FILENAME)
        request = self._request
        program = compile_program(
            self._source, packs=request["packs"], aliases=request["aliases"], values=request["values"]
        )
        if program.references:
            self._channel.send({"op": "references", "references": program.references})
            self._channel.receive()  # "go on"; a program that may not is killed instead
        self._packs = build_packs(self._tools, request["packs"])
        module = ModuleType("__main__")
        sys.modules["__main__"] = module
        fill_scope(module.__dict__, program, self._packs)
        return execute(program, module.__dict__, self._source)

    def _run_skill(self, skill: SkillSource, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        """Execute a skill that the code calls, in this very process."""
        from ot_kernel.skills import run_skill  # noqa: PLC0415 - most programs call none

        self._skill_files.add(skill["file"])
        return run_skill(skill, args, kwargs, self._channel, self._packs, self._request["aliases"])

    def _stand_in(self, number: int) -> object:
        """Make what stands for a result in a preview; code that needs the result itself waits for ever."""
        from ot_kernel.stand_in import StandIn  # noqa: PLC0415 - only in a preview

        return StandIn(number, lambda number, line: self._channel.ask({"op": "needed", "number": number, "line": line}))

    def _reply_to(self, value: object) -> Message:
        unseen = self._tools.parts.unseen()
        message: Message = {"op": "nothing"} if value is NOTHING else self._result(value)
        if unseen:
            message["parts"] = report_parts(unseen)
        return message

    def _result(self, value: object) -> Message:
        gc.disable()  # this process is about to end, and looking through a large result would take half of its time
        try:
            encoded = encode(value, where="the result")
        except (UnsupportedValueError, RecursionError):
            encoded = encode(repr(value))
        limit = self._request.get("limit", ORDINARY)
        return set_apart(encoded, limit=limit, write_file=self._channel.write_file) or {"op": "value", "value": encoded}

    def _describe(self, error: BaseException) -> Message:
        if isinstance(error, AliasCycle):
            return {"op": "alias_cycle", "names": error.names}
        if isinstance(error, RunInterrupted):
            frames = self._frames(error.__traceback__)
            return {"op": "interrupted", "frames": frames or [self._frame(*place) for place in error.waiting or ()]}
        if isinstance(error, SystemExit) and error.code in (None, 0):
            return {"op": "nothing"}
        frames = self._frames(error.__traceback__)
        if isinstance(error, SyntaxError) and error.lineno and error.filename in {FILENAME, *self._skill_files}:
            frames.append(self._frame(error.lineno, "<module>", str(error.filename)))
        return {
            "op": "error",
            "type": _type_name(error),
            "message": _message_of(error),
            "frames": frames[-MAX_FRAMES:],
            "names": [error.name] if isinstance(error, NameError) and isinstance(error.name, str) else [],
            "notes": [*self._members_of(error), *_notes_of(error)],
        }

    def _members_of(self, error: BaseException, margin: str = "  ") -> list[str]:
        """Describe the exceptions in a group, each with the author's lines that led to it."""
        if not isinstance(error, BaseExceptionGroup) or len(margin) > _DEEPEST_GROUP:
            return []
        described = []
        for number, member in enumerate(error.exceptions[:MAX_NOTES], 1):
            described.append(f"{margin}{number}. {_type_name(member)}: {_message_of(member)}")
            for line, function, source, *file in self._frames(member.__traceback__)[-MAX_NOTES:]:
                where = "" if function == "<module>" else f", in {function}"
                described.append(f"{margin}   {''.join(f'{name}, ' for name in file)}line {line}{where}: {source}")
            described += self._members_of(member, margin + "   ")
        if len(error.exceptions) > MAX_NOTES:
            described.append(f"{margin}and {len(error.exceptions) - MAX_NOTES} more")
        return described[:_MOST_MEMBER_LINES]

    def _frames(self, traceback: TracebackType | None) -> list[_Frame]:
        frames = []
        while traceback is not None:
            code = traceback.tb_frame.f_code
            if code.co_filename == FILENAME or code.co_filename in self._skill_files:
                name = "<module>" if code.co_name == ENTRY else code.co_name
                frames.append(self._frame(traceback.tb_lineno, name, code.co_filename))
            traceback = traceback.tb_next
        return frames

    def _frame(self, line: int, function: str, file: str = FILENAME) -> _Frame:
        frame = (line, function, linecache.getline(file, line).strip()[:200])
        return frame if file == FILENAME else (*frame, file)


def _describe_indescribable(error: BaseException, inner: BaseException) -> Message:
    """Describe an error whose parts cannot be read, or were being read when the time ran out."""
    if isinstance(inner, RunInterrupted):
        return {"op": "interrupted", "frames": []}
    message = f"(its text could not be read: {type(inner).__name__})"
    return {"op": "error", "type": _type_name(error), "message": message, "frames": [], "names": [], "notes": []}


def _message_of(error: BaseException) -> str:
    """Return what the exception says about itself; its own code may fail at that."""
    try:
        if isinstance(error, SyntaxError):
            text = str(error.msg)
        elif isinstance(error, SystemExit):
            text = f"the code ended itself with sys.exit({error.code!r})"
        else:
            text = str(error)
    except BaseException as inner:  # noqa: BLE001 - a broken __str__ must not hide the error itself
        text = f"(its text could not be read: {type(inner).__name__})"
    return _cut(text)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + "…"


def _type_name(error: BaseException) -> str:
    return _cut(type(error).__name__)


def _ran(traceback: TracebackType) -> bool:
    """True if running code raised it; the parser says MemoryError where code is nested too deeply."""
    last = traceback
    while last.tb_next is not None:
        last = last.tb_next
    return last.tb_frame.f_code.co_filename == FILENAME


def _notes_of(error: BaseException) -> list[str]:
    notes = [_cut(str(note)) for note in itertools.islice(getattr(error, "__notes__", ()), MAX_NOTES)]
    if isinstance(error, OSError) and not isinstance(error, ToolError):
        notes += _notes_of_system(error)
    elif isinstance(error, EOFError):
        notes.append("A run has no input to read from.")
    elif isinstance(error, MemoryError) and error.__traceback__ is not None and _ran(error.__traceback__):
        notes.append("The memory limit of a run is execution.memory in the configuration.")
    elif _IN_COMPONENT and isinstance(error, ModuleNotFoundError) and error.name in sys.stdlib_module_names:
        notes.append("The engine wasm does not have this module: it needs native code or a system.")
    elif _IN_COMPONENT and isinstance(error, OverflowError) and "index-sized" in str(error):
        notes.append("An object on the engine wasm has at most 2 GB.")
    cause = error.__cause__
    if cause is not None:
        notes.append(f"caused by {_type_name(cause)}: {_message_of(cause)}")
    return notes


def _notes_of_system(error: OSError) -> tuple[str, ...]:
    """Explain what the system refused; in a component it gives fewer reasons, and what is not open is not there."""
    absent = isinstance(error, FileNotFoundError) and isinstance(error.filename, str)
    if absent and not error.filename.startswith("/"):
        return (_NOT_HERE.format(path=_cut(repr(error.filename))),)
    if isinstance(error, PermissionError) and error.filename is None:
        return (_REFUSED,)
    if isinstance(error, PermissionError) or (absent and _IN_COMPONENT):
        return (_REFUSED_FILE,)
    if error.errno == errno.EIO and _IN_COMPONENT:
        return (_FULL_FILE, _FULL_FOLDER) if error.filename is None else (_FULL_TABLE,)
    return {errno.EFBIG: (_FULL_FILE,), errno.ENOSPC: (_FULL_FOLDER,)}.get(error.errno or 0, ())


_FULL_FILE = "A run may write at most 64 MB to a file, or to its output."
_FULL_FOLDER = "The scratch folder of a run holds at most 256 MB, in at most 20,000 files and folders."
_FULL_TABLE = "A run may have at most 256 files open, and a path at most 4,096 characters."
_REFUSED_FILE = (
    "A run can only open files in its own scratch folder. The pack file reaches others: file.read(path=...). "
    "The keys execution.readable and execution.writable in the configuration would let runs open more."
)
_NOT_HERE = (
    "Names in a run are looked for in its own scratch folder. Files of the project are read by packs: "
    "file.read(path={path}); file.list() lists them."
)
_REFUSED = (
    "A run can only touch its own scratch folder; it cannot start processes, open connections or share memory. "
    "Files, commands and the network are reached through packs: ot.packs() lists them."
)
