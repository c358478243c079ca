"""The shelf: documents of one person, the same at every replica."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from ot.store.owner import StoreUnavailableError
from tests.store.personal_parts import OpenParts, open_parts

__all__ = ["open_parts"]


def test_a_document_is_what_was_written_last_and_its_state_tells(open_parts: OpenParts) -> None:
    shelf = open_parts().shelf.below("servers/accepted")
    assert shelf.state("a.json") == ()
    with pytest.raises(FileNotFoundError):
        shelf.read("a.json")

    shelf.write("a.json", b"one")
    first = shelf.state("a.json")
    shelf.write("a.json", b"two")

    assert shelf.read("a.json") == b"two"
    assert first not in ((), shelf.state("a.json"))
    assert (shelf.folder / "a.json").stat().st_mode & 0o777 == 0o600


def test_only_the_first_writes_where_nothing_may_be_replaced(open_parts: OpenParts) -> None:
    first, second = (open_parts("ada", replica).shelf for replica in (1, 2))
    first.write("first.json", b"one")

    with pytest.raises(FileExistsError):
        second.write("first.json", b"two", replace=False)

    assert second.read("first.json") == first.read("first.json") == b"one"


def test_another_replica_finds_what_was_written_changed_and_removed(open_parts: OpenParts) -> None:
    first, second = (open_parts("bea", replica).shelf for replica in (1, 2))
    for name in ("shapes/a.json", "shapes/b.json", "skills/c.py"):
        first.write(name, name.encode())
    second.catch_up()
    assert second.below("shapes").read("a.json") == b"shapes/a.json"

    first.write("shapes/a.json", b"changed")
    first.remove("shapes/b.json")
    first.remove("shapes/b.json")
    second.catch_up()

    assert second.read("shapes/a.json") == b"changed"
    assert second.state("shapes/b.json") == ()
    assert second.read("skills/c.py") == b"skills/c.py"


def test_of_many_who_change_a_document_none_is_lost(open_parts: OpenParts) -> None:
    shelves = [open_parts("cyd", replica).shelf for replica in (1, 2)]

    def add(number: int) -> None:
        shelves[number % 2].update("count", lambda before: (before or b"") + b"%d," % number)

    threads = [threading.Thread(target=add, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    shelves[0].catch_up()
    assert sorted(shelves[0].read("count").split(b",")[:-1]) == [b"%d" % number for number in range(8)]


def test_nobody_finds_the_documents_of_another(open_parts: OpenParts) -> None:
    open_parts("dan").shelf.write("secrets", b"of dan")

    for other in ("dan ", "Dan", "", '["dan"]'):
        shelf = open_parts(other).shelf
        shelf.catch_up()
        assert shelf.state("secrets") == ()


def test_what_is_unused_is_forgotten(open_parts: OpenParts) -> None:
    shelf = open_parts("eve").shelf
    shelf.write("definitions/web.1.json", b"1")
    shelf.write("definitions/other.1.json", b"1")

    shelf.below("definitions").forget_unused("web.*.json", seconds=3600)
    assert shelf.read("definitions/web.1.json") == b"1"
    shelf.below("definitions").forget_unused("web.*.json", seconds=-1)

    assert shelf.state("definitions/web.1.json") == ()
    assert shelf.read("definitions/other.1.json") == b"1"


@pytest.mark.xdist_group("databases")
def test_copies_are_read_while_the_database_is_gone_and_nothing_is_written(database: str, tmp_path: Path) -> None:
    from ot.store.postgres.link import PostgresLink
    from ot.store.postgres.shelf import PostgresShelf

    link = PostgresLink(database)
    shelf = PostgresShelf(link, "fay", tmp_path)
    shelf.write("a.json", b"one")
    link.close()

    with pytest.raises(StoreUnavailableError):
        shelf.write("a.json", b"two")

    assert shelf.read("a.json") == b"one"


@pytest.mark.parametrize("name", ["../a", "/a", "a/../../b", "", "a//b", ".a"])
def test_no_name_leads_out_of_the_shelf(open_parts: OpenParts, name: str) -> None:
    with pytest.raises(OSError, match="name"):
        open_parts("gus").shelf.write(name, b"1")
