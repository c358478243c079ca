"""The undo of changes to files: the tree of before, byte for byte, or a word about what could not be."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_core.json_types import Json
from ot.errors import CallError, RunNotUndoableError
from ot.files.changes import MOST_READ, note_change, note_move
from ot.files.noted_files import note_files, note_results
from tests.packs.undo.workbench import Workbench
from tests.properties import unhurried


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench(tmp_path)


def fill(project: Path) -> None:
    (project / "a").write_bytes(b"one\r\n\xff")
    (project / "a").chmod(0o640)
    (project / "d" / "e").mkdir(parents=True)
    (project / "d").chmod(0o750)
    (project / "d" / "f").write_text("two")
    (project / "d" / "e" / "g").write_text("three")
    (project / "d" / "e" / "g").chmod(0o755)
    (project / "d" / "l").symlink_to("f")
    (project / "d" / "gone").symlink_to("/nowhere")


IN_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # where nothing waits for a disk
PATHS = st.sampled_from(["a", "b", "d", "d/f", "d/l", "d/e", "d/e/g", "d/e/h", "n/m", "n/m/o", "d2", "d2/f"])
KINDS = ["nothing", "file", "link", "folder", "empty folder"]
CHANGES = st.one_of(
    st.tuples(st.just("write"), PATHS, st.text(max_size=5)),
    st.tuples(st.just("move"), PATHS, PATHS, st.booleans()),
    st.tuples(st.just("copy"), PATHS, PATHS, st.booleans()),
    st.tuples(st.just("delete"), PATHS),
    st.tuples(st.just("make_folders"), PATHS),
    st.tuples(st.just("become"), PATHS, st.sampled_from(KINDS), st.sampled_from([0o600, 0o700, 0o755])),
)


def make(bench: Workbench, change: tuple[object, ...]) -> None:
    name, *arguments = change
    with suppress(CallError, UnicodeEncodeError):
        if name in ("move", "copy"):
            path, output, overwrite = arguments
            getattr(bench, name)(path, output, overwrite=overwrite)
        else:
            getattr(bench, str(name))(*arguments)


@pytest.mark.hypothesis
@unhurried
@given(st.lists(CHANGES, max_size=8), st.lists(CHANGES, max_size=4))
def test_an_undo_gives_the_tree_of_before(changes: list[tuple[object, ...]], more: list[tuple[object, ...]]) -> None:
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        bench = Workbench(Path(folder))
        fill(bench.project)
        before = bench.tree()
        with bench.run("r1"):
            for change in changes:
                make(bench, change)
        between = bench.tree()
        with bench.run("r2"):
            for change in more:
                make(bench, change)
        after = bench.tree()

        assert bench.undo("r2", by="u2") == {}
        assert bench.tree() == between
        assert bench.undo("u2", by="uu2") == {}
        assert bench.tree() == after
        assert bench.undo("uu2", by="u3") == {}
        assert bench.undo("r1", by="u1") == {}
        assert bench.tree() == before


@pytest.mark.hypothesis
@unhurried
@given(st.lists(CHANGES, max_size=8), st.integers(0, 6000))
def test_without_room_an_undo_says_what_it_could_not(changes: list[tuple[object, ...]], room: int) -> None:
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        bench = Workbench(Path(folder), undo_size=room)
        fill(bench.project)
        before = bench.tree()
        with bench.run("r1"):
            for change in changes:
                make(bench, change)

        left = bench.undo("r1", by="u1")

        assert left or bench.tree() == before


@pytest.mark.hypothesis
@unhurried
@given(st.lists(CHANGES, min_size=1, max_size=6), st.lists(st.tuples(PATHS, st.text(max_size=3)), max_size=2))
def test_what_others_have_changed_since_stays(changes: list[tuple[object, ...]], others: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        bench = Workbench(Path(folder))
        fill(bench.project)
        before = bench.tree()
        with bench.run("r1"):
            for change in changes:
                make(bench, change)
        written = {}
        for path, content in others:
            file = bench.project / path
            if file.parent.is_dir() and not file.is_symlink() and not file.is_dir():
                file.write_text(content, newline="")
                written[path] = content

        left = bench.undo("r1", by="u1")

        assert left or written or bench.tree() == before
        if not left:
            strange = {found[-1] for path, found in bench.tree().items() if found != before.get(path)}
            assert strange <= {content.encode() for content in written.values()}  # also in a folder that moves back


def test_what_was_about_to_change_and_did_not_is_left_alone(bench: Workbench) -> None:
    for name in ("a", "b"):
        (bench.project / name).write_text(name)
    (bench.project / "d").mkdir()
    (bench.project / "l").symlink_to("d")
    with bench.run("r1"):
        notes = note_files(bench.files, bench.project, ["a", "l/f"])  # git may stop before it has written them
        bench.write("b", "changed")
        note_results(bench.files, bench.project, notes)
    (bench.project / "a").write_text("by hand")

    assert bench.undo("r1", by="u1") == {}
    assert [(bench.project / name).read_text() for name in ("a", "b")] == ["by hand", "b"]


def test_a_file_that_has_changed_is_left_and_the_difference_is_shown(bench: Workbench) -> None:
    (bench.project / "a").write_text("first\nsecond\n")
    with bench.run("r1"):
        bench.write("a", "first\nchanged\n")
        bench.write("b", "new")
    (bench.project / "a").write_text("first\nby hand\n")

    plan, _ = bench.plan("r1")
    assert [(step.words, step.problem) for step in plan.blocked] == [("restore a", "it has changed since")]
    assert "-by hand" in plan.blocked[0].difference
    assert "+second" in plan.blocked[0].difference

    assert bench.undo("r1", by="u1") == {"restore a": "it has changed since"}
    assert (bench.project / "a").read_text() == "first\nby hand\n"
    assert not (bench.project / "b").exists()


def test_a_file_with_holes_comes_back(bench: Workbench) -> None:
    file = bench.project / "sparse"
    with file.open("wb") as opened:
        opened.seek(3 * 1024**3)
        opened.write(b"end")
    before = file.stat().st_size
    with bench.run("r1"):
        bench.delete("sparse")

    assert bench.undo("r1", by="u1") == {}
    assert file.stat().st_size == before
    assert file.stat().st_blocks * 512 < 1024**2
    with file.open("rb") as opened:
        opened.seek(-3, os.SEEK_END)
        assert opened.read() == b"end"


def test_extended_attributes_come_back(bench: Workbench) -> None:
    file = bench.project / "a"
    file.write_text("old")
    try:
        os.setxattr(file, "user.colour", b"blue")
    except (AttributeError, OSError):
        pytest.skip("no extended attributes here")
    with bench.run("r1"):
        bench.write("a", "new")
        bench.delete("a")

    assert bench.undo("r1", by="u1") == {}
    assert (file.read_text(), os.getxattr(file, "user.colour")) == ("old", b"blue")


def test_a_name_of_a_file_that_has_several_says_so(bench: Workbench) -> None:
    (bench.project / "a").write_text("both")
    os.link(bench.project / "a", bench.project / "b")
    with bench.run("r1"):
        bench.delete("a")

    plan, _ = bench.plan("r1")
    assert [step.warning for step in plan.doable] == ["it was one of 2 names of one file, and is a file of its own now"]
    assert bench.undo("r1", by="u1") == {}
    assert (bench.project / "a").read_text() == (bench.project / "b").read_text() == "both"


def test_what_is_too_large_is_noted_and_said(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, undo_size=16 * 1024**2)
    (bench.project / "big").write_bytes(os.urandom(9 * 1024**2))
    with bench.run("r1"):
        bench.delete("big")
        bench.write("small", "x")

    assert any("cannot be undone: it is more than is kept of one run" in line for line in bench.notes.lines)
    left = bench.undo("r1", by="u1")
    assert [*left] == ["restore big, which was deleted"]
    assert "journal.undo_size" in left["restore big, which was deleted"]
    assert not (bench.project / "small").exists()


def test_what_is_too_large_leaves_room_for_the_rest(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, undo_size=16 * 1024**2)
    (bench.project / "big").write_bytes(os.urandom(12 * 1024**2))
    (bench.project / "medium").write_bytes(os.urandom(4 * 1024**2))
    before = (bench.project / "medium").read_bytes()
    with bench.run("r1"):
        bench.write("big", "short")
        bench.write("medium", "short")
        bench.write("big", "shorter")

    reason = "it is more than is kept of one run (journal.undo_size)"
    assert [*bench.notes.lines] == [f"The change of {bench.project / 'big'} cannot be undone: {reason}."]
    assert [*bench.undo("r1", by="u1")] == ["restore big"]
    assert (bench.project / "medium").read_bytes() == before


def test_a_file_that_changes_often_is_kept_once(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, undo_size=16 * 1024**2)
    (bench.project / "a").write_bytes(os.urandom(10**6))
    before = bench.tree()
    with bench.run("r1"):
        for count in range(10):
            bench.write("a", str(count) * 10**6)
            bench.write("b", str(count) * 10**6)

    assert not bench.notes.lines
    plan, _ = bench.plan("r1")
    assert sorted(step.words for step in plan.doable) == ["remove b", "restore a"]
    assert bench.undo("r1", by="u1") == {}
    assert bench.tree() == before


def test_a_file_too_large_to_be_read_whole_is_undone_step_by_step(bench: Workbench) -> None:
    for name in ("one", "two"):
        with (bench.project / name).open("wb") as file:
            file.truncate(MOST_READ + 1)
            file.write(name.encode())
    (bench.project / "a").write_bytes(b"short")
    before = bench.tree()
    with bench.run("r1"):
        bench.copy("one", "a", overwrite=True)
        bench.delete("two")
        bench.make_folders("d")
        bench.move("one", "a", overwrite=True)
    after = bench.tree()

    assert bench.undo("r1", by="u1") == {}
    assert bench.tree() == before
    assert bench.undo("u1", by="u2") == {}
    assert bench.tree() == after
    assert bench.undo("u2", by="u3") == {}
    assert bench.tree() == before
    assert all(step.done for step in bench.plan("r1")[0].steps)


def test_a_folder_that_became_a_link_is_not_followed(bench: Workbench, tmp_path: Path) -> None:
    (bench.project / "d").mkdir()
    (bench.project / "d" / "f").write_text("old")
    with bench.run("r1"):
        bench.write("d/f", "new")
    (bench.project / "d").rename(tmp_path / "elsewhere")
    (bench.project / "d").symlink_to(tmp_path / "elsewhere")

    left = bench.undo("r1", by="u1")

    assert "outside" in left["restore d/f"]
    assert (tmp_path / "elsewhere" / "f").read_text() == "new"
    (bench.project / "d").unlink()
    (tmp_path / "elsewhere").rename(bench.project / "other")
    (bench.project / "d").symlink_to("other")
    assert bench.undo("r1", by="u2") == {"restore d/f": "its folder has been replaced since"}


def test_a_file_that_became_a_folder_or_read_only_is_left(bench: Workbench) -> None:
    for name in ("a", "b"):
        (bench.project / name).write_text("old")
    with bench.run("r1"):
        bench.write("a", "new")
        bench.write("b", "new")
    (bench.project / "a").unlink()
    (bench.project / "a").mkdir()
    (bench.project / "b").chmod(0o444)

    assert bench.undo("r1", by="u1") == {"restore a": "it has changed since", "restore b": "it has changed since"}


def test_a_change_that_was_noted_and_never_made_leaves_nothing_to_undo(bench: Workbench) -> None:
    fill(bench.project)
    before = bench.tree()
    with bench.killed("r1"), bench.files.reach(bench.project / "a", write=True) as reached:
        note_change(reached.folder, reached.name, reached.place, None)
        note_move(reached.folder, reached.name, reached.place, bench.project / "b")

    plan, _ = bench.plan("r1")

    assert [step.done for step in plan.steps] == [True, True]
    assert bench.undo("r1", by="u1") == {}
    assert bench.tree() == before


def test_a_move_that_was_made_by_half_is_taken_back(bench: Workbench) -> None:
    (bench.project / "a").write_text("one")
    with bench.killed("r1"), bench.files.reach(bench.project / "a", write=True) as reached:
        note_move(reached.folder, reached.name, reached.place, bench.project / "b")
        os.link(bench.project / "a", bench.project / "b")

    assert bench.undo("r1", by="u1") == {}
    assert [*bench.tree()] == ["a"]


def test_folders_come_back_with_their_permissions_owner_and_attributes(bench: Workbench) -> None:
    folder = bench.project / "d"
    folder.mkdir()
    (folder / "f").write_text("f")
    folder.chmod(0o2750)
    with suppress(PermissionError):
        os.chown(folder, 1234, 1235)
        os.chown(folder / "f", 1236, 1237)
    with suppress(AttributeError, OSError):
        os.setxattr(folder, "user.colour", b"blue")

    def facts() -> list[object]:
        both = [each.stat() for each in (folder, folder / "f")]
        named = [os.getxattr(folder, each) for each in os.listxattr(folder)] if hasattr(os, "listxattr") else []
        return [*((each.st_mode, each.st_uid, each.st_gid) for each in both), named]

    before = facts()
    with bench.run("r1"):
        bench.delete("d")

    assert bench.undo("r1", by="u1") == {}
    assert facts() == before
    assert bench.undo("u1", by="u2") == {}
    assert bench.undo("u2", by="u3") == {}
    assert facts() == before


def test_a_link_that_leads_elsewhere_now_comes_back(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("mine")
    (bench.project / "l").symlink_to("nowhere")
    with bench.run("r1"):
        bench.become("l", "file", 0o600)
    (bench.project / "l").unlink()
    (bench.project / "l").symlink_to(tmp_path / "secret")

    assert bench.undo("r1", by="u1") == {"restore l": "it has changed since"}
    assert (tmp_path / "secret").read_text() == "mine"


def test_folders_that_are_swapped_for_links_while_files_come_back_lead_no_write_elsewhere(
    bench: Workbench, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    folder, aside = bench.project / "d", bench.project / "aside"
    folder.mkdir()
    for number in range(30):
        (folder / f"f{number}").write_text("old")
    with bench.run("r1"):
        for number in range(30):
            bench.delete(f"d/f{number}")
    over = Event()

    def swap() -> None:
        while not over.is_set():
            folder.rename(aside)
            folder.symlink_to(outside)
            folder.unlink()
            aside.rename(folder)

    swapping = Thread(target=swap)
    swapping.start()
    try:
        for number in range(5):
            bench.undo("r1", by=f"u{number}")
    finally:
        over.set()
        swapping.join()

    assert [*outside.iterdir()] == []
    assert bench.undo("r1", by="u9") == {}
    assert {each.read_text() for each in folder.iterdir()} == {"old"}
    assert len([*folder.iterdir()]) == 30


MARKS = st.one_of(
    st.none(),
    st.tuples(st.just("file"), st.integers(), st.integers(-1, 10**6), st.text(max_size=3)).map(list),
    st.tuples(st.just("folder"), st.sampled_from([0o755, None, -1])).map(list),
    st.tuples(st.just("link"), st.sampled_from(["/", "../outside", ""])).map(list),
    st.sampled_from([7, "file", [], ["file"], ["link", 1], {}, ["other", 0]]),
)
FORGED = st.fixed_dictionaries(
    {"kind": st.sampled_from(["path", "move", "git", 1])},
    optional={
        "path": st.sampled_from(["/a", "/d/f", "/out/f", "/../outside/f", "/d/../../outside/new", "/", "a", "", 3]),
        "to": st.sampled_from(["/a", "/out/g", "/../outside/f", "/new", None]),
        "was": MARKS,
        "now": MARKS,
        "before": MARKS,
        "owner": st.sampled_from([[0, 0], ["x"], 1]),
        "attributes": st.sampled_from([{"user.x": "zz"}, {"user.x": "00"}, [1]]),
        "pieces": st.sampled_from([[[0, 0]], [[0, 1]], [[-5, 1]], [1], "x", [[0, 10**9]]]),
    },
)


@pytest.mark.hypothesis
@unhurried
@given(st.lists(FORGED, min_size=1, max_size=4))
def test_notes_that_somebody_has_forged_lead_nowhere_else(forged: list[dict[str, Json]]) -> None:
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        bench, outside = Workbench(Path(folder)), Path(folder) / "outside"
        fill(bench.project)
        outside.mkdir()
        (outside / "f").write_text("mine")
        (bench.project / "out").symlink_to(outside)
        with bench.run("r1"):
            bench.write("a", "new")  # frames: the form, what was there, and this change
        for facts in forged:
            if isinstance(path := facts.get("path"), str) and path.startswith("/"):
                facts["path"] = f"{bench.project}{path}"
            if isinstance(to := facts.get("to"), str):
                facts["to"] = f"{bench.project}{to}"
            with suppress(RunNotUndoableError, ValueError):
                bench.forge("r1", facts)

        try:
            bench.undo("r1", by="u1")
        except RunNotUndoableError as error:
            assert "cannot be read" in error.reason  # noqa: PT017 - or it says so step by step

        assert [(each.name, each.read_text()) for each in outside.iterdir()] == [("f", "mine")]


def test_a_forged_note_gives_no_folder_around_the_project_other_permissions(tmp_path: Path) -> None:
    bench = Workbench(tmp_path)
    place = bench.project.parent
    place.chmod(0o700)
    with bench.run("r1"):
        bench.write("a", "new")
    with suppress(RunNotUndoableError, ValueError):
        bench.forge("r1", {"kind": "path", "path": str(place), "was": ["folder", 0o777], "now": ["folder", 0o700]})

    with suppress(RunNotUndoableError):
        bench.undo("r1", by="u1")

    assert place.stat().st_mode & 0o777 == 0o700
