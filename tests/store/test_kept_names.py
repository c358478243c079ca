"""Names of kept values: each owner's own, shared by servers, forgotten in the end."""

from __future__ import annotations

import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from ot.store.opening import Store
from ot.store.owner import Owner
from ot.store.results import MOST_NAMES, EmbeddedKeptNames, KeptEntry
from tests.store.conftest import link_of

NOW = 1_700_000_000.0
ENTRY = KeptEntry("k7w2m9x4qd", NOW + 3600)

OpenStore = Callable[[], Store]


@pytest.fixture
def owner(tmp_path: Path) -> Owner:
    return Owner("local", tmp_path)


def test_a_name_stands_for_what_was_put_last_and_tells_what_it_replaced(open_store: OpenStore, owner: Owner) -> None:
    names = open_store().kept_values

    assert names.put(owner, "rows", ENTRY, now=NOW) is None
    assert names.put(owner, "rows", KeptEntry("second", NOW), now=NOW) == ENTRY
    assert open_store().kept_values.get(owner, "rows") == KeptEntry("second", NOW)


def test_names_belong_to_a_principal_and_a_project(store: Store, tmp_path: Path) -> None:
    names = store.kept_values
    names.put(Owner("local", tmp_path / "a"), "rows", ENTRY, now=NOW)

    for other in (Owner("local", tmp_path / "b"), Owner("issuer/subject", tmp_path / "a")):
        assert names.get(other, "rows") is None
        assert names.entries(other) == {}


def test_names_of_answers_are_none_of_values(store: Store, owner: Owner) -> None:
    store.kept_answers.put(owner, "rows", ENTRY, now=NOW)

    assert store.kept_values.entries(owner) == {}
    assert store.kept_answers.entries(owner) == {"rows": ENTRY}


def test_names_are_listed_in_their_order(store: Store, owner: Owner) -> None:
    names = ["b", "a", "B", "_", "0", "a.b", "a-b", "aa"]
    for name in names:
        store.kept_values.put(owner, name, ENTRY, now=NOW)

    assert sorted(store.kept_values.entries(owner)) == sorted(names)


def test_a_file_that_makes_no_sense_is_no_name(tmp_path: Path, owner: Owner) -> None:
    names = EmbeddedKeptNames(tmp_path)
    names.put(owner, "good", ENTRY, now=NOW)
    [good] = tmp_path.glob("kept/*/good.json")
    for number, text in enumerate(["", "[]", '{"handle": 1}', "[" * 100_000, '{"handle": "x", "expires": "soon"}']):
        (good.parent / f"bad{number}.json").write_text(text)

    assert names.entries(owner) == {"good": ENTRY}
    assert stat.S_IMODE(good.stat().st_mode) == 0o600
    assert stat.S_IMODE(good.parent.stat().st_mode) == 0o700


def test_a_name_is_forgotten_a_day_after_its_value_has_gone(store: Store, owner: Owner) -> None:
    store.kept_values.put(owner, "first", ENTRY, now=NOW)

    store.kept_values.put(owner, "second", KeptEntry("later", NOW + 200_000), now=NOW + 100_000)

    assert list(store.kept_values.entries(owner)) == ["second"]


def test_there_are_only_so_many_names(store: Store, owner: Owner, tmp_path: Path) -> None:
    names = store.kept_values
    names.put(owner, "first", ENTRY, now=NOW)
    if (link := link_of(store)) is None:
        [first] = tmp_path.glob("state/kept/*/first.json")
        for number in range(MOST_NAMES - 1):
            (first.parent / f"n{number}.json").write_bytes(first.read_bytes())
    else:
        many = "INSERT INTO kept_names SELECT kind, principal, project, 'n' || n, handle, expires"
        where = "FROM kept_names, generate_series(1, $2) n WHERE project = $1"
        project = str(owner.project)
        link.run_now(lambda connection: connection.execute(f"{many} {where}", project, MOST_NAMES - 1))

    with pytest.raises(OSError, match="1,000 kept values already"):
        names.put(owner, "one-more", ENTRY, now=NOW)

    assert names.put(owner, "first", ENTRY, now=NOW) == ENTRY


def test_of_many_who_put_one_name_at_once_each_replaces_another(open_store: OpenStore, owner: Owner) -> None:
    replaced, stores = [], [open_store(), open_store()]

    def put(number: int) -> None:
        entry = KeptEntry(str(number), NOW)
        replaced.append(stores[number % 2].kept_values.put(owner, "rows", entry, now=NOW))

    threads = [threading.Thread(target=put, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    last = stores[0].kept_values.get(owner, "rows")
    assert {*replaced, last} == {None, *(KeptEntry(str(number), NOW) for number in range(20))}
