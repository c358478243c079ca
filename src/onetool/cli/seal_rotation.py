"""The phases of `onetool seal rotate`: known everywhere, then used everywhere, then alone.

A replica follows the file of keys and tells in the store which keys it knows. Each phase ends when every replica that
is there has told of it, so that none meets something that it cannot open.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from onetool.cli import OK
from onetool.cli.printing import complain, say
from onetool.dashboard.tickets import LONGEST
from ot.config.seal_keys import next_key, read_keys, write_keys
from ot.run.waiting_runs import PATIENCE
from ot.store.opening import Backend
from ot.store.replicas import SeenReplica, name_replica
from ot.store.sealing import Resealed, key_id, new_key

if TYPE_CHECKING:
    from ot.store.postgres.link import PostgresLink

_LOOKING = 0.5  # seconds
_NEEDED = max(LONGEST, PATIENCE)  # seconds for which browsers and questions carry something that is sealed


class Rotation:
    def __init__(self, file: Path, backend: Backend, *, wait: float) -> None:
        self._file = file
        self._backend = backend
        self._wait = wait

    @staticmethod
    def known_keys(backend: Backend) -> list[tuple[str, Sequence[str]]]:
        """Return the replicas that are there, with the keys that each knows; none where no database is shared."""

        def among(link: PostgresLink) -> list[SeenReplica]:
            from ot.store.postgres.replicas import PostgresReplicas  # where a database is configured

            return anyio.run(PostgresReplicas(link, name_replica("", version="", link="")).seen)

        seen: list[SeenReplica] = backend.pick(list, among)
        return [(each.name, each.seal_keys) for each in seen if each.alive]

    def begin(self) -> bool:
        """Make another key the one that seals, unless an earlier rotation is not finished; False if it has to wait."""
        keys = read_keys(self._file)
        coming = next_key(self._file)
        if not coming and len(keys) == 1:
            fresh = new_key()
            coming, keys = key_id(fresh), [*keys, fresh]
            write_keys(self._file, keys, next_key=coming)
            say(f"{self._file} has a new key, {coming}, with which nothing is encrypted yet.")
        elif coming:
            say(f"Going on with {coming}, with which nothing is encrypted yet.")
        if coming:
            if not self._until(f"know {coming}", lambda known: coming in known):
                return False
            ordered = sorted(keys, key=lambda key: key_id(key) != coming)
            write_keys(self._file, ordered)
            say(f"Every replica knows {coming}: it encrypts from now on.")
        first = key_id(read_keys(self._file)[0])
        return self._until(f"encrypt with {first}", lambda known: known[:1] == [first])

    def finish(self, found: Resealed) -> int:
        """Drop the older keys if nothing needs them any more; say until when they are needed otherwise."""
        keys = read_keys(self._file)
        older = ", ".join(map(key_id, keys[1:]))
        if not older:
            return OK
        until = self._file.stat().st_mtime + _NEEDED
        if found.waiting:
            say(f"{older} is needed until undo data of {found.waiting} runs is forgotten (journal.keep_for).")
        elif time.time() < until:
            moment = datetime.fromtimestamp(until, UTC)
            say(f"{older} is needed by browsers that are logged in until {moment:%H:%M} UTC.")
        else:
            write_keys(self._file, keys[:1])
            say(f"Nothing needs {older} any more: it is dropped.")
            return OK
        say("Run `onetool seal rotate` again after that, to drop it.")
        return OK

    def _until(self, what: str, holds: Callable[[list[str]], bool]) -> bool:
        """Wait until something holds for the keys of every replica; else return False, and name the others."""
        end = time.monotonic() + self._wait
        while lacking := [name for name, known in self.known_keys(self._backend) if not holds([*known])]:
            if time.monotonic() >= end:
                complain(f"onetool seal: these replicas do not {what} yet: {', '.join(sorted(lacking))}.")
                complain(f"If they do not share {self._file}, copy it to their machines.")
                complain("Run `onetool seal rotate` again to go on; until then everything works as before.")
                return False
            time.sleep(_LOOKING)
        return True
