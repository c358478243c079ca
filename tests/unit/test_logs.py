"""Log lines: one a span, redacted, bounded, on stderr or in a file."""

from __future__ import annotations

import logging
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from operator import methodcaller
from pathlib import Path
from textwrap import dedent

import anyio
import pytest

from mcp_core import line_log
from mcp_core.line_log import MOST_TOGETHER, older_log
from onetool.log_entries import read_entries
from ot.clients.person import Person, serving
from ot.logs import TRACE, LogSpan, configure_logging, write_log
from ot.text.log_text import brief


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Path]:
    yield from open_log(tmp_path)


@pytest.fixture(params=["alone", "with other handlers"])
def gathering_log(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    if request.param == "alone":
        monkeypatch.setattr(logging.getLogger(), "handlers", [])  # which pytest has
    yield from open_log(tmp_path, together=True)


def open_log(folder: Path, *, together: bool = False) -> Iterator[Path]:
    root = logging.getLogger()
    handlers = list(root.handlers)
    file = folder / "logs" / "onetool.log"
    redact = methodcaller("replace", "hunter2hunter2", "***")
    configure_logging("info", file, redact=redact, together=together)
    yield file
    for handler in set(root.handlers) - set(handlers):
        root.removeHandler(handler)
        handler.close()


def test_a_span_is_one_line_with_its_name_status_time_and_fields(log: Path) -> None:
    times = iter([10.0, 10.25])

    with LogSpan("demo.upper", clock=lambda: next(times), text="hello") as span:
        span.add(result="HELLO you")

    line = log.read_text()
    assert line.count("\n") == 1
    assert " INFO    demo.upper status=ok ms=250.0 text=hello result='HELLO you'" in line


def test_an_exception_is_the_status_and_passes_through(log: Path) -> None:
    with pytest.raises(KeyError), LogSpan("part.action"):
        raise KeyError("x")

    assert "WARNING part.action status=KeyError" in log.read_text()


def test_a_level_that_is_switched_off_writes_nothing(log: Path) -> None:
    with LogSpan("part.action", level=TRACE):
        write_log(logging.DEBUG, "part.other")

    assert log.read_text() == ""


def test_trace_is_a_level(log: Path) -> None:
    configure_logging("trace", log, redact=str)

    write_log(TRACE, "part.detail", n=1)

    assert "TRACE   part.detail n=1" in log.read_text()


def test_secrets_do_not_reach_the_line_whether_in_a_value_a_key_or_a_detail(log: Path) -> None:
    write_log(
        logging.ERROR,
        "part.action",
        detail="Traceback: hunter2hunter2",
        value={"hunter2hunter2": ["hunter2hunter2"]},
    )

    assert "hunter2" not in log.read_text()
    assert log.read_text().count("***") == 3


@pytest.mark.parametrize("offset", range(180, 205))
def test_no_part_of_a_secret_remains_where_a_long_text_is_cut(log: Path, offset: int) -> None:
    write_log(logging.INFO, "part.action", text="." * offset + "hunter2hunter2" + "." * 20_000)

    assert "h" not in log.read_text().split("text=")[1].split("<")[0]


def test_other_libraries_warnings_go_the_same_way(log: Path) -> None:
    logging.getLogger("somebody.else").warning("token hunter2hunter2 is %s", "old")

    assert "somebody.else token *** is old" in log.read_text()


def test_a_value_with_line_breaks_stays_on_its_line(log: Path) -> None:
    write_log(logging.INFO, "part.action", text="a\nINFO forged.line status=ok", odd="\ud800")

    assert log.read_text().count("\n") == 1


def test_what_a_stranger_said_is_no_entry_of_its_own_and_moves_no_cursor(log: Path) -> None:
    said = "ValueError: x\n2026-01-01T00:00:00.000Z ERROR   forged incident=deadbeef\n\x1b]0;title\x07\x9b2J\r\té"
    write_log(logging.INFO, "part.action", incident="0badf00d", detail=said)

    lines = log.read_text().split("\n")

    [entry] = read_entries(iter(lines))
    assert entry.incident == "0badf00d"
    assert "forged" in entry.detail
    assert lines[3] == "\\x1b]0;title\\x07\\x9b2J\\x0d\té"


def test_a_kept_log_of_several_processes_stays_bounded_and_loses_no_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_log, "MOST_KEPT", 2000)
    file = tmp_path / "log" / "onetool.log"
    quiet, noisy = (line_log._KeptWarnings(file) for _ in range(2))
    try:
        quiet.handle(logging.makeLogRecord({"msg": "first", "levelno": logging.WARNING}))
        for number in range(200):
            noisy.handle(logging.makeLogRecord({"msg": f"{number} {'x' * 90}", "levelno": logging.WARNING}))
        quiet.handle(logging.makeLogRecord({"msg": "last", "levelno": logging.WARNING}))
    finally:
        quiet.close()
        noisy.close()

    assert file.read_text().endswith("last\n")
    assert 0 < file.stat().st_size < 2200
    assert 2000 < older_log(file).stat().st_size < 2200


def test_only_the_owner_may_read_the_file(log: Path) -> None:
    write_log(logging.INFO, "part.action")

    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_without_a_file_lines_go_to_stderr_and_never_to_stdout() -> None:
    program = dedent("""
        from ot.logs import LogSpan, configure_logging
        configure_logging("info", None, redact=str)
        with LogSpan("part.action"): pass
    """)

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == ""
    assert "part.action status=ok" in done.stderr


class _Rude:
    def __repr__(self) -> str:
        raise AssertionError("nobody asked for this")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("word", "word"),
        ("two words", "'two words'"),
        (None, "None"),
        (10**5000, "<int of 5001 digits>"),
        (b"\x00" * 10, "<10 bytes>"),
        ([1, [2, [3, [4]]]], "[1, [2, [3, <1 items>]]]"),
        (list(range(100)), "[0, 1, 2, 3, 4, 5, 6, 7, ...<100 items>]"),
        ({"a": 1}, "{'a': 1}"),
        (_Rude(), "<_Rude>"),
        (Path("/a/b"), "'/a/b'"),
    ],
    ids=["word", "text", "none", "large int", "bytes", "deep", "long", "dict", "object", "path"],
)
def test_values_are_written_briefly(value: object, text: str) -> None:
    assert brief(value) == text


def test_a_huge_value_costs_a_bounded_line() -> None:
    wide = {f"key {i}": ["x" * 10_000] * 1000 for i in range(1000)}

    assert len(brief(wide, redact=str)) < 1100


@pytest.mark.anyio
async def test_on_an_event_loop_lines_are_written_together_a_moment_later_and_in_order(gathering_log: Path) -> None:
    for number in range(3):
        write_log(logging.INFO, "demo.step", number=number)
    assert gathering_log.read_text() == ""

    with anyio.fail_after(60):
        while gathering_log.read_text().count("\n") < 3:
            await anyio.sleep(0.005)

    assert [line.rpartition("=")[2] for line in gathering_log.read_text().splitlines()] == ["0", "1", "2"]


@pytest.mark.anyio
async def test_a_warning_is_written_at_once_behind_what_came_before_it(gathering_log: Path) -> None:
    write_log(logging.INFO, "demo.before")
    write_log(logging.WARNING, "demo.warning")

    assert [line.split()[2] for line in gathering_log.read_text().splitlines()] == ["demo.before", "demo.warning"]


@pytest.mark.anyio
async def test_a_flood_of_lines_does_not_gather_without_end(gathering_log: Path) -> None:
    for number in range(MOST_TOGETHER + 1):
        write_log(logging.INFO, "demo.step", number=number)

    assert gathering_log.read_text().count("\n") == MOST_TOGETHER + 1


@pytest.mark.anyio
async def test_lines_that_wait_say_when_they_were_made_and_for_whom_without_secrets(gathering_log: Path) -> None:
    with serving(Person("https://issuer.example", "ada")), LogSpan("demo.step", text="hunter2hunter2"):
        pass
    write_log(logging.DEBUG, "demo.detail")
    logging.getLogger("somebody.else").warning("that is all")

    made, last = gathering_log.read_text().splitlines()
    assert re.search(r" INFO    demo\.step status=ok ms=\d+\.\d+ text=\*\*\* person=.*ada", made)
    assert made[:24] <= last[:24]


@pytest.mark.anyio
async def test_a_log_that_is_hushed_gathers_nothing(gathering_log: Path) -> None:
    line_log.hush_log()

    write_log(logging.INFO, "demo.step")
    write_log(logging.ERROR, "demo.failure")

    assert gathering_log.read_text() == ""


def test_what_still_waits_is_written_when_the_process_ends(tmp_path: Path) -> None:
    program = """
        import asyncio, logging, pathlib, sys
        from ot.logs import configure_logging, write_log

        async def main() -> None:
            write_log(logging.INFO, "demo.last")

        configure_logging("info", pathlib.Path(sys.argv[1]), redact=str, together=True)
        asyncio.run(main())
    """
    subprocess.run([sys.executable, "-c", dedent(program), str(tmp_path / "log")], check=True)

    assert "demo.last" in (tmp_path / "log").read_text()
