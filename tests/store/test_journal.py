"""The journal in either store: lines in their order, values beside them, everything its owner's own."""

from __future__ import annotations

import json
import re
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from ot.store.opening import Store
from ot.store.owner import Owner
from ot.store.parts import SPOILT, WHOLE, begin_line
from tests.store.conftest import link_of

pytestmark = pytest.mark.anyio

OpenStore = Callable[[], Store]


@pytest.fixture
def owner(tmp_path: Path) -> Owner:
    return Owner("local", tmp_path)


def word(owner: Owner, run: str, number: int, event: str, fields: str = '"a":1') -> bytes:
    return begin_line(owner, run) + f'"n":{number},"event":"{event}",{fields}}}\n'.encode()


def start(owner: Owner, run: str, number: int = 1, *, time: float | None = None) -> bytes:
    return word(owner, run, number, "start", WHOLE.decode() + ("" if time is None else f',"form":1,"time":{time}'))


async def test_lines_of_a_run_are_read_in_their_order(open_store: OpenStore, owner: Owner) -> None:
    journal = open_store().journal
    journal.begin(start(owner, "r1"))
    journal.begin(start(owner, "r2"))
    lines = [word(owner, "r1", number, "read") for number in range(2, 40)]
    for line in lines[:5]:
        journal.append(line)
    journal.append(b"".join(lines[5:]))
    journal.append(word(owner, "r1", 40, "resume") + word(owner, "r1", 41, "inherited"))
    journal.append(word(owner, "r1", 42, "ended"))
    await journal.settle()

    found = open_store().journal.read(owner, "r1")

    assert found is not None
    assert [json.loads(line)["n"] for line in found.lines] == list(range(1, 43))
    assert found.in_use
    other = journal.read(owner, "r2")
    assert other is not None
    assert other.lines == [start(owner, "r2")]


async def test_events_of_runs_are_found_without_their_calls(store: Store, owner: Owner) -> None:
    for run in ("r1", "r2"):
        store.journal.begin(start(owner, run))
        store.journal.append(word(owner, run, 2, "read", '"got":{"event":"ended"}') + word(owner, run, 3, "ended"))
    await store.journal.settle()

    found = [json.loads(line) for line in store.journal.read_events(owner, ("start", "ended"))]

    assert sorted((line["run"], line["event"]) for line in found) == [
        ("r1", "ended"),
        ("r1", "start"),
        ("r2", "ended"),
        ("r2", "start"),
    ]


async def test_the_latest_runs_are_read_with_all_of_their_events(store: Store, owner: Owner) -> None:
    for run in ("r1", "r2", "r3"):
        store.journal.begin(start(owner, run))
    store.journal.append(word(owner, "r2", 2, "ended"))
    store.journal.append(word(owner, "r1", 2, "ended"))
    await store.journal.settle()

    found = [json.loads(line) for line in store.journal.read_events(owner, ("start", "ended"), most=2)]

    latest = sorted((line["run"], line["event"]) for line in found if line["run"] != "r1")
    assert latest == [("r2", "ended"), ("r2", "start"), ("r3", "start")]


async def test_the_latest_runs_of_many_are_read_without_the_oldest(store: Store, owner: Owner) -> None:
    for number in range(500):
        store.journal.begin(start(owner, f"r{number}", time=1_700_000_000 + number))
        store.journal.append(word(owner, f"r{number}", 2, "read", f'"got":"{"x" * 200}"'))
    store.journal.append(word(owner, "r499", 3, "ended"))
    store.journal.append(word(owner, "r0", 3, "ended"))
    await store.journal.settle()

    found = [json.loads(line) for line in store.journal.read_events(owner, ("start", "ended"), most=20)]

    starts = [line["run"] for line in found if line["event"] == "start"]
    assert starts[-20:] == [f"r{number}" for number in range(480, 500)]
    assert len(starts) < 400
    assert "r499" in [line["run"] for line in found if line["event"] == "ended"]


async def test_a_run_of_another_does_not_exist(store: Store, owner: Owner, tmp_path: Path) -> None:
    store.journal.begin(start(owner, "r1"))
    await store.journal.settle()

    for other in (Owner("local", tmp_path / "b"), Owner('["issuer","subject"]', tmp_path)):
        assert store.journal.read(other, "r1") is None
    for odd in ("r\0", "r\udc80", "r' OR true --"):
        assert store.journal.read(owner, odd) is None
    for other in (Owner("local", tmp_path / "b"), Owner('["issuer","subject"]', tmp_path)):
        assert list(store.journal.read_events(other, ("start",))) == []


async def test_a_run_that_lost_a_line_says_so(store: Store, owner: Owner) -> None:
    mark = store.journal.begin(start(owner, "r1"))
    store.journal.spoil(mark)
    await store.journal.settle()

    found = store.journal.read(owner, "r1")

    assert found is not None
    assert found.lines == [start(owner, "r1").replace(WHOLE, SPOILT)]


async def test_a_run_is_taken_over_once_under_each_number(open_store: OpenStore, owner: Owner) -> None:
    first, second = open_store().journal, open_store().journal
    for run in ("r1", "r2"):
        first.begin(start(owner, run))
    await first.settle()

    taken = [journal.take(owner, "r1", heir, 2) for journal, heir in ((second, "r3"), (first, "r4"), (second, "r3"))]

    assert taken == [True, False, False]
    assert second.take(owner, "r1", "r5", 3)
    found, other = first.read(owner, "r1"), first.read(owner, "r2")
    assert found is not None
    assert other is not None
    assert (found.heirs, other.heirs) == (("r3", "r5"), ())


async def test_whoever_writes_a_run_hears_that_it_was_taken_over(open_store: OpenStore, owner: Owner) -> None:
    first, second = open_store().journal, open_store().journal
    for run in ("r1", "r2"):
        first.begin(start(owner, run))
    await first.settle()
    before = [first.taken_by(run) for run in ("r1", "r2")]

    second.take(owner, "r1", "r3", 2)
    for run in ("r1", "r2"):
        first.append(word(owner, run, 2, "begin"))
    await first.settle()

    assert before == ["", ""]
    assert [first.taken_by(run) for run in ("r1", "r2")] == ["r3", ""]
    assert [len(found.lines) for run in ("r2",) if (found := second.read(owner, run)) is not None] == [2]


async def test_a_value_beside_the_lines_is_fetched_by_its_place(open_store: OpenStore, owner: Owner) -> None:
    journal, data = open_store().journal, secrets.token_bytes(300_000)
    journal.begin(start(owner, "r1"))
    beginning = begin_line(owner, "r1") + b'"n":'
    places = [journal.keep(beginning, data), journal.keep(beginning, b"")]
    await journal.settle()

    later = open_store().journal

    assert [later.fetch(place) for place in places] == [data, b""]
    name, offset, size = places[0]
    for wrong in ((name, offset, size + 10**6), ("../key", 0, 10), ("0" * 32, 0, 1)):
        with pytest.raises(OSError, match=r"no longer kept|No data|Invalid argument|No such file"):
            later.fetch(wrong)
    with pytest.raises(OSError, match="too large"):
        journal.keep(beginning, bytes(20 * 1024**2))


def test_calls_are_compared_with_one_key_everywhere(open_store: OpenStore) -> None:
    stores = [open_store(), open_store()]
    for store in stores:
        if (link := link_of(store)) is not None:
            link.run_now(lambda connection: connection.execute("SELECT 1"))

    assert len({store.journal.load_key() for store in stores}) == 1


@pytest.mark.xdist_group("databases")
async def test_a_person_of_a_team_has_one_project_whatever_folders_the_replicas_have(
    database: str, tmp_path: Path
) -> None:
    from tests.store.conftest import open_postgres

    there, here = Owner('["issuer","ada"]', tmp_path / "there"), Owner('["issuer","ada"]', tmp_path / "here")
    with open_postgres(database, tmp_path) as store:
        store.journal.begin(start(there, "r1"))
        await store.journal.settle()

        assert store.journal.read(here, "r1") is not None


@pytest.mark.xdist_group("databases")
async def test_old_runs_go_and_those_that_are_too_much(database: str, tmp_path: Path) -> None:
    from contextlib import closing

    from ot.store.postgres.journal import PostgresJournal
    from ot.store.postgres.link import PostgresLink

    now = 1_700_000_000.0
    owner, other = Owner("local", tmp_path), Owner('["issuer","other"]', tmp_path)

    with closing(PostgresLink(database)) as link:

        def journal() -> PostgresJournal:
            return PostgresJournal(link, keep_for=3600, max_size=100_000, clock=lambda: now)

        def runs(of: Owner) -> set[str]:
            return {json.loads(line)["run"] for line in journal().read_events(of, ("start",))}

        async def write(of: Owner, run: str, size: int) -> None:
            written = journal()
            written.begin(start(of, run))
            written.append(word(of, run, 2, "read", f'"x":"{"x" * size}"'))
            await written.settle()

        async def until(of: Owner, expected: set[str]) -> None:
            with anyio.fail_after(60):
                while runs(of) != expected:
                    await anyio.sleep(0.01)

        await write(other, "r0", 60_000)
        await write(owner, "r1", 60_000)
        now += 1000
        await write(owner, "r2", 60_000)
        now += 1
        journal().begin(start(owner, "r3"))  # whoever begins looks after the others
        await until(owner, {"r2", "r3"})
        assert runs(other) == {"r0"}

        now += 3000
        await write(owner, "r4", 10)
        await until(owner, {"r3", "r4"} | ({"r2"} & runs(owner)))
        now += 1000
        await write(owner, "r5", 10)
        await until(owner, {"r4", "r5"})


WRITER = """
import sys
from contextlib import closing
from pathlib import Path
import anyio
from ot.store.opening import Retention, build_backend
from ot.store.owner import Owner
from tests.store.test_journal import start, word

async def write(address, state):
    owner = Owner("local", Path(state))
    journal = build_backend(address).build_store(Path(state), principal="local", journal=Retention(3600, 10**8, 10**8)).journal
    journal.begin(start(owner, "r1"))
    for number in range(2, 10**9):
        journal.append(word(owner, "r1", number, "read"))
        await journal.settle()
        print(number, flush=True)

anyio.run(write, *sys.argv[1:])
"""


async def test_nothing_that_was_acknowledged_is_lost_when_the_writer_is_killed(
    open_store: OpenStore, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    store = open_store()
    address = "" if link_of(store) is None else request.getfixturevalue("database")
    owner = Owner("local", tmp_path / "state")
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, address, str(owner.project)], stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        told = [int(writer.stdout.readline()) for _ in range(50)]
        writer.send_signal(signal.SIGKILL)
        told += [int(line) for line in writer.stdout.read().split() if re.fullmatch(r"\d+", line)]

    with anyio.fail_after(60):
        while (found := store.journal.read(owner, "r1")) is not None and found.in_use:
            await anyio.sleep(0.01)  # until the database has noticed

    assert found is not None
    numbers = [json.loads(line)["n"] for line in found.lines]
    assert numbers == list(range(1, len(numbers) + 1))
    assert numbers[-1] >= told[-1]
