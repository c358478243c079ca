"""An entry holds as long as nothing has changed that it depended on, and counts only as this user's own."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from onetool.porch import dependencies as bounds
from onetool.porch.dependencies import Dependencies, TooMuchError
from onetool.porch.entry import Entry, KernelFacts, read_entry
from onetool.porch.remembering import write_entry

SALT = b"salt"
KERNELS = KernelFacts("standard", 2**30, 4, (Path("/usr"),), ())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tree" / "inner").mkdir(parents=True)
    (tmp_path / "tree" / "inner" / "tool.py").write_text("x = 1")
    (tmp_path / "config.yaml").write_text("log: {}")
    (tmp_path / "linked.yaml").symlink_to(tmp_path / "config.yaml")
    return tmp_path


def depending_on(folder: Path) -> Dependencies:
    return Dependencies(
        files=tuple(str(folder / name) for name in ("config.yaml", "absent.yaml", "linked.yaml")),
        trees=(str(folder / "tree"), str(folder / "no-tree")),
        places=(str(folder / "place"),),
        sources=(str(folder / "sources"),),
        variables=("NAMED",),
    )


CHANGES: dict[str, Callable[[Path, dict[str, str]], object]] = {
    "a file holds something else": lambda folder, _: (folder / "config.yaml").write_text("log: {level: info}"),
    "a file is gone": lambda folder, _: (folder / "config.yaml").unlink(),
    "an absent file is there": lambda folder, _: (folder / "absent.yaml").touch(),
    "others may read a file": lambda folder, _: (folder / "config.yaml").chmod(0o646),
    "a file of a tree holds something else": lambda folder, _: (folder / "tree/inner/tool.py").write_text("x = 2"),
    "a tree has another file": lambda folder, _: (folder / "tree/inner/other.py").touch(),
    "a tree has another folder": lambda folder, _: (folder / "tree/other").mkdir(),
    "an absent tree is there": lambda folder, _: (folder / "no-tree").mkdir(),
    "an absent place is there": lambda folder, _: (folder / "place").mkdir(),
    "an absent source is there": lambda folder, _: (folder / "sources").mkdir(),
    "a named variable has another value": lambda _, environ: environ.update(NAMED="other"),
    "a named variable is gone": lambda _, environ: environ.pop("NAMED"),
    "a variable of ours is new": lambda _, environ: environ.update(ONETOOL_LOG_LEVEL="info"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_what_answers_depended_on_is_another_digest(folder: Path, name: str) -> None:
    environ = {"NAMED": "value", "OTHER": "value"}
    before = depending_on(folder).digest(environ, SALT)
    assert depending_on(folder).digest({**environ, "OTHER": "changed"}, SALT) == before

    CHANGES[name](folder, environ)

    assert depending_on(folder).digest(environ, SALT) != before


def test_a_link_that_leads_elsewhere_is_another_digest(folder: Path) -> None:
    before = depending_on(folder).digest({}, SALT)
    (folder / "copy.yaml").write_text("log: {}")
    (folder / "linked.yaml").unlink()
    (folder / "linked.yaml").symlink_to(folder / "copy.yaml")

    assert depending_on(folder).digest({}, SALT) != before


def test_more_than_is_quickly_compared_is_not_compared(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MOST_BYTES", 10)

    with pytest.raises(TooMuchError):
        depending_on(folder).digest({}, SALT)


@pytest.fixture
def entry(folder: Path) -> Entry:
    found = depending_on(folder)
    return Entry(None, KERNELS, found, SALT.hex(), found.digest({}, SALT), {"key": '{"a":1}'}, {})


def test_an_entry_is_read_as_it_was_written(folder: Path, entry: Entry) -> None:
    place = folder / "porch" / "entry.json"
    write_entry(place, entry)

    assert read_entry(place) == entry
    assert entry.holds({})
    assert (place.stat().st_mode & 0o777, place.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_server_that_was_told_to_go_elsewhere_is_another_one(
    folder: Path, entry: Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    here = entry._replace(folder=("linked", os.path.realpath(folder / "tree")))
    (folder / "linked").symlink_to(folder / "tree")
    assert here.holds({})

    (folder / "linked").unlink()
    (folder / "linked").symlink_to(folder)

    assert not here.holds({})


SPOILED: dict[str, Callable[[Path], object]] = {
    "others may write it": lambda place: place.chmod(0o620),
    "others may write to its folder": lambda place: place.parent.chmod(0o777),
    "it is a link": lambda place: place.symlink_to(place.rename(place.with_name("moved"))),
    "it is a pipe": lambda place: os.mkfifo(str(place.rename(place.with_name("moved")).with_name(place.name)), 0o600),
    "it is half of one": lambda place: place.write_text(place.read_text()[:-20]),
    "it is something else": lambda place: place.write_text('["form"]'),
    "it is of another form": lambda place: place.write_text(place.read_text().replace('"form": 2', '"form": 0')),
    "an answer is no text": lambda place: place.write_text(
        place.read_text().replace('"key": "', '"other": 1, "key": "')
    ),
}


@pytest.mark.parametrize("name", SPOILED)
def test_an_entry_that_is_not_as_it_was_written_is_none(folder: Path, entry: Entry, name: str) -> None:
    place = folder / "porch" / "entry.json"
    write_entry(place, entry)

    SPOILED[name](place)

    assert read_entry(place) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_an_entry_of_another_user_is_none(folder: Path, entry: Entry) -> None:
    place = folder / "porch" / "entry.json"
    write_entry(place, entry)

    os.chown(place, 65534, 65534)

    assert read_entry(place) is None
