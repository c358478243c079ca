"""A skill inside a kernel: the code of a file, executed in the run that calls it as if it stood there.

The server has checked the arguments and what the file looks like. The function in it only says what a call takes: its
body is code as in a run, and runs as a module of its own, in which the arguments are names.
"""

from __future__ import annotations

import ast
import io
import linecache
import sys
from _thread import _local
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from ot_kernel.compiler import Program, compile_tree
from ot_kernel.executing import NOTHING, execute, fill_scope
from ot_kernel.pack_proxy import PackProxy, build_error
from ot_kernel.wire import Channel, Message

if TYPE_CHECKING:
    from ot_kernel.message_types import SkillSource

MOST_NESTED = 16  # skills that call skills


class _Running(_local):
    """The skills that a thread is in the middle of, outermost first."""

    names: tuple[str, ...] = ()


class _Compiled(NamedTuple):
    """A skill, ready to be executed as often as it is called."""

    program: Program
    parameters: tuple[str, ...]
    defaults: dict[str, object]


_running = _Running()
_compiled: dict[tuple[str, str], _Compiled] = {}


def run_skill(
    skill: SkillSource,
    args: tuple[object, ...],
    kwargs: dict[str, object],
    channel: Channel,
    packs: dict[str, PackProxy],
    aliases: dict[str, str],
) -> object:
    """Execute a skill with arguments that fit it, and return its value; what its code raises comes out of here."""
    name, file, source = skill["name"], skill["file"], skill["source"]
    if len(_running.names) >= MOST_NESTED:
        way = " > ".join((*_running.names, name)[-4:])
        raise RecursionError(f"skills call skills more than {MOST_NESTED} deep: ... > {way}")
    ready = _compiled.get((file, source))
    if ready is None:
        linecache.cache[file] = (len(source), None, io.StringIO(source, newline=None).readlines(), file)
        ready = _compile(source, file, packs, aliases)
        _judge(ready.program, name, file, channel)
        _compiled[file, source] = ready
    scope: dict[str, object] = {"__name__": "__main__"}
    fill_scope(scope, ready.program, packs, file)
    scope.update({**ready.defaults, **dict(zip(ready.parameters, args, strict=False)), **kwargs})
    return _out_of_loop(lambda: _execute(name, ready.program, scope, source))


def _compile(source: str, file: str, packs: dict[str, PackProxy], aliases: dict[str, str]) -> _Compiled:
    module = ast.parse(source, file)
    function = next(node for node in module.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    imports = [node for node in module.body if isinstance(node, ast.Import | ast.ImportFrom)]
    body = function.body[int(ast.get_docstring(function, clean=False) is not None) :]
    parameters = tuple(node.arg for node in (*function.args.args, *function.args.kwonlyargs))
    values = [*function.args.defaults, *function.args.kw_defaults]
    missing = len(parameters) - len(values)
    defaults = {
        name: ast.literal_eval(value)
        for name, value in zip(parameters[missing:], values, strict=True)
        if value is not None
    }
    tree = ast.Module(body=[*imports, *body], type_ignores=[])
    return _Compiled(
        compile_tree(tree, packs=packs, aliases=aliases, given=parameters, file=file), parameters, defaults
    )


def _judge(program: Program, name: str, file: str, channel: Channel) -> None:
    """Have the server look at the calls that the skill is certain to make, before it makes any."""
    if program.references:
        question: Message = {"op": "judge", "name": name, "file": file, "references": program.references}
        error = channel.ask(question).get("error")
        if error is not None:
            raise build_error(error["kind"], error["message"])


def _execute(name: str, program: Program, scope: dict[str, object], source: str) -> object:
    before = _running.names
    _running.names = (*before, name)
    try:
        value = execute(program, scope, source)
    finally:
        _running.names = before
    return None if value is NOTHING else value


def _out_of_loop(work: Callable[[], object]) -> object:
    """Do the work in a thread of its own if this one is running an event loop: the skill may want one as well."""
    if not _is_running_loop():
        return work()
    if sys.platform == "wasi":
        return _instead_of_loop(work)
    import threading  # noqa: PLC0415 - asyncio has loaded it

    outcome: list[tuple[object, BaseException | None]] = []
    names = _running.names

    def run() -> None:
        _running.names = names
        try:
            outcome.append((work(), None))
        except BaseException as error:  # noqa: BLE001 - handed to the thread that called the skill
            outcome.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join()
    value, failure = outcome[0]
    if failure is not None:
        raise failure
    return value


def _instead_of_loop(work: Callable[[], object]) -> object:
    """Do the work in this thread, which is the only one, as if it ran no event loop."""
    import asyncio.tasks  # noqa: PLC0415 - it has been loaded

    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    if task is not None:
        asyncio.tasks._leave_task(loop, task)  # noqa: SLF001 - its documented name
    asyncio._set_running_loop(None)  # noqa: SLF001 - the same
    try:
        return work()
    finally:
        asyncio._set_running_loop(loop)  # noqa: SLF001 - the same
        if task is not None:
            asyncio.tasks._enter_task(loop, task)  # noqa: SLF001 - the same


def _is_running_loop() -> bool:
    """True if this thread is inside an event loop; where asyncio is only being loaded, by another one, it is not."""
    find = getattr(sys.modules.get("_asyncio"), "get_running_loop", None)
    try:
        return find is not None and find() is not None
    except RuntimeError:
        return False
