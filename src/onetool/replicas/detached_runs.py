"""Detached runs, waited for and stopped at whichever replica: the one in which a run goes on does the work.

A question of such a run goes to the client that waits for it, through the replica that this client has asked.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

import anyio

from mcp_core.json_types import Json, JsonObject
from onetool.replicas.channels import ReplicaChannel, ReplicaChannels, ReplicaGoneError
from onetool.replicas.progress import pass_on, progress_to
from ot.clients.caller import Caller, Choice
from ot.clients.front import FrontError
from ot.errors import NoDetachedRunError, ToolError
from ot.execution.consent import held
from ot.run.answer import RunAnswer
from ot.run.runs import Runs
from ot.store.replicas import DetachedRun
from ot.tasks.owned_tasks import open_background_tasks
from ot_kernel.values import decode, encode

WAIT, STOP = "wait", "stop"
_ABILITIES = ("can_elicit", "can_open_urls", "can_sample", "can_list_roots")


class KnownRuns(Protocol):
    """The store's list of runs that go on after their answer."""

    @property
    def replica(self) -> str: ...
    async def add_run(self, principal: str, run: str) -> None: ...
    async def drop_run(self, principal: str, run: str) -> None: ...
    async def runs_of(self, principal: str) -> list[DetachedRun]: ...


class DetachedElsewhere:
    """The runs of other replicas, for those who wait for them in this one."""

    def __init__(self, known: KnownRuns, talks: ReplicaChannels) -> None:
        self._known = known
        self._talks = talks

    async def add(self, run: str, principal: str) -> None:
        await self._known.add_run(principal, run)

    async def drop(self, run: str, principal: str) -> None:
        await self._known.drop_run(principal, run)

    async def names(self, principal: str) -> list[str]:
        return [each.run for each in await self._known.runs_of(principal) if each.alive]

    async def is_lost(self, run: str, principal: str) -> bool:
        return any(each.run == run and not each.alive for each in await self._known.runs_of(principal))

    async def wait(self, run: str, *, seconds: float, caller: Caller) -> RunAnswer | None:
        asked: JsonObject = {"seconds": seconds, "asks": caller.ask is not None}
        if caller.front is not None:
            asked["able"] = [name for name in _ABILITIES if getattr(caller.front, name)]
        said = await self._talk(WAIT, run, caller, asked)
        match said:
            case {"answer": answer, "read": list(read)}:
                caller.memory.note(map(str, read))
                fields = decode(answer)
                return RunAnswer(**{**fields, "attachments": tuple(fields["attachments"])})
        return None

    async def stop(self, run: str, *, caller: Caller) -> str | None:
        match await self._talk(STOP, run, caller, {}):
            case {"told": str(told), "read": list(read)}:
                caller.memory.note(map(str, read))
                return told
        return None

    async def _talk(self, subject: str, run: str, caller: Caller, asked: JsonObject) -> Json:
        """Have the replica of a run do something; None if there is none, or it has gone. Raises ToolError."""
        found = next((each for each in await self._known.runs_of(caller.principal) if each.run == run), None)
        if found is None or not found.alive or found.replica == self._known.replica:
            return None
        asked = {**asked, "run": run, "principal": caller.principal}
        try:
            async with self._talks.open(found.replica, subject, asked) as talk, open_background_tasks() as tasks:
                errands = _ClientErrands(talk, caller)
                while True:
                    match await talk.receive():
                        case {"progress": told, "milestone": milestone}:
                            await pass_on(told, caller.progress, milestone=milestone)
                        case {"errand": int(number), "what": what}:
                            tasks.start_soon(errands.do, number, what)
                        case {"withdrawn": int(number)}:
                            errands.withdraw(number)
                        case {"refused": str(reason)}:
                            raise ToolError(reason)
                        case last:
                            return last
        except ReplicaGoneError:
            return None


class _ClientErrands:
    """What a run elsewhere wants of the client that waits here."""

    def __init__(self, talk: ReplicaChannel, caller: Caller) -> None:
        self._talk = talk
        self._caller = caller
        self._open: dict[int, anyio.CancelScope] = {}

    async def do(self, number: int, what: Mapping[str, Json]) -> None:
        with anyio.CancelScope() as self._open[number], held(self._caller):
            try:
                done: JsonObject = {"word": await self._ask_client(what)}
            except FrontError as error:
                done = {"refused": str(error)}
            await self._talk.send({"errand": number, "done": done})
        del self._open[number]

    def withdraw(self, number: int) -> None:
        if number in self._open:
            self._open[number].cancel()

    async def _ask_client(self, what: Mapping[str, Json]) -> Json:
        ask, front = self._caller.ask, self._caller.front
        match what:
            case {"question": str(question), "choices": list(choices)} if ask is not None:
                return await ask(question, tuple(map(Choice, choices)))
            case {"elicit": params, "key": str(key)} if front is not None:
                return await front.elicit(params, key=key)
            case {"sample": params, "key": str(key)} if front is not None:
                return await front.sample(params, key=key)
            case {"list_roots": _, "key": str(key)} if front is not None:
                return await front.list_roots(key=key)
        raise FrontError("the client cannot be asked this")


RunsOf = Callable[[str, str], Runs | None]
"""Gives the runs of a principal in this replica among which this one goes on."""


class DetachedHere:
    """Serves other replicas whose clients wait for runs of this one."""

    def __init__(self, runs_of: RunsOf) -> None:
        self._runs_of = runs_of

    async def wait(self, talk: ReplicaChannel, asked: JsonObject) -> Json:
        async def wait(runs: Runs, caller: Caller) -> JsonObject:
            answer = await runs.wait(asked["run"], seconds=asked["seconds"], caller=caller)
            return {"answer": encode({name: getattr(answer, name) for name in RunAnswer.__slots__})}

        return await self._serve(talk, asked, wait)

    async def stop(self, talk: ReplicaChannel, asked: JsonObject) -> Json:
        async def stop(runs: Runs, caller: Caller) -> JsonObject:
            return {"told": await runs.stop(asked["run"], caller=caller)}

        return await self._serve(talk, asked, stop)

    async def _serve(
        self, talk: ReplicaChannel, asked: JsonObject, work: Callable[[Runs, Caller], Awaitable[JsonObject]]
    ) -> Json:
        runs = self._runs_of(asked["principal"], asked["run"])
        if runs is None:
            return None
        client = _ClientElsewhere(talk, asked.get("able"))
        caller = Caller(
            progress=progress_to(talk),
            ask=client.ask if asked.get("asks") else None,
            front=client if "able" in asked else None,
            principal=asked["principal"],
        )
        async with open_background_tasks() as tasks:
            tasks.start_soon(client.listen)
            try:
                said = await work(runs, caller)
            except NoDetachedRunError:
                return None
            except ToolError as error:
                return {"refused": str(error)}
        return {**said, "read": sorted(caller.memory.read)}


class _ClientElsewhere:
    """A client that another replica serves, as a run here reaches it."""

    def __init__(self, talk: ReplicaChannel, able: Sequence[str] | None) -> None:
        self.session: object = talk
        self.can_elicit = "can_elicit" in (able or ())
        self.can_open_urls = "can_open_urls" in (able or ())
        self.can_sample = "can_sample" in (able or ())
        self.can_list_roots = "can_list_roots" in (able or ())
        self._talk = talk
        self._numbers = itertools.count(1)
        self._words: dict[int, JsonObject] = {}
        self._news = anyio.Event()

    async def listen(self) -> None:
        """Take the words that the client has for the run."""
        while True:
            match await self._talk.receive():
                case {"errand": int(number), "done": said}:
                    self._words[number] = said
                    self._news.set()
                    self._news = anyio.Event()

    async def ask(self, question: str, choices: Sequence[Choice]) -> Choice | None:
        word = await self._have({"question": question, "choices": [choice.value for choice in choices]})
        return None if word is None else Choice(word)

    async def elicit(self, params: Mapping[str, Json], *, key: str = "") -> JsonObject:
        return dict(await self._have({"elicit": dict(params), "key": key}))

    async def sample(self, params: Mapping[str, Json], *, key: str = "") -> JsonObject:
        return dict(await self._have({"sample": dict(params), "key": key}))

    async def list_roots(self, *, key: str = "") -> JsonObject:
        return dict(await self._have({"list_roots": {}, "key": key}))

    async def log(self, level: str, logger: str, data: Json) -> None:
        """Do nothing: a detached run has no request that it could belong to."""

    async def _have(self, what: JsonObject) -> Json:
        number = next(self._numbers)
        await self._talk.send({"errand": number, "what": what})
        try:
            while number not in self._words:
                await self._news.wait()
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._talk.send({"withdrawn": number})
            raise
        said = self._words.pop(number)
        if "refused" in said:
            raise FrontError(str(said["refused"]))
        return said["word"]
