"""Conversations: lines outlive whoever writes them, within bounds, for their owner alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from ot.store.conversations import Conversations, FoundConversation
from ot.store.owner import Owner

ANA, BEN = Owner("local", Path("/ana")), Owner("local", Path("/ben"))


@pytest.fixture
def store(tmp_path: Path) -> Conversations:
    return Conversations(tmp_path / "conversations", keep_for=3600, max_size=16 * 1024**2)


def say(store: Conversations, owner: Owner, *words: str) -> str:
    """Have a conversation; its name."""
    opened = store.begin(owner)
    for word in words:
        opened.append({"question": word})
    opened.close()
    return opened.id


def found(store: Conversations, owner: Owner) -> list[tuple[str, list[str]]]:
    return [(one.id, [str(line["question"]) for line in one.lines]) for one in store.read(owner)]


def files(store: Conversations, owner: Owner, *names: str) -> list[Path]:
    return [store.file_of(owner, name) for name in names]


def test_a_conversation_is_found_by_its_owner_and_the_last_one_first(store: Conversations) -> None:
    first, second = say(store, ANA, "a"), say(store, ANA, "b", "c")
    say(store, BEN, "d")
    os.utime(store.file_of(ANA, first), (10**9 * 2, 10**9 * 2))

    assert found(store, ANA) == [(first, ["a"]), (second, ["b", "c"])]
    assert [stat.S_IMODE(file.stat().st_mode) for file in files(store, ANA, first, second)] == [0o600, 0o600]
    assert stat.S_IMODE(store.file_of(ANA, first).parent.stat().st_mode) == 0o700


def test_nothing_is_made_before_something_is_said(store: Conversations, tmp_path: Path) -> None:
    store.begin(ANA).close()

    assert list(store.read(ANA)) == []
    assert list(tmp_path.iterdir()) == []


def test_half_a_line_is_left_out_and_the_next_one_is_whole(store: Conversations) -> None:
    name = say(store, ANA, "a", "b")
    file = store.file_of(ANA, name)
    file.write_bytes(file.read_bytes()[:-5])

    assert found(store, ANA) == [(name, ["a"])]

    opened = store.go_on(ANA, name)
    opened.append({"question": "c"})
    opened.close()
    assert found(store, ANA) == [(name, ["a", "c"])]


@pytest.mark.parametrize(
    "content", [b"", b"\x00\xff\n", b'{"form":2}\n{"question":"x"}\n', b"[]\n", b"[" * 100_000 + b"\n"]
)
def test_a_file_of_another_form_is_left_alone(store: Conversations, content: bytes) -> None:
    file = store.file_of(ANA, say(store, ANA, "a"))
    file.write_bytes(content)

    assert list(store.read(ANA)) == []
    assert file.read_bytes() == content


def test_a_conversation_has_one_writer(store: Conversations) -> None:
    opened = store.begin(ANA)
    opened.append({"question": "a"})

    with pytest.raises(BlockingIOError):
        store.go_on(ANA, opened.id)

    opened.close()
    store.go_on(ANA, opened.id).close()


def test_what_is_old_or_too_much_goes_and_what_is_in_use_stays(tmp_path: Path) -> None:
    store = Conversations(tmp_path, keep_for=3600, max_size=3000)
    old = say(store, ANA, "old")
    os.utime(store.file_of(ANA, old), (1, 1))
    large = say(store, BEN, "x" * 2000)
    os.utime(store.file_of(BEN, large), (2 * 10**9, 2 * 10**9))
    opened = store.begin(ANA)
    opened.append({"question": "y" * 2500})

    say(store, ANA, "new")

    assert [one.lines[0]["question"] for one in store.read(ANA)] == ["new", "y" * 2500]
    assert list(store.read(BEN)) == []
    opened.append({"answer": "z" * 1000})
    with pytest.raises(OSError, match="reached their maximum size"):
        opened.append({"question": "more"})
    opened.close()


def test_a_link_in_place_of_a_file_is_not_followed(store: Conversations, tmp_path: Path) -> None:
    name = say(store, ANA, "a")
    file = store.file_of(ANA, name)
    elsewhere = tmp_path / "elsewhere"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)

    assert list(store.read(ANA)) == []
    with pytest.raises(OSError, match="symbolic links"):
        store.go_on(ANA, name)


def test_what_is_found_has_a_name_a_time_and_its_lines(store: Conversations) -> None:
    name = say(store, ANA, "ä\ud800")

    [one] = store.read(ANA)

    assert one == FoundConversation(name, store.file_of(ANA, name).stat().st_mtime, [{"question": "ä\ud800"}])
