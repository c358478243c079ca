"""Reading by line: windows, encodings, binary files, and files that no memory holds."""

from __future__ import annotations

import os
import tracemalloc

import pytest

from ot.errors import CallError, MissingPathError, PathError, ToolError
from ot_packs.file.reading import MOST_BYTES
from tests.packs.file.caller import Caller

GIGABYTE = 1024**3


async def test_lines_come_with_how_many_there_are(call: Caller) -> None:
    call.write("a.txt", "one\ntwo\r\nthree")

    assert await call("read", path="a.txt") == {
        "path": "a.txt",
        "lines": ["one", "two", "three"],
        "offset": 1,
        "total": 3,
        "more": False,
        "encoding": "utf-8",
    }


@pytest.mark.parametrize(
    ("offset", "limit", "lines", "more"),
    [
        (1, 2, ["1", "2"], "more"),
        (4, 2, ["4", "5"], ""),
        (5, 9, ["5"], ""),
        (6, 1, [], ""),
        (99, 1, [], ""),
        (3, 0, [], "more"),
    ],
)
@pytest.mark.parametrize("end", ["", "\n"])
async def test_a_window_of_a_file(
    call: Caller,
    offset: int,
    limit: int,
    lines: list[str],
    more: str,
    end: str,
) -> None:
    call.write("a.txt", "1\n2\n3\n4\n5" + end)

    found = await call("read", path="a.txt", offset=offset, limit=limit)

    assert (found["lines"], found["total"], found["more"]) == (lines, 5, bool(more))


@pytest.mark.parametrize(("content", "total"), [("", 0), ("\n", 1), ("\n\n", 2), ("a", 1)])
async def test_lines_are_counted_as_editors_count_them(call: Caller, content: str, total: int) -> None:
    call.write("a.txt", content)

    found = await call("read", path="a.txt")

    assert (len(found["lines"]), found["total"]) == (total, total)


async def test_windows_of_a_file_of_many_pieces_make_up_the_file(call: Caller) -> None:
    lines = [f"{number} {'ä' * (number % 90)}" for number in range(60_000)]
    call.write("a.txt", "\n".join(lines))

    found: list[str] = []
    for _ in range(4):
        window = await call("read", path="a.txt", offset=len(found) + 1, limit=17_001)
        found += window["lines"]

    assert found == lines
    assert (window["total"], window["more"]) == (len(lines), False)


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        ("äöü\nß".encode(), "utf-8"),
        (b"\xef\xbb\xbf" + "äöü\nß".encode(), "utf-8"),
        ("\ufeffäöü\nß".encode("utf-16-le"), "utf-16-le"),
        ("\ufeffäöü\nß".encode("utf-16-be"), "utf-16-be"),
        ("\ufeffäöü\nß".encode("utf-32-le"), "utf-32-le"),
        ("äöü\nß".encode("cp1252"), "cp1252"),
    ],
)
async def test_encodings_are_recognised(call: Caller, data: bytes, encoding: str) -> None:
    call.write("a.txt", data)

    found = await call("read", path="a.txt")

    assert (found["lines"], found["encoding"]) == (["äöü", "ß"], encoding)


async def test_an_encoding_can_be_named(call: Caller) -> None:
    call.write("a.txt", "日本\n語".encode("shift_jis"))

    assert (await call("read", path="a.txt", encoding="Shift-JIS"))["lines"] == ["日本", "語"]


@pytest.mark.parametrize("encoding", ["zlib", "punycode", "idna", "nothing", "rot13", "x" * 10_000])
async def test_what_is_no_encoding_of_files_is_refused(call: Caller, encoding: str) -> None:
    call.write("a.txt", "a")

    with pytest.raises(ToolError, match="there is no encoding"):
        await call("read", path="a.txt", encoding=encoding)


async def test_bytes_that_no_encoding_explains_do_not_stop_a_reader(call: Caller) -> None:
    call.write("a.txt", b"a" * 70_000 + b"\n\xff\xfe\n")

    assert (await call("read", path="a.txt", offset=2))["lines"] == ["\ufffd\ufffd"]


async def test_a_binary_file_is_recognised(call: Caller) -> None:
    call.write("a.png", b"\x89PNG\r\n\x1a\n\0\0\0")

    with pytest.raises(ToolError, match=r"binary file \(image/png, 11 bytes\)"):
        await call("read", path="a.png")


async def test_a_sparse_file_of_10_gigabytes_is_read_by_line(call: Caller) -> None:
    file = call.write("a.txt", "x" * 70_000 + "\nfirst\nsecond ")
    with file.open("r+b") as stream:
        stream.seek(10 * GIGABYTE)
        stream.write(b"\nlast\n")
    tracemalloc.start()

    try:
        window = await call("read", path="a.txt", offset=2, limit=1)
        last = await call("read", path="a.txt", offset=4)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert (window["lines"], window["total"], window["more"]) == (["first"], 4, True)
    assert (last["lines"], last["more"]) == (["last"], False)
    assert peak < 50_000_000


async def test_of_a_line_of_10_gigabytes_the_beginning_is_read(call: Caller) -> None:
    file = call.write("a.txt", "x" * 70_000)
    os.truncate(file, 10 * GIGABYTE)

    window = await call("read", path="a.txt")

    assert (len(window["lines"]), window["total"], window["more"], window["cut"]) == (1, 1, True, True)
    assert len(window["lines"][0]) == MOST_BYTES


async def test_an_answer_has_whole_lines_up_to_its_limit(call: Caller) -> None:
    line = "ä" * 700_000
    call.write("a.txt", f"{line}\n" * 5)

    window = await call("read", path="a.txt")

    assert (window["lines"], window["total"], window["more"]) == ([line] * 2, 5, True)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"path": "a.txt", "offset": 0}, ToolError, "offset must be 1"),
        ({"path": "a.txt", "limit": -1}, ToolError, "limit and offset must not be negative"),
        ({"path": "nothing.txt"}, MissingPathError, "No such file"),
        ({"path": "."}, PathError, "it is a folder"),
    ],
)
async def test_what_cannot_be_read_is_told(
    call: Caller, arguments: dict[str, object], kind: type[CallError], message: str
) -> None:
    call.write("a.txt", "a")

    with pytest.raises(kind, match=message):
        await call("read", **arguments)


async def test_what_a_file_is(call: Caller) -> None:
    call.write("a.csv", b"\xef\xbb\xbfa\r\nb\r\n").chmod(0o640)
    (call.project / "link").symlink_to("a.csv")
    call.write("a.png", b"\0")

    text, link, picture = [await call("info", path=path) for path in ("a.csv", "link", "a.png")]

    assert {key: value for key, value in text.items() if key != "modified"} == {
        "path": "a.csv",
        "kind": "file",
        "size": 9,
        "mode": "-rw-r-----",
        "binary": False,
        "media_type": "text/csv",
        "encoding": "utf-8",
        "newline": "CRLF",
    }
    assert (link["kind"], link["target"]) == ("link", "a.csv")
    assert (picture["binary"], picture["media_type"]) == (True, "image/png")


@pytest.mark.parametrize(
    ("offset", "limit", "first", "lines", "more"),
    [(-1, 9, 5, ["e"], False), (-3, 2, 3, ["c", "d"], True), (-99, 1, 1, ["a"], True)],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
async def test_lines_are_counted_from_the_end(
    call: Caller, offset: int, limit: int, first: int, lines: list[str], more: object, encoding: str
) -> None:
    (call.project / "log.txt").write_bytes("a\nb\nc\nd\ne\n".encode(encoding))

    found = await call("read", path="log.txt", offset=offset, limit=limit)

    assert (found["offset"], found["lines"], found["total"], found["more"]) == (first, lines, 5, more)
