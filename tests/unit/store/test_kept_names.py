"""Names of kept values on disk: each owner's own, shared by servers, forgotten in the end."""

from __future__ import annotations

import stat
import threading
from pathlib import Path

import pytest

from ot.store.kept_names import MOST_NAMES, EmbeddedKeptNames, KeptEntry
from ot.store.owner import Owner

NOW = 1_700_000_000.0
ENTRY = KeptEntry("k7w2m9x4qd", NOW + 3600)


def test_a_name_stands_for_what_was_put_last_and_tells_what_it_replaced(tmp_path: Path) -> None:
    owner, names = Owner("local", tmp_path), EmbeddedKeptNames(tmp_path)

    assert names.put(owner, "rows", ENTRY, now=NOW) is None
    assert names.put(owner, "rows", KeptEntry("second", NOW), now=NOW) == ENTRY
    assert EmbeddedKeptNames(tmp_path).get(owner, "rows") == KeptEntry("second", NOW)


def test_names_belong_to_a_principal_and_a_project(tmp_path: Path) -> None:
    names = EmbeddedKeptNames(tmp_path)
    names.put(Owner("local", tmp_path / "a"), "rows", ENTRY, now=NOW)

    for other in (Owner("local", tmp_path / "b"), Owner("issuer/subject", tmp_path / "a")):
        assert names.get(other, "rows") is None
        assert names.entries(other) == {}


def test_a_file_that_makes_no_sense_is_no_name(tmp_path: Path) -> None:
    owner, names = Owner("local", tmp_path), EmbeddedKeptNames(tmp_path)
    names.put(owner, "good", ENTRY, now=NOW)
    [good] = tmp_path.glob("kept/*/good.json")
    for number, text in enumerate(["", "[]", '{"handle": 1}', "[" * 100_000, '{"handle": "x", "expires": "soon"}']):
        (good.parent / f"bad{number}.json").write_text(text)

    assert names.entries(owner) == {"good": ENTRY}
    assert stat.S_IMODE(good.stat().st_mode) == 0o600
    assert stat.S_IMODE(good.parent.stat().st_mode) == 0o700


def test_a_name_is_forgotten_a_day_after_its_value_has_gone_and_there_are_only_so_many(tmp_path: Path) -> None:
    owner, names = Owner("local", tmp_path), EmbeddedKeptNames(tmp_path)
    names.put(owner, "first", ENTRY, now=NOW)
    [first] = tmp_path.glob("kept/*/first.json")
    for number in range(MOST_NAMES - 1):
        (first.parent / f"n{number}.json").write_bytes(first.read_bytes())

    with pytest.raises(OSError, match="1,000 kept values already"):
        names.put(owner, "one-more", ENTRY, now=NOW)
    names.put(owner, "one-more", KeptEntry("later", NOW + 200_000), now=NOW + 100_000)

    assert list(names.entries(owner)) == ["one-more"]


def test_of_many_who_put_one_name_at_once_each_replaces_another(tmp_path: Path) -> None:
    owner, replaced = Owner("local", tmp_path), []

    def put(number: int) -> None:
        replaced.append(EmbeddedKeptNames(tmp_path).put(owner, "rows", KeptEntry(str(number), NOW), now=NOW))

    threads = [threading.Thread(target=put, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    last = EmbeddedKeptNames(tmp_path).get(owner, "rows")
    assert {*replaced, last} == {None, *(KeptEntry(str(number), NOW) for number in range(20))}
