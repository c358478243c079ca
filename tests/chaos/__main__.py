"""Run people and faults against a service for some minutes, and print a verdict."""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.chaos import ledger, one, team
from tests.chaos.people import Person, Told
from tests.chaos.usage import Usage

PEOPLE = ("ada", "bob", "cleo", "dan")
_WARM_UP = 10.0  # seconds before the first fault
_LONGEST = 8.0  # seconds of a fault
_SAMPLES = 30.0  # seconds between two looks at what is used
_SETTLE = 20.0  # seconds in which what is idle ends
_READY = 180.0  # seconds in which everything serves again, on a busy machine

Service = team.TeamService | one.OneService


class Chaos:
    """One run of it."""

    def __init__(self, service: Service, seed: int, may: asyncio.Event, *, at_once: int) -> None:
        self._service = service
        self._chance = random.Random(seed)
        self._began = time.monotonic()
        self._may = may
        self._over = asyncio.Event()
        self._apart = asyncio.Semaphore(at_once)  # faults
        self.told = Told()
        self.faults = 0
        self.uses: list[Usage] = []

    async def go_on(self, seconds: float, *, apart: bool) -> None:
        people = [self._person(name, [other for other in PEOPLE if other != name] if apart else []) for name in PEOPLE]
        async with asyncio.TaskGroup() as tasks:
            for person in people:
                tasks.create_task(person.work(self._over, self._may))
            await asyncio.sleep(_WARM_UP)
            self._look()
            end = self._began + seconds
            first, second = (tasks.create_task(self._break_things(end)) for _ in range(2))
            while time.monotonic() < end:
                await asyncio.sleep(min(_SAMPLES, max(0.0, end - time.monotonic())))
                self._look()
            await asyncio.gather(first, second)
            await self.heal()
            self._over.set()

    def _person(self, name: str, others: list[str]) -> Person:
        async def ask(command: str) -> str | None:
            return await self._service.ask(name, command)

        return Person(name, ask, self.told, random.Random(self._chance.random()), others)

    async def _break_things(self, end: float) -> None:
        """Break one thing after the other."""
        while time.monotonic() < end:
            await asyncio.sleep(self._chance.random() * 6)
            fault = self._chance.choice(self._service.faults(self._chance))
            async with self._apart, fault() as words:
                seconds = self._chance.random() * _LONGEST
                self._say(f"{words} for {seconds:.1f} s")
                self.faults += 1
                await asyncio.sleep(seconds)

    async def heal(self) -> None:
        """Wait until everything serves again; what has ended meanwhile is started."""
        deadline = time.monotonic() + _READY
        for number, machine in enumerate(self._service.machines):
            while not await self._service.is_ready(number):
                await machine.start()
                await asyncio.sleep(0.5)
                if time.monotonic() > deadline:
                    log = machine.server.log if machine.server is not None else []
                    self.told.wrong.append(f"{machine.name} does not serve again: {' '.join(log[-3:])}")
                    return

    async def ask_for(self, person: str, command: str) -> str:
        """Give the answer to a command, however often that has to be sent."""
        for _ in range(20):
            text = await self._service.ask(person, command)
            if text is not None and "is still running" not in text:
                return text
            await asyncio.sleep(1)
        return "no answer"

    def _look(self) -> None:
        self.uses.append(self._service.usage())
        self._say(f"uses {self.uses[-1]}; {self.told.answered} answered, {self.told.unanswered} not")

    def _say(self, text: str) -> None:
        sys.stdout.write(f"{time.monotonic() - self._began:6.1f} s  {text}\n")
        sys.stdout.flush()


@asynccontextmanager
async def _open(*, single: bool, folder: Path, made: Path, may: asyncio.Event) -> AsyncIterator[Service]:
    if single:
        async with one.open_service(folder, made, may) as service:
            yield service
    else:
        async with team.open_service(folder, made) as team_service:
            yield team_service


async def run(*, single: bool, minutes: float, seed: int) -> int:
    may = asyncio.Event()
    may.set()
    with tempfile.TemporaryDirectory() as place:
        folder, made = Path(place, "servers"), Path(place, "ledger", "tokens")
        folder.mkdir()
        made.parent.mkdir()
        async with _open(single=single, folder=folder, made=made, may=may) as service:
            chaos = Chaos(service, seed, may, at_once=1 if single else 2)
            await chaos.heal()
            await chaos.go_on(minutes * 60, apart=not single)
            wrong = [*chaos.told.wrong, *getattr(service, "wrong", ())]
            wrong += await ledger.look(chaos.told, chaos.ask_for)
            effects = ledger.read_ledger(made)
            wrong += ledger.compare(effects, chaos.told)
            await asyncio.sleep(_SETTLE)
            last = service.usage()
            wrong += last.grown_since(chaos.uses[0])
    told = chaos.told
    sys.stdout.write(
        f"\n{chaos.faults} faults in {minutes:g} minutes, seed {seed}: {len(effects)} effects, "
        f"{len(told.tokens)} of them acknowledged, {told.answered} answers, {told.unanswered} requests without one, "
        f"{told.resumed} runs resumed, {len(told.results)} results and {len(told.kept)} kept values looked for.\n"
        f"At first {chaos.uses[0]}; at the end {last}.\n"
    )
    for reason, count in told.reasons.most_common(10):
        sys.stdout.write(f"said {count} times: {reason}\n")
    for line, count in Counter(line for machine in service.machines for line in machine.noticed).items():
        sys.stdout.write(f"in a log {count} times: {line}\n")
    for each in wrong:
        sys.stdout.write(f"WRONG: {each}\n")
    sys.stdout.write("NOT HELD\n" if wrong else "HELD: no effect twice, nothing acknowledged missing, nothing grown\n")
    return 1 if wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--one", action="store_true", help="one person's server on files instead of a team's replicas")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    options = parser.parse_args()
    sys.stdout.write(f"seed {options.seed}\n")
    return asyncio.run(run(single=options.one, minutes=options.minutes, seed=options.seed))


if __name__ == "__main__":
    sys.exit(main())
