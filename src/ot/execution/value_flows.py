"""Flows by value: which arguments of a call carry something that guarded calls brought, and what each call brings.

Loaded only where a rule says `by: value`. What came is kept on the person's shelf, a document for each client; its name
travels as a mark with whatever the client writes, like the names of the tools that it has called. Where a document is
gone, or a mark came without one, rules act as `by: call`.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from mcp_core.quick_dataclass import dataclass, field
from ot.clients.caller import EVERYTHING, Caller, ClientMemory
from ot.config.models import FlowSettings, PolicySettings
from ot.errors import OneToolError
from ot.execution.call import Call
from ot.execution.records import RedactionStep
from ot.execution.rules import first_rule
from ot.execution.wording import word_error
from ot.flows.known import Own, own_values
from ot.flows.letters import skeleton
from ot.flows.numbers import numbers_in
from ot.flows.seen_values import Carried, Found, RunValues, SeenValues, Source, read_command
from ot.flows.traces import Traces
from ot.journal.journal import Journal
from ot.journal.recorded import RecordedCall
from ot.journal.reuse import JournalledValue
from ot.store.shelf import Shelf
from ot.tasks.large_values import FileValue, aside, is_large
from ot.values import Arguments, OpaqueValue
from ot_kernel.values import decode

KEPT_FOR = 7 * 86400.0  # seconds that a document is kept after its client's last guarded call
_SMALL = 4_000  # characters that are looked through at once
_AROUND = 60  # characters on either side of a value, in a question
_SHOWN = 80  # characters of a value, in a question


@dataclass(eq=False)
class ValueFlows:
    """Compares arguments with what came; every client has a memory of its own."""

    journal: Journal | None = None
    shelf: Shelf | None = None
    _own: Own | None = None
    _key: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    _opened: bool = False

    def apply(self, policy: PolicySettings) -> None:
        """Go by these rules from now on."""
        self._own = own_values(policy.known)

    def of(self, memory: ClientMemory) -> SeenValues:
        """Return what a client has seen; what it read before this was looked at is not remembered by value."""
        if memory.values is None:
            self._open()
            memory.values = SeenValues(self._key)
            if not any(name.startswith("#") for name in memory.read):
                memory.lose(memory.read)
            memory.read.add(memory.values.mark)
        return memory.values

    def _open(self) -> None:
        if not self._opened:
            self._opened = True
            if self.journal is not None:
                self._key = self.journal.store.load_key()
            if self.shelf is not None:
                self.shelf.forget_unused("*", seconds=KEPT_FOR)

    # -- what is said

    async def say(self, command: str, caller: Caller) -> None:
        """Note what a run's command says, before any of it is executed."""
        seen = self.of(caller.memory)
        run, said = await aside(read_command, command) if len(command) > _SMALL else read_command(command)
        seen.learn(said)
        if caller.run_memory is not None:
            caller.run_memory.of_run = run

    # -- what is given

    async def find(self, arguments: Arguments, caller: Caller) -> list[Carried]:
        """Return what arguments carry."""
        seen = self.of(caller.memory)
        if caller.memory.unread:
            await aside(self._catch_up, caller.memory, seen)
        if _is_small(arguments):
            return list(self.compare(arguments, caller, seen))
        return await aside(lambda: list(self.compare(arguments, caller, seen)))

    def compare(self, arguments: Arguments, caller: Caller, seen: SeenValues) -> Iterator[Carried]:
        """Yield what arguments carry; on whatever thread."""
        run = None if caller.run_memory is None else caller.run_memory.of_run
        traces = Traces(came=False, own=self._own)
        texts = []
        for value in map(_content, arguments.values()):
            if type(value) is str and seen.has_passed(value, self._own):
                traces.add_piece(value)
                continue
            traces.add(value)
            if type(value) is str:
                texts.append(value)
        traces.add_pieces()
        over_all = seen.find(traces.found)
        if not over_all and not traces.cut and (run is None or not run.sources):  # mostly nothing is found
            seen.learn(traces.found)
            seen.note_passed(texts, self._own)
            return
        carried = False
        for name, value in arguments.items():
            for each in self._compare_one(value, seen, run):
                carried = True
                yield Carried(name, each)
        if not carried:  # it is split over several
            yield from (Carried(" and ".join(arguments), each) for each in over_all)

    def _compare_one(self, value: object, seen: SeenValues, run: RunValues | None) -> list[Found]:
        """Return what one argument carries, and remember it as said where that is nothing."""
        traces = Traces(came=False, own=self._own)
        traces.add(_content(value))
        found = seen.find(traces.found)
        if not found and run is not None and run.sources:
            found = list(self._computed(value, run, seen))
        if not found and traces.cut:
            found = [Found("", "", Source((EVERYTHING,), time.time()))]
        if not found:
            seen.learn(traces.found)
        return found

    def _computed(self, value: object, run: RunValues, seen: SeenValues) -> Iterator[Found]:
        """Yield the leaves that code has computed after a guarded call: they may be made of what that brought."""
        for leaf in _leaves(value):
            text = leaf if isinstance(leaf, str) else repr(leaf)
            whole = skeleton(text)
            known = not whole or seen.knows(whole) or run.writes(text) or (self._own is not None and self._own(text))
            if not known and isinstance(leaf, int | float):
                known = any(number in run.numbers or seen.knows(number) for number in numbers_in(text))
            if not known:
                yield from (Found(text, seen.key_of(whole), source, computed=True) for source in run.sources.values())

    def _catch_up(self, memory: ClientMemory, seen: SeenValues) -> None:
        """Take over what is behind the marks that have come since the last time."""
        while memory.unread:
            name, _, version = memory.unread.pop().removeprefix("#").partition(".")
            if name == seen.id or seen.adopted.get(name, -1) >= int(version):
                continue
            try:
                seen.adopt(name, int(version), self._read(name, int(version)))
            except (OSError, ValueError):
                memory.lose({EVERYTHING})

    def _read(self, name: str, version: int) -> bytes:
        if self.shelf is None:
            raise FileNotFoundError
        try:
            document = self.shelf.read(name)
            if json.loads(document.partition(b"\n")[0])["version"] >= version:
                return document
        except FileNotFoundError:
            pass
        self.shelf.catch_up()
        return self.shelf.read(name)

    # -- what comes

    async def note(self, call: Call) -> None:
        """Remember what a call brings, before its caller has it."""
        inside = call.context.inside if call.context is not None else None
        names = {*(inside or ()), *([call.tool.guard.names] if call.tool.guard.brings else ())}
        if not names and call.carried is None:
            call.carried = await self.find(call.bound, call.caller)
        await self.note_value(call.value, names, call.carried or (), call.caller)

    async def note_value(
        self, value: object, names: Iterable[tuple[str, ...]], carried: Sequence[Carried], caller: Caller
    ) -> None:
        """Remember a value that comes from guarded calls of these names or, without any, what arguments carried."""
        seen = self.of(caller.memory)
        if caller.memory.unread:
            await aside(self._catch_up, caller.memory, seen)
        sources = await self._sources({*names}, carried, caller, seen)
        if isinstance(value, OpaqueValue) and not isinstance(value, FileValue | JournalledValue):
            return
        traces = self._trace(value) if _is_small(value) else await aside(self._trace, value)
        if not sources:
            self._taint(caller, [each.source for each in seen.find(traces.found)])
            seen.learn(traces.found)
        for source in sources:
            await self._bring(source, traces, caller, seen)
        if sources and caller.inside is not None:
            caller.inside.update(source.names for source in sources)

    def _trace(self, value: object) -> Traces:
        traces = Traces(came=True, own=self._own)
        if isinstance(value, JournalledValue):
            value = decode(json.loads(value.encoded))
        traces.add(_content(value))
        return traces

    def note_error(self, call: Call, error: OneToolError) -> None:
        """Remember the words of a guarded call that failed."""
        if call.tool.guard.brings and call.context is not None:
            seen, traces = self.of(call.caller.memory), Traces(came=True)
            traces.add(word_error(error))
            source = Source(call.tool.guard.names, time.time(), call.caller.run_id)
            seen.bring(source, seen.prepare(traces), traces.size)
            self._save(call.caller.memory, seen, source)
            self._taint(call.caller, [source])

    async def _sources(
        self, names: set[tuple[str, ...]], carried: Sequence[Carried], caller: Caller, seen: SeenValues
    ) -> list[Source]:
        """Return the guarded calls from which a value comes: itself, those inside it, or those of its arguments."""
        if not names:
            names = {each.found.source.names for each in carried}
            for each in carried:
                if each.found.computed:  # whoever gets it back, from a file for example, has got what it was made of
                    traces = Traces(came=True)
                    traces.add(each.found.text)
                    await self._bring(each.found.source, traces, caller, seen)
        return [Source(each, time.time(), caller.run_id) for each in sorted(names)]

    async def _bring(self, source: Source, traces: Traces, caller: Caller, seen: SeenValues) -> None:
        digests = await aside(seen.prepare, traces) if traces.size > _SMALL else seen.prepare(traces)
        seen.bring(source, digests, traces.size, cut=traces.cut)
        await aside(self._save, caller.memory, seen, source)
        self._taint(caller, [source])

    def _save(self, memory: ClientMemory, seen: SeenValues, source: Source) -> None:
        """Put what came onto the shelf, and let the client's marks name that; blocking."""
        if seen.lost:
            memory.lose(seen.lost)
        try:
            if self.shelf is not None:
                self.shelf.write(seen.id, seen.pack())
        except OSError:
            memory.lose(source.names)
        memory.note([seen.mark])

    def _taint(self, caller: Caller, sources: Iterable[Source]) -> None:
        if caller.run_memory is not None and caller.run_memory.of_run is not None:
            for source in sources:
                caller.run_memory.of_run.sources.setdefault(source.names, source)

    # -- what a person is shown

    async def explain(self, carried: Sequence[Carried], caller: Caller) -> list[str]:
        """Say of each value which argument carries it, which call brought it and when, and the words around it."""
        return await aside(lambda: [self._explain(each, caller.principal) for each in carried])

    def _explain(self, carried: Carried, principal: str) -> str:
        found = carried.found
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(found.source.time))
        text = found.text if len(found.text) <= _SHOWN else f"{found.text[:_SHOWN]}…"
        how = "was computed after" if found.computed else "came from"
        words = "" if found.computed else self._words_around(found, principal)
        return f"{carried.argument}: {text!r} {how} {found.source.names[0]} at {when}{words}"

    def _words_around(self, found: Found, principal: str) -> str:
        if self.journal is None or not found.source.run:
            return ""
        try:
            if (here := self.journal.open_runs.get(found.source.run)) is not None:
                here.flush()
            calls = self.journal.find(principal, found.source.run, ended=False).calls
        except (OneToolError, OSError):
            return ""
        for call in calls:
            if call.tool in found.source.names and call.value_at is None:
                for leaf in _leaves(_decoded(call)):
                    if words := _excerpt(str(leaf), found.text):
                        return f': "{words}"'
        return ""


@dataclass(eq=False, slots=True)
class BringingStep(RedactionStep):
    """Has what a call brings remembered before it is delivered."""

    _flows: ValueFlows | None = None

    async def begin(self, call: Call) -> None:
        assert self._flows is not None
        await self._flows.note(call)
        if (waiting := RedactionStep.begin(self, call)) is not None:
            await waiting

    def fail(self, call: Call, error: BaseException) -> None:
        RedactionStep.fail(self, call, error)
        if self._flows is not None and isinstance(error, OneToolError):
            self._flows.note_error(call, error)


def of_flow(carried: Iterable[Carried], flow: FlowSettings) -> list[Carried]:
    """Return what comes from the tools of a rule."""
    return [each for each in carried if EVERYTHING in each.found.source.names or _is_from(each.found.source, flow)]


def _is_from(source: Source, flow: FlowSettings) -> bool:
    return first_rule(source.names, flow.origins) is not None


def _content(value: object) -> object:
    return value.read() if type(value) is not str and isinstance(value, FileValue) else value


def _decoded(call: RecordedCall) -> object:
    try:
        return decode(call.value)
    except ValueError:
        return None


def _leaves(value: object) -> Iterator[object]:
    if isinstance(value, str | bytes):
        yield value if isinstance(value, str) else value.decode(errors="replace")
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from _leaves(item)
    elif isinstance(value, list | tuple | AbstractSet):
        for item in value:
            yield from _leaves(item)
    elif value is not None and not isinstance(value, bool):
        yield value


def _is_small(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= _SMALL
    if isinstance(value, OpaqueValue) or is_large(value):
        return False
    return sum(len(leaf) for leaf in _leaves(value) if isinstance(leaf, str)) <= _SMALL


def _excerpt(text: str, value: str) -> str:
    """Return the words around a value in a text that has it; nothing if it is written in another way there."""
    place = text.casefold().find(value.casefold())
    if place < 0:
        return ""
    start, end = max(0, place - _AROUND), place + len(value) + _AROUND
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
