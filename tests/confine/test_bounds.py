"""What a guardian's child may touch: as root and as an ordinary user, where namespaces are allowed and where they are not."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ot_confinement.own_files import executables_of
from tests.confine import attempts as trials
from tests.confine.attempts import PYTHON, Ended, try_files, try_hosts, try_network, try_others

ALLOWED, REFUSED = "allowed", "bare"
WAYS = [pytest.param(f"{user} {way}", id=f"{user}-{way}") for user in ("self", "user") for way in (ALLOWED, REFUSED)]


class Place(trials.Place):
    """A place that skips what only root can try."""

    def run(self, way: str, attempts: Mapping[str, str], **confine: Any) -> Ended:
        _require_user(way)
        return super().run(way, attempts, **confine)


def _require_user(way: str) -> None:
    if "user" in way and os.geteuid() != 0:
        pytest.skip("these tests are run by an ordinary user as they are")
    if "user" in way and not all(path.stat().st_mode & 0o001 for path in Path(PYTHON).parents):
        pytest.skip("this interpreter is root's alone")


@pytest.fixture
def place() -> Iterator[Place]:
    # Not below pytest's own folder, which is closed to others.
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Place(Path(folder))


def test_it_stays_the_same_user_where_a_user_namespace_is_given_and_not_its_users(place: Place) -> None:
    ended = place.run("user nobody", {"user": "os.getuid()", "note": f"open({str(place.folder / 'readable/notes')!r})"})

    assert (ended.tried["user"], ended.explanation) == (1000, "")
    assert "PermissionError" in ended.tried["note"]
    assert "refuses one (Operation not permitted)" in place.run("user nobody", {}, hosts=("example.com",)).explanation


@pytest.mark.parametrize("way", WAYS)
def test_it_reads_and_writes_what_is_named_and_nothing_else(place: Place, way: str) -> None:
    with try_files(place) as trial:
        ended = place.run(way, trial.attempts, **trial.bounds)

    assert ended.explanation == ""
    assert ended.done == trial.outcomes
    assert place.secret.read_text() == "private key"
    assert place.secret.stat().st_mode & 0o777 == 0o666
    assert [entry.name for entry in place.folder.iterdir() if entry.name.startswith("onetool-")] == []


@pytest.mark.parametrize("way", WAYS)
def test_without_hosts_there_is_no_network_of_any_kind(place: Place, way: str) -> None:
    with try_network(place) as trial:
        ended = place.run(way, trial.attempts, **trial.bounds)

    assert ended.done == trial.outcomes


@pytest.mark.parametrize("way", WAYS)
def test_others_cannot_be_touched_nor_the_bounds_left(place: Place, way: str) -> None:
    with try_others(place) as trial:
        ended = place.run(way, trial.attempts, **trial.bounds)

    assert ended.done == trial.outcomes
    assert ended.status == 0


@pytest.mark.parametrize("user", ["self", "user"])
def test_with_hosts_there_is_one_way_out_and_it_leads_to_them(place: Place, user: str) -> None:
    with try_hosts(place) as trial:
        ended = place.run(user, trial.attempts, **trial.bounds)

    assert ended.done == trial.outcomes
    assert "is not one of its allowed hosts" in ended.tried["another port"]
    assert "is not one of its allowed hosts" in ended.tried["a tunnel to another port"]


@pytest.mark.parametrize("user", ["self", "user"])
def test_hosts_where_namespaces_are_refused_keep_it_from_starting(place: Place, user: str) -> None:
    ended = place.run(f"{user} {REFUSED}", {"started": "True"}, hosts=("example.com",))

    assert (ended.tried, ended.status) == ({}, 126)
    assert "`hosts` needs a network namespace, and this system refuses one" in ended.explanation


@pytest.mark.parametrize("user", ["self", "user"])
def test_without_landlock_nothing_is_started(place: Place, user: str) -> None:
    ended = place.run(f"{user} old", {"started": "True"})

    assert (ended.tried, ended.status) == ({}, 126)
    assert "this system has no Landlock" in ended.explanation


@pytest.mark.parametrize(
    "greed",
    [
        "hold(300 << 20) and time.sleep(60)",
        "hold(300 << 20, shared=True) and time.sleep(60)",
        "[hold_after_its_writer(60 << 20) for _ in range(5)] and time.sleep(60)",
        "[os.write(os.memfd_create('a'), bytes(60 << 20)) for _ in range(5)] and time.sleep(60)",
        "mmap.mmap(os.open('/dev/zero', os.O_RDWR), 300 << 20)",
        "[os.fork() or hold(60 << 20) and time.sleep(60) for _ in range(4)] and time.sleep(60)",
    ],
    ids=["its own", "shared", "of a writer that is gone", "in files of memory", "of a device", "of several processes"],
)
def test_memory_is_bounded_for_all_processes_together(place: Place, greed: str) -> None:
    ended = place.run("self", {"greed": greed}, memory=128 << 20)

    assert "refused" in str(ended.tried.get("greed")) or "used more memory than the 128m" in ended.explanation
    assert (ended.status == 0) is bool(ended.tried)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("route", ["writable/inner", "writable/inner/.ssh", "link/inner", "alias/.ssh"])
def test_a_name_inside_what_it_may_write_opens_nothing_outside_at_the_next_start(
    place: Place, route: str, way: str
) -> None:
    """A program could have replaced the name by a link."""
    writable, secret = place.folder / "writable", place.secret
    (writable / "inner").symlink_to(place.home)
    (place.folder / "link").symlink_to(writable)
    (place.folder / "alias").symlink_to(writable / "inner")
    named = str(place.folder / route)

    ended = place.run(
        way,
        {
            "secret": f"open({str(secret)!r}).read()",
            "mode": f"os.chmod({str(secret)!r}, 0o600)",
            "file": f"open({str(place.home / 'planted')!r}, 'w')",
            "writable": f"open({str(writable / 'notes')!r}, 'w').write('bread')",
        },
        readable=(named,),
        writable=(str(writable), named),
    )

    assert ended.done == {"writable": 5}


@pytest.mark.parametrize("way", WAYS)
def test_it_executes_only_the_programs_that_are_named(place: Place, way: str) -> None:
    own = executables_of(Path(PYTHON).resolve())
    assert own is not None
    script = place.folder / "writable" / "script"
    attempts = {
        "itself": f"subprocess.run([{PYTHON!r}, '-c', '']).returncode",
        "another": "subprocess.run(['/bin/true']).returncode",
        "a shell": "subprocess.run('true', shell=True).returncode",
        "its own script": f"[open({str(script)!r}, 'w').write('#!{PYTHON}'), os.chmod({str(script)!r}, 0o755), "
        f"subprocess.run([{str(script)!r}])]",
    }
    writable = (str(place.folder / "writable"),)

    held = place.run(way, attempts, writable=writable, programs=own)
    free = place.run(way, attempts, writable=writable)

    assert held.tried["itself"] == free.tried["itself"] == free.tried["another"] == 0, (held, free)
    for name in ("another", "a shell", "its own script"):
        assert held.tried[name].startswith("refused: PermissionError"), held


def test_without_a_temporary_folder_it_does_not_start(place: Place) -> None:
    place.folder = place.folder / "nowhere"

    ended = place.run("self", {"started": "True"})

    assert (ended.tried, ended.status) == ({}, 126)
    assert "its temporary folder cannot be made" in ended.explanation


def test_a_system_that_cannot_confine_a_program_says_the_way_out(place: Place) -> None:
    said = place.run("self old", {}, otherwise=". Set something").explanation
    off = place.run("self old", {"secret": f"open({str(place.home / '.ssh' / 'id_ed25519')!r}).read()"}, off=True)

    assert said == "cannot be confined: this system has no Landlock, or its seccomp is not known. Set something"
    assert off.tried == {"secret": "private key"}
