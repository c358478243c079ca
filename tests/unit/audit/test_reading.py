"""Verifying the audit log: each way in which somebody could change it, and what is found."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from ot.audit.calls import collect_calls
from ot.audit.reading import AuditEntry, find_chains, walk
from tests.unit.audit.logs import begin, build_log, files_of, findings_of, problems_of, reseal, write_calls

Lines = list[bytes]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of ten lines: its head, four calls, its end."""
    log = build_log(tmp_path)
    write_calls(log, 4)
    log.close()
    [found] = files_of(tmp_path)
    return found


def changed_in(number: int, old: bytes, new: bytes) -> Callable[[Lines], Lines]:
    def change(lines: Lines) -> Lines:
        assert old in lines[number - 1]
        return [*lines[: number - 1], lines[number - 1].replace(old, new), *lines[number:]]

    return change


def resealed(lines: Lines) -> Lines:
    """Another tool in the fourth line, with a digest that fits it."""
    entry = json.loads(lines[3])
    del entry["hash"]
    return [*lines[:3], reseal(entry | {"tool": "mail.other"})[0], *lines[4:]]


def sealed_noise(lines: Lines) -> Lines:
    """Something that is no entry, with a digest that fits it, at the end of the file."""
    added = [b'%b,"hash":"%b"}\n' % (body[:-1], sha256(body).hexdigest().encode()) for body in (b"noise}", b"[[1]}")]
    return [*lines, *added]


def spelt_otherwise(lines: Lines) -> Lines:
    return [*lines[:3], lines[3].replace(b'"n":4', b'"n": 4'), *lines[4:]]


CHANGED = "this line was changed"
MOVED = "this line does not follow the one before it: it was moved or added"


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (changed_in(1, b'"pid":', b'"pid":1'), [(1, CHANGED)]),
        (changed_in(4, b"mail.send1", b"mail.sent1"), [(4, CHANGED)]),
        (changed_in(5, b'"outcome":"ok"', b'"outcome":"no"'), [(5, CHANGED)]),
        (changed_in(4, b'"time":1', b'"time":2'), [(4, CHANGED)]),
        (changed_in(4, b'"prev":"', b'"prev":"0'), [(4, CHANGED)]),
        (changed_in(10, b"close", b"clone"), [(10, CHANGED)]),
        (spelt_otherwise, [(4, CHANGED)]),
        (resealed, [(4, "this line was replaced")]),
        (sealed_noise, [(11, CHANGED), (12, CHANGED)]),
        (lambda lines: [*lines[:3], *lines[4:]], [(4, "a line was removed before this one")]),
        (lambda lines: [*lines[:3], *lines[6:]], [(4, "3 lines were removed before this one")]),
        (lambda lines: [*lines[:4], lines[2], *lines[4:]], [(5, MOVED), (6, "a line was removed before this one")]),
        (lambda lines: [*lines[:4], lines[5], lines[4], *lines[6:]], [(5, "a line was removed before this one"), (6, MOVED), (7, "a line was removed before this one")]),
        (lambda lines: [*lines[:4], b"\n", *lines[4:]], [(5, CHANGED)]),
        (lambda lines: [*lines[:4], b"\xff\x00" * 50 + b"\n", *lines[5:]], [(5, CHANGED)]),
        (lambda lines: [*lines[:4], b"x" * 200_000 + b"\n", *lines[4:]], [(5, f"{CHANGED}: it is longer than any that is written")]),
        (lambda _: [], [(0, "is empty: all of its lines were removed")]),
    ],
    ids=[
        "head", "tool", "outcome", "time", "chain", "last line", "spelling", "sealed again", "sealed noise", "line removed",
        "lines removed", "line repeated", "lines swapped", "blank line", "noise", "endless line", "emptied",
    ],
)  # fmt: skip
def test_a_change_is_found_and_its_line_is_named(
    file: Path, change: Callable[[Lines], Lines], found: list[tuple[int, str]]
) -> None:
    file.write_bytes(b"".join(change(file.read_bytes().splitlines(keepends=True))))

    assert problems_of(file.parent) == found


def test_every_byte_counts(file: Path) -> None:
    content = file.read_bytes()
    for place in range(0, len(content) - 1, 7):
        file.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert problems_of(file.parent), content[max(place - 20, 0) : place + 20]


def test_a_head_that_was_removed_is_found(file: Path) -> None:
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[1:]))

    assert problems_of(file.parent) == [
        (1, "a line was removed before this one"),
        (1, "does not begin as it was written: the first lines were removed"),
    ]


def test_a_file_under_the_name_of_another_is_found(tmp_path: Path) -> None:
    for _ in range(2):
        log = build_log(tmp_path)
        write_calls(log, 1)
        log.close()
    first, second = files_of(tmp_path)
    second.write_bytes(first.read_bytes())

    assert problems_of(tmp_path) == [(1, "does not begin as it was written: the first lines were removed")]


def test_a_cut_tail_is_not_seen_and_half_a_line_is_only_noted(file: Path) -> None:
    content = file.read_bytes()
    lines = content.splitlines(keepends=True)

    file.write_bytes(b"".join(lines[:-3]))
    assert findings_of(file.parent) == []

    file.write_bytes(content[:-30])
    [finding] = findings_of(file.parent)
    assert (finding.line, finding.harmless) == (len(lines), True)


def test_a_file_that_is_missing_in_the_middle_is_found(tmp_path: Path) -> None:
    log = build_log(tmp_path, largest_file=50_000)
    while len(files_of(tmp_path)) < 3:
        write_calls(log, 100)
    files_of(tmp_path)[1].unlink()

    [chain] = find_chains(tmp_path)
    reason = f"the file before it, {chain.name}.0002.jsonl, is missing"
    assert problems_of(tmp_path) == [(0, reason)]


@pytest.mark.parametrize("kind", ["pipe", "folder", "link", "half"])
def test_something_else_in_the_place_of_a_file_is_told_and_holds_nobody(file: Path, kind: str) -> None:
    content = file.read_bytes()
    file.unlink()
    match kind:
        case "pipe":
            os.mkfifo(file)
        case "folder":
            file.mkdir()
        case "link":
            (file.parent / "elsewhere").write_bytes(content)
            file.symlink_to(file.parent / "elsewhere")
        case "half":
            file.write_bytes(content[:1000])

    begin(build_log(file.parent))  # looks through the folder too

    assert findings_of(file.parent)


def test_other_files_are_left_alone(file: Path) -> None:
    for name in (
        "notes.jsonl",
        f"{file.name}.bak",
        file.name.replace(".0001.", ".1."),
        "20261116T000000-1-xyz.0001.jsonl",
    ):
        (file.parent / name).write_text("{}\n")

    assert [list(chain.files.values()) for chain in find_chains(file.parent)] == [[file]]


def test_a_folder_that_is_not_there_has_no_chains(tmp_path: Path) -> None:
    assert find_chains(tmp_path / "audit") == []


def test_lines_that_fit_but_say_nonsense_stop_nobody(tmp_path: Path) -> None:
    log = build_log(tmp_path)
    begin(log)
    [file] = files_of(tmp_path)
    previous = json.loads(file.read_bytes().splitlines()[-1])["hash"]
    for entry in (
        {"event": "begin", "n": "x", "tool": 5, "arguments": [1]},
        {"event": "end", "call": None},
        {"n": True},
    ):
        line, previous = reseal({**entry, "prev": previous})
        with file.open("ab") as stream:
            stream.write(line)

    [chain] = find_chains(tmp_path)
    calls = collect_calls([item for item in walk(chain) if isinstance(item, AuditEntry)], in_use=True)
    assert [call.tool for call in calls] == ["mail.send", ""]


def test_a_line_is_verified_with_common_tools(file: Path) -> None:
    line = file.read_text().splitlines()[2]

    body, _, seal_ = line.rpartition(',"hash":"')

    assert sha256(f"{body}}}".encode()).hexdigest() == seal_.removesuffix('"}')
