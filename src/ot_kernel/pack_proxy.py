"""The names that code finds: packs and their tools, each call one message to the server."""

from __future__ import annotations

import builtins
import importlib.machinery
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from ot_kernel.large_results import KEEP, find_value, put_aside
from ot_kernel.parts import Parts, count_items, find_parts
from ot_kernel.stored_form import read_form
from ot_kernel.values import UnsupportedValueError, Value, by_column, decode, encode
from ot_kernel.wire import Channel, Message, TooLargeError

if TYPE_CHECKING:
    import inspect

    from ot_kernel.message_types import Description, SkillSource
    from ot_kernel.values import Encoded

MAX_PARALLEL = 16

Step = Callable[[], Value]


def parallel(*calls: Step | Iterable[Step]) -> list[Value]:
    """Make several calls at once and return their values in order; the first failure is raised when all have ended.

    Example:
        ot.parallel(lambda: ot.packs(), lambda: proj.list())
        ot.parallel([lambda q=q: ot.help(query=q) for q in questions])
    """
    outcomes = _run_all(_collect(calls))
    for _, failure in outcomes:
        if failure is not None:
            raise failure
    return [value for value, _ in outcomes]


def _collect(calls: tuple[Step | Iterable[Step], ...]) -> list[Step]:
    steps: list[Step] = []
    for call in calls:
        steps.extend(call if isinstance(call, Iterable) and not callable(call) else [call])
    for step in steps:
        if not callable(step):
            raise TypeError(f"ot.parallel takes functions, not {type(step).__name__}: write lambda: pack.tool(...)")
    return steps


def _run_all(steps: list[Step]) -> list[tuple[Value, BaseException | None]]:
    import threading  # noqa: PLC0415 - loaded ahead, it would cost every fork half a millisecond

    outcomes: list[tuple[Value, BaseException | None]] = [(None, None)] * len(steps)
    waiting = iter(range(len(steps)))
    taking = threading.Lock()

    def work() -> None:
        while True:
            with taking:
                index = next(waiting, None)
            if index is None:
                return
            try:
                outcomes[index] = (steps[index](), None)
            except BaseException as error:  # noqa: BLE001 - handed to the thread that asked
                outcomes[index] = (None, error)

    threads: list[threading.Thread] = []
    for _ in range(min(MAX_PARALLEL, len(steps))):
        thread = threading.Thread(target=work, daemon=True)
        try:
            thread.start()
        except RuntimeError:
            break  # no memory for more: the threads that exist do everything, or this one if there are none
        threads.append(thread)
    if not threads:
        work()
    for thread in threads:
        thread.join()
    return outcomes


def pages(tool: ToolProxy, /, **arguments: Any) -> Iterator[Any]:
    """Return an iterator over all parts of what a tool has, for a tool with `offset` and `more`.

    Example:
        [row for part in ot.pages(excel.read, path="sales.xlsx") for row in part["rows"]]
    """
    if not isinstance(tool, ToolProxy):
        raise TypeError("ot.pages takes a tool and its arguments: ot.pages(excel.read, path=...)")
    parameters = tool.__signature__.parameters
    if "offset" not in parameters:
        raise TypeError(f"{tool.__qualname__} has no parameter offset, so ot.pages cannot ask for its next part")
    by_page = "count" in parameters  # of so many results: such an offset counts pages
    return _read_on(tool, {"offset": parameters["offset"].default, **arguments}, by_page=by_page)


def _read_on(tool: ToolProxy, arguments: dict[str, Any], *, by_page: bool) -> Iterator[Any]:
    while True:
        part: Any = tool(**arguments)
        yield part
        given = count_items(part)
        if given is None:
            return
        if not given:
            where = f"{tool.__qualname__} gave nothing at offset {arguments['offset']}"
            raise ToolError(f"{where}, though it says that there is more")
        arguments["offset"] += 1 if by_page else given


class ToolError(Exception):
    """A call to a tool that failed; it is also the builtin exception that it was, so either can be caught."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def __str__(self) -> str:
        return self.message


def build_error(kind: str, message: str) -> ToolError:
    """Build the exception for a failed call: `kind` names a builtin; any other word gives a plain ToolError."""
    builtin = getattr(builtins, kind, None)
    if not (isinstance(builtin, type) and issubclass(builtin, Exception)):
        return ToolError(message)
    try:
        error: ToolError = type(kind, (ToolError, builtin), {"__module__": "builtins"})(message)
    except TypeError:  # a builtin whose constructor wants more, such as UnicodeDecodeError
        return ToolError(message)
    return error


RunSkill = Callable[["SkillSource", tuple[object, ...], dict[str, object]], object]
"""Executes a skill with the arguments of a call."""


class Tools:
    """Asks the server everything about tools."""

    def __init__(
        self, channel: Channel, run_skill: RunSkill | None = None, stand_in: Callable[[int], object] | None = None
    ) -> None:
        self._channel = channel
        self._run_skill = run_skill
        self._stand_in = stand_in  # makes what stands for a result in a preview
        self.parts = Parts()

    def call(self, name: str, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        """Make one call and return its value; raises ToolError."""
        positional: list[object] = []
        keywords: dict[str, object] = {}
        message: Message = {"op": "call", "tool": name, "args": positional, "kwargs": keywords}
        written = encode if name == KEEP else _encode_argument  # what is kept is read by its items
        try:
            for value in args:
                positional.append(written(value))  # noqa: PERF401 - counts how far
            for key, value in kwargs.items():
                keywords[key] = written(value)
        except UnsupportedValueError as error:
            done = len(positional)
            which = done + 1 if done < len(args) else list(kwargs)[len(keywords)]
            raise UnsupportedValueError(error.reason, f"argument {which} of {name}(){error.where}") from None
        if name == KEEP:
            return self._keep(message, find_value(args, kwargs))
        answer = self._ask(message)
        if "skill" in answer and self._run_skill is not None:
            return self._run_skill(answer["skill"], args, kwargs)
        if "stand_in" in answer and self._stand_in is not None:
            return self._stand_in(answer["stand_in"])
        given = self._read(answer)
        if found := find_parts(given):
            self.parts.add(name, kwargs, found, given)
        return given

    def _keep(self, message: Message, value: object) -> object:
        try:
            file = put_aside(message, value, self._channel.write_file)
        except OSError as error:
            reason = f"the value was not kept: it cannot be written ({error.strerror}); a run's file holds up to 64 MB"
            raise build_error("ValueError", reason) from None
        try:
            answer = self._ask(message)
            if "stand_in" in answer and self._stand_in is not None:
                return self._stand_in(answer["stand_in"])
            return self._read(answer)
        finally:
            if file is not None:
                self._channel.remove_file(file)

    def attribute(self, pack: str, name: str) -> Value:
        """Look up `pack.name`: None for a tool, otherwise a value; raises AttributeError."""
        return self._value({"op": "attribute", "pack": pack, "name": name})

    def describe(self, name: str) -> Description:
        described: Any = self._value({"op": "describe", "name": name})
        description: Description = described
        return description

    def _value(self, message: Message) -> Value:
        return self._read(self._ask(message))

    def _ask(self, message: Message) -> Message:
        try:
            answer = self._channel.ask(message)
        except TooLargeError as found:
            reason = f"the arguments of {message.get('tool')} have {found}; call it once for each part of them"
            raise build_error("ValueError", reason) from None
        error = answer.get("error")
        if error is not None:
            raise build_error(error["kind"], error["message"])
        return answer

    def _read(self, answer: Message) -> Value:
        if "file" not in answer:
            return decode(answer.get("value"))
        try:  # written by another run
            return read_form(self._channel.read_file(answer["file"]), answer["kind"])
        except (OSError, ValueError) as error:
            raise build_error("ValueError", f"the stored result cannot be read: {error}") from None


def _encode_argument(value: object) -> Encoded:
    packed = by_column(value)
    try:
        return encode(packed)
    except UnsupportedValueError:
        return encode(value)  # which says where it is


class ToolProxy:
    # One tool, callable as a function is; its documentation is asked for when somebody reads it.
    __doc__: Any = property(lambda self: self._tools.describe(self.__qualname__)["doc"])

    def __init__(self, name: str, tools: Tools) -> None:
        self._tools = tools
        self.__name__ = name.partition(".")[2]
        self.__qualname__ = name
        self.__module__ = name.partition(".")[0]

    def __call__(self, /, *args: object, **kwargs: object) -> object:
        return self._tools.call(self.__qualname__, args, kwargs)

    @property
    def __signature__(self) -> inspect.Signature:
        import inspect  # noqa: PLC0415 - only for code that looks: what is loaded ahead makes every fork dearer

        text = self._tools.describe(self.__qualname__)["signature"].partition(".")[2]
        scope: dict[str, Any] = {}
        exec(f"from __future__ import annotations\ndef {text}: ...", scope)
        # Not by the proxy's name: that may be the name that a server uses, which is not an identifier.
        return inspect.signature(scope[text.partition("(")[0]])

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{self.__qualname__} is a tool and has no attribute {name!r}; call it")

    def __repr__(self) -> str:
        return f"<tool {self.__qualname__}>"


class PackProxy(ModuleType):
    # One pack. Tools that preflight has seen are known; any other attribute is the server's to answer.
    __doc__: Any = property(lambda self: _tools_of(self).describe(self.__name__)["doc"])

    def __init__(self, name: str, tools: Tools) -> None:
        names = self.__dict__  # set here: super() takes three times as long, and each run makes all of its packs
        names["__name__"] = name
        names["__package__"] = names["__loader__"] = names["__spec__"] = None
        names["__tools__"] = tools  # a name that no tool can have

    def __getattr__(self, name: str) -> object:
        if name == "__all__":
            return self.__dir__()  # for `from pack import *`
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(f"pack {self.__name__!r} has no attribute {name!r}")
        value = _tools_of(self).attribute(self.__name__, name)
        return know_tool(self, name) if value is None else value

    def __dir__(self) -> list[str]:
        return _tools_of(self).describe(self.__name__)["names"]

    def __repr__(self) -> str:
        return f"<pack {self.__name__}>"


def _tools_of(pack: PackProxy) -> Tools:
    tools: Tools = pack.__dict__["__tools__"]
    return tools


def know_tool(pack: PackProxy, tool: str) -> ToolProxy:
    """Remember that a pack has this tool. A function, because a tool could have the name of a method."""
    proxy: ToolProxy = pack.__dict__.setdefault(tool, ToolProxy(f"{pack.__name__}.{tool}", _tools_of(pack)))
    return proxy


class PackFinder:
    """`import pack` gives the pack, unless the standard library has that name.

    Finder and loader by shape: importlib.abc would bring half of the standard library into every kernel.
    """

    def __init__(self, packs: dict[str, PackProxy]) -> None:
        self._packs = packs

    def find_spec(
        self, name: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name in self._packs and name not in sys.stdlib_module_names:
            loader: Any = self
            return importlib.machinery.ModuleSpec(name, loader)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return self._packs[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: a pack has no code here."""


def build_packs(tools: Tools, names: Iterable[str]) -> dict[str, PackProxy]:
    """Return the packs by name, and make them importable."""
    packs = {name: PackProxy(name, tools) for name in names}
    if "ot" in packs:
        packs["ot"].__dict__.update(parallel=parallel, pages=pages)
    sys.meta_path.insert(0, PackFinder(packs))
    return packs


def name_tools(packs: dict[str, PackProxy], aliases: dict[str, str]) -> dict[str, object]:
    """Return packs and aliases as code finds them, by name."""
    names: dict[str, object] = {**packs, "ToolError": ToolError}
    for alias, target in aliases.items():
        pack, _, tool = target.partition(".")
        if pack in packs:
            names[alias] = know_tool(packs[pack], tool)
    return names
