"""Detached runs, waited for and stopped at whichever replica: the one in which a run goes on does the work.

A question of such a run goes to the client that waits for it, through the replica that this client has asked.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple, Protocol, Self

import anyio

from mcp_core.json_types import Json, JsonObject
from mcp_core.quick_dataclass import replace
from onetool.replicas.channels import ReplicaChannel, ReplicaChannels, ReplicaGoneError, pass_on, progress_to
from ot.clients.caller import Caller, ClientMemory, Said, caller_of
from ot.clients.front import Abilities, Front, FrontError
from ot.errors import NoDetachedRunError, ToolError
from ot.execution.consent import held
from ot.run.answer import Answer, TaskLook
from ot.run.client_requests import OpenQuestion, Settled, decode_choice, encode_choice
from ot.run.runs import Runs
from ot.store.replicas import DetachedRun
from ot.tasks.owned_tasks import open_background_tasks

WAIT, STOP, QUESTIONS, SETTLE, LOOK = "wait", "stop", "questions", "settle", "look"
_PATIENCE = 5.0  # seconds for a replica that is asked for its questions
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

    async def lost_in(self, run: str, principal: str) -> float | None:
        found = (each for each in await self._known.runs_of(principal) if each.run == run and not each.alive)
        return next((each.lost_in for each in found), None)

    async def wait(self, run: str, *, seconds: float, caller: Caller) -> Answer | None:
        match await self._talk(WAIT, run, caller, seconds):
            case {"answer": answer, "running": bool(running), "read": list(read)}:
                caller.memory.note(map(str, read))
                return replace(Answer.decoded(answer), running=running)
        return None

    async def stop(self, run: str, *, caller: Caller) -> str | None:
        match await self._talk(STOP, run, caller, 0.0):
            case {"told": str(told), "read": list(read)}:
                caller.memory.note(map(str, read))
                return told
        return None

    async def questions(self, principal: str) -> list[OpenQuestion]:
        found: list[OpenQuestion] = []
        runs = [each for each in await self._known.runs_of(principal) if each.alive]
        for replica in {each.replica for each in runs} - {self._known.replica}:
            asked: JsonObject = {"principal": principal, "runs": [each.run for each in runs if each.replica == replica]}
            with anyio.move_on_after(_PATIENCE):
                match await self._ask_replica(replica, QUESTIONS, asked):
                    case list(told):
                        found += map(OpenQuestion.decoded, told)
        return found

    async def settle(self, run: str, name: str, said: Said, principal: str) -> Settled | None:
        found = next((each for each in await self._known.runs_of(principal) if each.run == run), None)
        if found is None or not found.alive or found.replica == self._known.replica:
            return None
        choice = encode_choice(said.choice)
        asked: JsonObject = {"principal": principal, "run": run, "name": name, "choice": choice, "how": said.how}
        match await self._ask_replica(found.replica, SETTLE, asked):
            case {"counts": bool(counts), "text": str(text)}:
                return Settled(counts, text)
        return None

    async def look(self, run: str, principal: str, answers: Mapping[str, JsonObject]) -> TaskLook | None:
        found = next((each for each in await self._known.runs_of(principal) if each.run == run), None)
        if found is None or not found.alive or found.replica == self._known.replica:
            return None
        asked: JsonObject = {"principal": principal, "run": run, "answers": dict(answers)}
        match await self._ask_replica(found.replica, LOOK, asked):
            case {"message": str(message), "questions": dict(questions)}:
                return TaskLook(message, {key: each for key, each in questions.items() if isinstance(each, dict)})
        return None

    async def _ask_replica(self, replica: str, subject: str, asked: JsonObject) -> Json:
        """Have a replica do something that is over at once; None if it has gone."""
        try:
            async with self._talks.open(replica, subject, asked) as talk:
                return await talk.receive()
        except ReplicaGoneError:
            return None

    async def _talk(self, subject: str, run: str, caller: Caller, seconds: float) -> Json:
        """Have the replica of a run do something; None if there is none, or it has gone. Raises ToolError."""
        found = next((each for each in await self._known.runs_of(caller.principal) if each.run == run), None)
        if found is None or not found.alive or found.replica == self._known.replica:
            return None
        front = caller.front or Front(None)
        asked: JsonObject = {
            "run": run,
            "principal": caller.principal,
            "seconds": seconds,
            "able": [name for name in _ABILITIES if getattr(front.able, name)],
            "sessionless": front.sessionless,
        }
        try:
            async with self._talks.open(found.replica, subject, asked) as talk, open_background_tasks() as tasks:
                requests = _ClientRequests(talk, caller)
                while True:
                    match await talk.receive():
                        case {"progress": list(told), "milestone": bool(milestone)}:
                            await pass_on(told, caller.progress, milestone=milestone)
                        case {"request": int(number), "what": dict(what)}:
                            tasks.start_soon(requests.do, number, what)
                        case {"withdrawn": int(number)}:
                            if number in requests.open:
                                requests.open[number].cancel()
                        case {"refused": str(reason)}:
                            raise ToolError(reason)
                        case last:
                            return last
        except ReplicaGoneError:
            return None


class _ClientRequests:
    """The requests of a run elsewhere to the client that waits here."""

    def __init__(self, talk: ReplicaChannel, caller: Caller) -> None:
        self._talk = talk
        self._caller = caller
        self.open: dict[int, anyio.CancelScope] = {}

    async def do(self, number: int, what: Mapping[str, Json]) -> None:
        front = self._caller.front
        done: JsonObject = {"refused": "the client cannot be asked this"}
        with anyio.CancelScope() as self.open[number], held(self._caller):
            try:
                match what:
                    case {"method": str(method), "params": dict(params), "key": str(key)} if front is not None:
                        done = {"word": await front.request(method, params, key)}
            except FrontError as error:
                done = {"refused": str(error)}
            await self._talk.send({"request": number, "done": done})
        del self.open[number]


class _Waiter(NamedTuple):
    """Who waits for a run, or stops it, at another replica."""

    run: str
    principal: str
    seconds: float
    able: Abilities
    sessionless: bool

    @classmethod
    def read(cls, asked: Mapping[str, Json]) -> Self:
        """Read what another replica has sent; raises ValueError."""
        match asked:
            case {
                "run": str(run),
                "principal": str(principal),
                "seconds": int() | float() as seconds,
                "able": list(able),
                "sessionless": bool(sessionless),
            }:
                return cls(
                    run, principal, seconds, Abilities(**{name: name in able for name in _ABILITIES}), sessionless
                )
        raise ValueError("another replica sent something else")


RunsOf = Callable[[str, str], Runs | None]  # gives the runs of a principal in this replica among which this one goes on


class DetachedHere:
    """Serves other replicas whose clients wait for runs of this one."""

    def __init__(self, runs_of: RunsOf) -> None:
        self._runs_of = runs_of

    async def wait(self, talk: ReplicaChannel, asked: JsonObject) -> Json:
        async def wait(runs: Runs, caller: Caller) -> JsonObject:
            told = await runs.wait(waiter.run, seconds=waiter.seconds, caller=caller)
            return {"answer": told.encoded(), "running": told.running}

        waiter = _Waiter.read(asked)
        return await self._serve(talk, waiter, wait)

    async def stop(self, talk: ReplicaChannel, asked: JsonObject) -> Json:
        async def stop(runs: Runs, caller: Caller) -> JsonObject:
            return {"told": await runs.stop(waiter.run, caller=caller)}

        waiter = _Waiter.read(asked)
        return await self._serve(talk, waiter, stop)

    async def questions(self, talk: ReplicaChannel, asked: JsonObject) -> Json:
        match asked:
            case {"principal": str(principal), "runs": list(names)}:
                told: list[Json] = []
                for name in map(str, names):
                    runs = self._runs_of(principal, name)
                    found = [] if runs is None else await runs.questions_of([name], principal)
                    told += [each.encoded() for each in found]
                return told
        return None

    async def look(self, talk: ReplicaChannel, asked: JsonObject) -> Json:
        match asked:
            case {"principal": str(principal), "run": str(run), "answers": dict(answers)}:
                runs = self._runs_of(principal, run)
                given = {key: each for key, each in answers.items() if isinstance(each, dict)}
                found = None if runs is None else await runs.look_here(run, principal, given)
                return None if found is None else {"message": found.message, "questions": dict(found.questions)}
        return None

    async def settle(self, talk: ReplicaChannel, asked: JsonObject) -> Json:
        match asked:
            case {"principal": str(principal), "run": str(run), "name": str(name), "choice": choice, "how": str(how)}:
                runs = self._runs_of(principal, run)
                said = Said(decode_choice(choice), how)
                settled = None if runs is None else runs.settle_here(run, name, said, principal)
                return None if settled is None else {"counts": settled.counts, "text": settled.text}
        return None

    async def _serve(
        self, talk: ReplicaChannel, waiter: _Waiter, work: Callable[[Runs, Caller], Awaitable[JsonObject]]
    ) -> Json:
        runs = self._runs_of(waiter.principal, waiter.run)
        if runs is None:
            return None
        client = _ClientElsewhere(talk)
        front = Front(talk, waiter.able, client.request, sessionless=waiter.sessionless)
        caller = caller_of(front, memory=ClientMemory(), progress=progress_to(talk), principal=waiter.principal)
        async with open_background_tasks() as tasks:
            tasks.start_soon(client.listen)
            try:
                said = await work(runs, caller)
            except NoDetachedRunError:
                return None
            except ToolError as error:
                return {"refused": str(error)}
        return {**said, "read": [*sorted(caller.memory.read)]}


class _ClientElsewhere:
    """A client that another replica serves, as a run here reaches it."""

    def __init__(self, talk: ReplicaChannel) -> None:
        self._talk = talk
        self._numbers = itertools.count(1)
        self._words: dict[int, JsonObject] = {}
        self._news = anyio.Event()

    async def listen(self) -> None:
        while True:
            match await self._talk.receive():
                case {"request": int(number), "done": dict(said)}:
                    self._words[number] = said
                    self._news.set()
                    self._news = anyio.Event()

    async def request(self, method: str, params: Mapping[str, Json], key: str) -> JsonObject:
        number = next(self._numbers)
        await self._talk.send({"request": number, "what": {"method": method, "params": dict(params), "key": key}})
        try:
            while number not in self._words:
                await self._news.wait()
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._talk.send({"withdrawn": number})
            raise
        match self._words.pop(number):
            case {"word": dict(word)}:
                return word
            case said:
                raise FrontError(str(said.get("refused")))
