"""What calls were about to change, in either store: in order, byte for byte, sealed, and no more than there is room."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from ot.journal.run_changes import KeptChanges, RunChanges, pieces_of
from ot.store.changes import EmbeddedChanges, FrameSeal
from ot.store.embedded_journal import EmbeddedJournal
from ot.store.opening import Store
from ot.store.owner import Owner
from ot.store.parts import WHOLE, begin_line
from ot.store.sealing import Sealer, new_key
from tests.store.conftest import KEPT

OpenStore = Callable[[], Store]


@pytest.fixture
def owner(tmp_path: Path) -> Owner:
    return Owner("local", tmp_path)


def test_changes_are_read_in_their_order_with_all_that_was_there(open_store: OpenStore, owner: Owner) -> None:
    run, large = (owner, "r1"), os.urandom(3 * 1024**2)
    changes = RunChanges(open_store().open_changes(), run, most_bytes=10 * 1024**2)
    first, _ = changes.note(7, {"kind": "a"})
    changes.note(8, {"kind": "b"}, pieces_of(large))
    changes.add(first, 7, {"now": [1]})
    changes.finish()

    found = KeptChanges(open_store().open_changes(), run)

    assert [(each.call, each.facts["kind"], each.lost) for each in found.all] == [(7, "a", ""), (8, "b", "")]
    assert found.all[0].facts["now"] == [1]
    assert b"".join(data for _, data in found.content_of(found.all[1])) == large
    assert not KeptChanges(open_store().open_changes(), (owner, "r2")).all
    assert not KeptChanges(open_store().open_changes(), (owner, "../r1")).all


def test_entries_that_undos_add_at_once_stand_one_after_another(open_store: OpenStore, owner: Owner) -> None:
    run, stores = (owner, "r1"), [open_store().open_changes() for _ in range(2)]
    changes = RunChanges(stores[0], run, most_bytes=10 * 1024**2)
    changes.note(7, {"kind": "a"}, pieces_of(b"before"))
    changes.finish()
    undos = [KeptChanges(store, run) for store in (*stores, *stores)]

    def add(undo: KeptChanges) -> int:
        def is_free(kind: str) -> bool:
            return not any(each.facts["kind"] == kind for each in undo.all)

        return sum(undo.add(7, {"kind": kind}, if_=partial(is_free, kind)) for kind in map(str, range(20)))

    with ThreadPoolExecutor() as threads:
        added = [*threads.map(add, undos)]

    assert sum(added) == 20
    assert [each.facts["kind"] for each in KeptChanges(open_store().open_changes(), run).all] == [
        "a", *map(str, range(20)),
    ]  # fmt: skip


def test_what_is_too_much_is_noted_without_its_content(store: Store, owner: Owner) -> None:
    changes = RunChanges(store.open_changes(), (owner, "r1"), most_bytes=1000)

    _, lost = changes.note(1, {"kind": "a"}, pieces_of(bytes(2000)))

    assert lost == "it is more than is kept of one run (journal.undo_size)"
    assert [each.lost for each in KeptChanges(store.open_changes(), (owner, "r1")).all] == [lost]


def test_the_oldest_runs_make_room_for_a_new_one(open_store: OpenStore, owner: Owner) -> None:
    store = open_store().open_changes()
    for name in ("r1", "r2", "r3"):
        changes = RunChanges(store, (owner, name), most_bytes=KEPT.undo_size // 2)
        changes.note(1, {}, pieces_of(bytes(400_000)))
        changes.finish()

    left = [name for name in ("r1", "r2", "r3") if [*store.read((owner, name), 0, 1)]]

    assert left[-1] == "r3"
    assert "r1" not in left


def test_frames_of_a_team_open_only_in_their_place(tmp_path: Path, owner: Owner) -> None:
    sealer = Sealer([new_key()])
    store = EmbeddedChanges(tmp_path / "undo", kept=KEPT, seal=FrameSeal(lambda: sealer))
    store.append((owner, "r1"), 0, [b"the secret", b"another"])
    file = tmp_path / "undo" / "r1.changes"

    assert [*store.read((owner, "r1"), 0, sys.maxsize)] == [b"the secret", b"another"]
    assert b"secret" not in file.read_bytes()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.rename(file.with_name("r2.changes"))
    with pytest.raises(OSError, match="sealed for a different place"):
        [*store.read((owner, "r2"), 0, 1)]
    with pytest.raises(OSError, match="no key"):
        FrameSeal(lambda: Sealer([])).close((owner, "r1"), 0, b"x")


def test_half_a_frame_was_never_written(tmp_path: Path, owner: Owner) -> None:
    store = EmbeddedChanges(tmp_path / "undo", kept=KEPT, seal=FrameSeal())
    store.append((owner, "r1"), 0, [b"whole", b"half of it"])
    store.finish((owner, "r1"))
    file = tmp_path / "undo" / "r1.changes"
    os.truncate(file, file.stat().st_size - 3)

    assert [*store.read((owner, "r1"), 0, sys.maxsize)] == [b"whole"]
    assert not store.extend((owner, "r1"), 2, b"too late")
    assert store.extend((owner, "r1"), 1, b"next")
    assert [*store.read((owner, "r1"), 0, sys.maxsize)] == [b"whole", b"next"]


def test_what_runs_changed_goes_with_their_journal(tmp_path: Path, owner: Owner) -> None:
    store = EmbeddedChanges(tmp_path / "undo", kept=KEPT, seal=FrameSeal())
    store.append((owner, "r1"), 0, [b"one"])
    store.finish((owner, "r1"))

    store.forget({"r1", "../other", "r9"})

    assert not [*(tmp_path / "undo").iterdir()]


def test_the_journal_says_which_runs_it_no_longer_keeps(tmp_path: Path, owner: Owner) -> None:
    forgotten: list[set[str]] = []
    for run in ("r1", "r2"):
        journal = EmbeddedJournal(tmp_path / "journal", keep_for=3600, max_size=10**8, forget=forgotten.append)
        journal.begin(begin_line(owner, run) + b'"n":1,"event":"start",' + WHOLE + b"}\n")
        journal.close()
        for file in (tmp_path / "journal").iterdir():
            os.utime(file, (0, 0))

    assert forgotten == [{"r1"}]
