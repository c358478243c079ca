"""The writer of the audit log: what stands in it, where it lies, how long it stays, and what happens where it cannot."""

from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import date
from fractions import Fraction
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from mcp_core.distribution import DISTRIBUTION
from ot.audit.calls import collect_calls
from ot.audit.chain import DAY, FILE_NAME
from ot.audit.log import LOOK_INTERVAL, MOST_NAMES, AuditLog, summarize
from ot.audit.reading import AuditEntry, find_chains, walk
from ot.clients.caller import Caller, ClientMemory
from ot.config.models import AuditSettings
from ot.store.owned_files import prune
from ot.store.parts import AuditRows
from ot.text.redaction import Redactor
from tests.unit.audit.logs import (
    NOTHING,
    begin,
    build_log,
    entries_of,
    files_of,
    findings_of,
    problems_of,
    write_calls,
)

SECRET = "s3cr3t-value"


# -- lines


def test_ends_are_written_together_in_a_moment_and_before_any_other_line(tmp_path: Path) -> None:
    put_off: list[Callable[[], None]] = []
    log = build_log(tmp_path, later=put_off.append)

    for number in [begin(log, tool) for tool in ("mail.send", "mail.wipe")]:
        log.end(number, "ok", 0.001)
    assert [entry["event"] for entry in entries_of(tmp_path)] == ["start", "begin", "begin"]
    [write] = put_off
    write()
    assert [entry.get("call") for entry in entries_of(tmp_path)] == [None, None, None, 2, 3]
    log.end(begin(log), "ok", 0.001)
    log.end(begin(log), "ok", 0.001)
    log.close()
    put_off[1]()

    assert [entry["event"] for entry in entries_of(tmp_path)][5:] == ["begin", "end", "begin", "end", "close"]
    assert problems_of(tmp_path) == []


def test_ends_that_cannot_be_written_are_counted(tmp_path: Path) -> None:
    put_off: list[Callable[[], None]] = []
    log = build_log(tmp_path, later=put_off.append)
    for number in [begin(log, tool) for tool in ("mail.send", "mail.wipe")]:
        log.end(number, "ok", 0.001)
    [file] = files_of(tmp_path)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (file.stat().st_size + 200, before[1]))
    try:
        put_off[0]()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    begin(log)
    log.close()

    assert log.lost == 2
    assert [entry.get("lost") for entry in entries_of(tmp_path)] == [None, None, None, 2, None]
    assert problems_of(tmp_path) == []


def test_nothing_is_made_before_the_first_line(tmp_path: Path) -> None:
    log = build_log(tmp_path / "audit")
    log.close()

    assert list(tmp_path.iterdir()) == []


def test_the_first_line_names_the_process_and_a_call_is_two_more(tmp_path: Path) -> None:
    log = build_log(tmp_path)
    caller = Caller(client="editor", run=7, memory=ClientMemory(3))

    log.end(begin(log, caller=caller, allowed_by="consent: once (policy.ask names mail.*)"), "ok", 0.25)
    log.close()

    head, begun, ended, closed = entries_of(tmp_path)
    assert (head["event"], head["pid"], head["version"]) == ("start", os.getpid(), version(DISTRIBUTION))
    assert (head["n"], head["prev"], head["project"]) == (1, "", str(tmp_path))
    facts = {key: begun[key] for key in ("event", "tool", "client", "connection", "run", "effect", "allowed_by")}
    assert facts == {
        "event": "begin",
        "tool": "mail.send",
        "client": "editor",
        "connection": 3,
        "run": 7,
        "effect": "unknown",
        "allowed_by": "consent: once (policy.ask names mail.*)",
    }
    assert (ended["event"], ended["call"], ended["outcome"], ended["ms"]) == ("end", begun["n"], "ok", 250)
    assert closed["event"] == "close"
    assert problems_of(tmp_path) == []


def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    begin(build_log(tmp_path / "state" / "audit"))

    [file] = files_of(tmp_path / "state" / "audit")
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700


def test_each_line_has_the_digest_of_the_one_before(tmp_path: Path) -> None:
    log = build_log(tmp_path)
    write_calls(log, 3)

    lines = entries_of(tmp_path)
    assert [line["prev"] for line in lines] == ["", *(line["hash"] for line in lines[:-1])]
    assert [line["n"] for line in lines] == list(range(1, len(lines) + 1))


def test_a_secret_that_becomes_known_is_masked_from_then_on(tmp_path: Path) -> None:
    redactor = Redactor()
    log = AuditLog(tmp_path, AuditSettings(), project=tmp_path, redactor=redactor, rows=AuditRows(tmp_path))
    caller = Caller(client=SECRET)

    begin(log, caller=caller)
    redactor.learn(SECRET)
    begin(log, caller=caller)

    assert [entry["client"] for entry in entries_of(tmp_path)[1:]] == [SECRET, "***"]


def test_lines_of_one_of_many_people_name_them(tmp_path: Path) -> None:
    log = AuditLog(
        tmp_path,
        AuditSettings(),
        project=tmp_path,
        redactor=Redactor(),
        rows=AuditRows(tmp_path),
        person='["https://a.example","ann"]',
    )

    begin(log, caller=Caller(client="desk"))

    assert entries_of(tmp_path)[1]["person"] == '["https://a.example","ann"]'


def test_two_logs_of_one_moment_do_not_share_a_file(tmp_path: Path) -> None:
    first, second = build_log(tmp_path), build_log(tmp_path)
    for _ in range(3):
        begin(first)
        begin(second)

    assert len(files_of(tmp_path)) == 2
    assert problems_of(tmp_path) == []


def test_names_and_texts_are_bounded_and_hold_no_known_secret(tmp_path: Path) -> None:
    log = build_log(tmp_path, secrets=(SECRET,))

    given = summarize({SECRET: "a", "b" * 5000: SECRET}, log.redactor)
    caller = Caller(client=f"{SECRET}\x1b[2K" + "c" * 5000)
    log.refused(f"web.resource:https://x/?key={SECRET}", caller, depth=0, refused_by=SECRET, given=given)

    [file] = files_of(tmp_path)
    text = file.read_text()
    assert SECRET not in text
    assert "***" in text
    assert "\x1b" not in text
    assert len(text) < 3000


# -- arguments


def described(arguments: dict[str, Any], *secrets: str) -> tuple[dict[str, int], str]:
    """The sizes of arguments, and their digest."""
    fields = json.loads(f"{{{summarize(arguments, Redactor(secrets))}}}")
    return fields["arguments"], fields["digest"]


def test_arguments_are_sizes_and_one_digest_that_a_person_can_compute() -> None:
    sizes, digest = described({"to": "a@example.org", "count": 3})

    assert sizes == {"count": 1, "to": 15}
    assert digest == sha256(b'{"count":3,"to":"a@example.org"}').hexdigest()


@pytest.mark.parametrize("wrap", [str, lambda text: [{"a": text}], str.encode], ids=["text", "deeper", "bytes"])
def test_neither_size_nor_digest_depends_on_a_known_secret(wrap: Callable[[str], object]) -> None:
    secrets = (SECRET, f"{SECRET}, and longer")

    first, second = (described({"key": wrap(secret)}, *secrets) for secret in secrets)

    assert first == second


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b"\xff\x00", b"\xff\x01"),
        (date(2026, 1, 1), date(2026, 1, 2)),
        (10**6000, 10**6000 + 1),
        ({1: "a", "b": 2}, {1: "a", "b": 3}),
        (Fraction(1, 3), Fraction(2, 3)),
        ("\ud800", "\ud801"),
        (float("nan"), float("inf")),
    ],
    ids=["bytes", "dates", "large numbers", "mixed keys", "fractions", "surrogates", "no numbers"],
)
def test_whatever_can_be_an_argument_has_a_digest_of_its_own(one: object, other: object) -> None:
    first, again, second = (described({"x": value}) for value in (one, one, other))

    assert first == again
    assert first[1] != second[1]


def test_what_has_no_form_has_the_name_of_its_kind() -> None:
    circle: list[object] = []
    circle.append(circle)

    assert described({"x": circle, "y": object()})[0] == {"x": len('"list"'), "y": len('"object"')}


def test_very_many_arguments_are_not_all_named() -> None:
    sizes, _ = described({f"name{n:04}": n % 10 for n in range(2000)})

    assert len(sizes) == MOST_NAMES + 1
    assert sum(sizes.values()) == 2000


# -- how long it stays


def test_a_full_file_is_followed_by_another_one_of_the_same_chain(tmp_path: Path) -> None:
    log = build_log(tmp_path, largest_file=50_000)
    while len(files_of(tmp_path)) < 3:
        write_calls(log, 100)
    log.close()

    [chain] = find_chains(tmp_path)
    assert list(chain.files) == [1, 2, 3]
    assert findings_of(tmp_path) == []
    calls = collect_calls([item for item in walk(chain) if isinstance(item, AuditEntry)], in_use=False)
    assert {call.outcome for call in calls} == {"ok"}


def test_all_files_together_stay_below_their_bound_and_the_newest_lines_are_there(tmp_path: Path) -> None:
    log = build_log(tmp_path, max_size=200_000, largest_file=50_000)
    for _ in range(4):
        write_calls(log, 150)
    begin(log, "mail.last")

    assert 100_000 < sum(file.stat().st_size for file in files_of(tmp_path)) <= 201_000
    assert entries_of(tmp_path)[-1]["tool"] == "mail.last"
    assert problems_of(tmp_path) == []
    assert [finding.harmless for finding in findings_of(tmp_path)] == [True]  # the beginning is gone


def test_what_is_too_old_goes_unless_a_process_still_writes_to_it(tmp_path: Path) -> None:
    running, ended = build_log(tmp_path), build_log(tmp_path)
    begin(running)
    begin(ended)
    ended.close()
    for file in files_of(tmp_path):
        os.utime(file, (time.time() - 31 * DAY,) * 2)
    (tmp_path / "notes.txt").write_text("not of the log")
    os.utime(tmp_path / "notes.txt", (0, 0))

    new = build_log(tmp_path, keep_days=30)
    begin(new)
    begin(running)

    assert len(files_of(tmp_path)) == 2
    assert (tmp_path / "notes.txt").exists()
    assert len(entries_of(tmp_path)) == 5


def test_there_are_never_more_files_than_can_be_looked_through(tmp_path: Path) -> None:
    for _ in range(5):
        log = build_log(tmp_path)
        begin(log)
        log.close()
    newest = max(files_of(tmp_path), key=lambda file: file.stat().st_mtime_ns)

    prune(tmp_path, FILE_NAME.fullmatch, DAY, 10**9, 1)

    assert files_of(tmp_path) == [newest]


# -- where it cannot be written


def test_a_line_that_cannot_be_written_is_counted_and_the_next_one_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "audit"
    folder.write_text("in the way")
    log = build_log(folder)

    assert [begin(log), begin(log)] == [0, 0]
    assert (log.lost, log.problem) == (2, os.strerror(errno.EEXIST))
    assert [record.message for record in caplog.records] == [
        f"audit.write folder={str(folder)!r} error={os.strerror(errno.EEXIST)!r}"
    ]

    folder.unlink()
    assert begin(log) == 2
    assert (log.lost, log.problem) == (2, "")
    assert entries_of(folder)[0]["lost"] == 2


FULL_DISK = """
    import resource, signal, sys
    from pathlib import Path
    from tests.unit.audit.logs import begin, build_log

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    log = build_log(Path(sys.argv[1]))
    begin(log)
    begin(log)
    size = next(Path(sys.argv[1]).glob("*.jsonl")).stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20, resource.RLIM_INFINITY))
    assert [begin(log), begin(log)] == [0, 0]
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert begin(log) == 4
    assert log.lost == 2
"""


@pytest.mark.skipif(resource.getrlimit(resource.RLIMIT_FSIZE)[1] != resource.RLIM_INFINITY, reason="files are limited")
def test_half_a_line_is_taken_back_where_the_disk_is_full(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", dedent(FULL_DISK), str(tmp_path)], check=True, timeout=120)

    assert [entry.get("lost") for entry in entries_of(tmp_path)] == [None, None, None, 2]
    assert findings_of(tmp_path) == []


@pytest.mark.parametrize("how", ["removed", "moved", "replaced"])
def test_a_file_that_is_removed_during_a_call_is_noticed_at_its_end(tmp_path: Path, how: str) -> None:
    log = build_log(tmp_path)
    number = begin(log)
    [file] = files_of(tmp_path)
    match how:
        case "removed":
            file.unlink()
        case "moved":
            file.rename(tmp_path / "elsewhere")
        case "replaced":
            (tmp_path / "copy").write_bytes(file.read_bytes())
            (tmp_path / "copy").rename(file)

    log.end(number, "ok", 0.1)

    assert [entry["event"] for entry in entries_of(tmp_path)][-2:] == ["continued", "end"]
    [chain] = find_chains(tmp_path)
    reason = f"{chain.name}.0001.jsonl was removed while its process wrote to it"
    assert problems_of(tmp_path) == [(1, reason)]


def test_a_file_that_is_removed_between_calls_is_noticed_when_one_begins_a_second_later(tmp_path: Path) -> None:
    now = 0.0
    log = build_log(tmp_path, clock=lambda: now)
    write_calls(log, 1)
    files_of(tmp_path)[0].unlink()

    now += LOOK_INTERVAL
    begin(log, "mail.after")

    assert [entry.get("tool") for entry in entries_of(tmp_path)] == [None, "mail.after"]


def test_the_command_line_is_local_and_no_client_can_pass_for_it(tmp_path: Path) -> None:
    log = build_log(tmp_path)
    for caller in (Caller(), Caller(client="local")):
        log.refused("mail.send", caller, depth=0, refused_by="policy.deny names mail.*", given=NOTHING)

    [line, called_so] = entries_of(tmp_path)[1:]
    assert (line["client"], "connection" in line) == ("local", False)
    assert (called_so["client"], called_so["connection"]) == ("local", 0)
