"""People who work: each remembers what they were told, and goes on from a run that was lost as its answer says."""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

Ask = Callable[[str], Awaitable[str | None]]
"""Sends a command, and gives the text of its answer; None if there was none."""

_RUNNING = re.compile(r"Run (r\w+) is still running")
_AWAY = re.compile(r"run (r\w+) .*cannot be reached at the moment; ask again in (\d+) s", re.DOTALL)
_LOST = re.compile(r'ot\.resume\(run="(r\w+)"')
_HANDLE = re.compile(r'ot\.result\(handle="([^"]+)"')
_ODD = re.compile(r"Traceback|incident|is broken|internal error", re.IGNORECASE)
_MOST_STEPS = 60
_IMPORT = "import json\n"


@dataclass
class Told:
    """What people were told by the answers that reached them."""

    tokens: dict[str, str] = field(default_factory=dict)  # by the name of the effect
    kept: dict[str, int] = field(default_factory=dict)  # the last value of each name
    results: dict[str, tuple[str, str]] = field(default_factory=dict)  # person and mark by handle
    answered: int = 0
    unanswered: int = 0
    resumed: int = 0
    reasons: Counter[str] = field(default_factory=Counter)  # what was said instead of an answer
    wrong: list[str] = field(default_factory=list)


@dataclass
class Person:
    """One person, with a client that asks one thing after the other."""

    name: str
    ask: Ask
    told: Told
    chance: random.Random
    others: list[str]
    _count: int = 0

    async def work(self, until: asyncio.Event, may: asyncio.Event) -> None:
        actions = [self._effect, self._effect, self._two_effects, self._keep, self._store]
        if self.others:
            actions.append(self._pry)
        while not until.is_set():
            await may.wait()
            await self.chance.choice(actions)()
            await asyncio.sleep(self.chance.random() * 0.2)

    def _mark(self) -> str:
        self._count += 1
        return f"{self.name}-{self._count}"

    async def _effect(self) -> None:
        mark = self._mark()
        self._learn_tokens([mark], await self._finish(f"{_IMPORT}json.dumps([mint.token(name={mark!r})])", mark))

    async def _two_effects(self) -> None:
        mark, pause = self._mark(), round(self.chance.random() * 4, 2)
        names = [f"{mark}-a", f"{mark}-b"]
        calls = [f"mint.token(name={name!r})" for name in names]
        code = f"{_IMPORT}import time\na = {calls[0]}\ntime.sleep({pause})\nb = {calls[1]}\njson.dumps([a, b])"
        self._learn_tokens(names, await self._finish(code, mark))

    async def _keep(self) -> None:
        name, value = f"kept_{self.name}", self._count
        if await self._finish(f"ot.keep(name={name!r}, value={value})\n'kept'", self._mark()) == "kept":
            self.told.kept[name] = value

    async def _store(self) -> None:
        mark = self._mark()
        times = self.chance.choice([1_000, 1_000, 1_000, 20_000])  # all are kept, of a night too
        text = await self._finish(f"'{mark} ' * {times}", mark)
        found = _HANDLE.search(text or "")
        if found is not None:
            self.told.results[found[1]] = (self.name, mark)

    async def _pry(self) -> None:
        """Ask for what is another's."""
        mine, other = self._mark(), self.chance.choice(self.others)
        text = await self._finish(f"ot.kept(name='kept_{other}')", mine)
        if text is not None and text.strip().isdigit():
            self.told.wrong.append(f"{self.name} was given what {other} has kept: {text[:80]}")

    def _learn_tokens(self, names: list[str], text: str | None) -> None:
        try:
            found = json.loads(text or "null")
        except ValueError:
            return
        for name, token in zip(names, found or (), strict=False):
            if isinstance(token, str):
                self.told.tokens[name] = token

    async def _finish(self, code: str, mark: str) -> str | None:
        """Have code carried out whatever happens on the way; None where the answer does not come to be known."""
        command = f"# {mark}.\n{code}"
        text, run = await self.ask(command), ""
        for _ in range(_MOST_STEPS):
            if text is not None and run and (lost := _LOST.search(text)) is not None and lost[1] != run:
                text = None  # it is the run that only waited which was lost
            if text is None:
                self.told.unanswered += 1
                await asyncio.sleep(0.5)
                run = await self._look_up(mark)
                if not run:
                    return None
                text = await self._wait(run)
            elif (away := _AWAY.search(text)) is not None:
                await asyncio.sleep(min(10, int(away[2])))
                run = run or away[1]
                text = await self._wait(run)
            elif (running := _RUNNING.search(text)) is not None:
                run = run or running[1]
                text = await self._wait(run)
            elif (lost := _LOST.search(text)) is not None:
                self.told.resumed += 1
                text, run = await self.ask(f"# {mark}.\not.resume(run={lost[1]!r}, unknown='skip')\n{code}"), ""
            else:
                break
        else:
            self.told.wrong.append(f"{mark} came to no end: {text}")
        self.told.answered += 1
        if text is not None and _ODD.search(text):
            self.told.wrong.append(f"{mark}: {text[:300]}")
        return text

    async def _wait(self, run: str) -> str | None:
        return await self.ask(f"ot.wait(run={run!r}, seconds=5)")

    async def _look_up(self, mark: str) -> str:
        """Find the run of a command that got no answer; nothing where it has ended, or never began."""
        latest = f"[r for r in ot.runs(limit=60) if {f'# {mark}.'!r} in r['command']][-1:]"
        text = await self.ask(f"{_IMPORT}json.dumps([[r['run'], r['outcome']] for r in {latest}])")
        try:
            [[run, outcome]] = json.loads(text or "")
        except ValueError:
            if text is not None:
                self.told.reasons[text[:100]] += 1
            return ""
        return "" if outcome else str(run)
