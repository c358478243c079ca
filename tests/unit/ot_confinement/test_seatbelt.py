"""The profile that confines a program on macOS, read by a parser of its language."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ot_confinement.confine import Confine, leave_out_led
from ot_confinement.seatbelt import BASE, SYSTEM_FILES, quote, write_profile
from tests.properties import unhurried
from tests.sbpl import decide, parse

SYSTEM = " ".join(f'(subpath "{path}")' for path in SYSTEM_FILES)
READ, WRITE = "file-read* file-map-executable", "file-read* file-map-executable file-write*"
CLOSED = "file-read-data file-read-xattr file-map-executable file-write* process-exec*"


def test_a_program_without_anything_reads_the_system_and_writes_its_folder() -> None:
    assert write_profile(Confine(), "/private/own") == (
        f"{BASE}(allow {READ} process-exec* {SYSTEM})\n"
        f'(allow {WRITE} (subpath "/private/own"))\n'
        f'(allow {READ} process-exec* (subpath "/private/own"))\n'
    )


def test_a_program_of_a_pack_executes_itself_only() -> None:
    ripgrep = Confine(("/shop/rg", "/shop/project"), memory=5, programs=("/shop/rg",))

    assert write_profile(ripgrep, "/private/own") == (
        f"{BASE}(allow {READ} {SYSTEM})\n"
        f'(allow {READ} (subpath "/shop/rg"))\n'
        f'(allow {READ} (subpath "/shop/project"))\n'
        f'(allow {WRITE} (subpath "/private/own"))\n'
        f'(allow {READ} process-exec* (subpath "/shop/rg"))\n'
    )


def test_an_extension_with_hosts_and_closed_places_connects_to_its_proxy_only() -> None:
    confine = Confine(("/shop/p/.onetool/tools/a.py",), ("/shop/p",), ("example.com",), closed=("/shop/p/.onetool",))

    assert write_profile(confine, "/private/own", port=4711).removeprefix(BASE).splitlines()[1:] == [
        f'(allow {WRITE} (subpath "/shop/p"))',
        f'(allow {WRITE} (subpath "/private/own"))',
        f'(allow {READ} process-exec* (subpath "/shop/p"))',
        f'(allow {READ} process-exec* (subpath "/private/own"))',
        f'(deny {CLOSED} (subpath "/shop/p/.onetool"))',
        '(deny file-write-unlink (literal "/shop/p"))',
        '(allow network-outbound (remote ip "localhost:4711"))',
    ]


def test_everything_is_denied_but_what_is_named() -> None:
    profile = write_profile(Confine(("/shop/read",), ("/shop/written",)), "/private/own")

    allowed = {
        (operation, path)
        for operation in ("file-read-data", "file-write-data", "process-exec", "file-map-executable")
        for path in ("/shop/read/a", "/shop/written/a", "/private/own/a", "/usr/lib/a", "/Users/ada/a", "/shop/ready")
        if decide(profile, operation, path)
    }

    assert {path for operation, path in allowed if operation == "file-write-data"} == {
        "/shop/written/a",
        "/private/own/a",
    }
    assert {path for _, path in allowed} == {"/shop/read/a", "/shop/written/a", "/private/own/a", "/usr/lib/a"}
    for operation in ("network-outbound", "network-bind", "signal", "mach-lookup", "process-info-pidinfo", "nvram-get"):
        assert not decide(profile, operation, "/")


def test_single_files_are_open_only_where_they_are_themselves(tmp_path: Path) -> None:
    real, led, kept = tmp_path / "real", tmp_path / "led", tmp_path / "kept"
    for file in (real, kept):
        file.write_text("milk")
    led.symlink_to(real)

    profile = write_profile(Confine(files=(str(real), str(led)), written=(str(kept),)), str(tmp_path / "own"))

    assert decide(profile, "file-read-data", str(real))
    assert not decide(profile, "file-read-data", str(led))
    assert not decide(profile, "file-write-data", str(real))
    assert decide(profile, "file-write-data", str(kept))
    assert not decide(profile, "file-write-unlink", str(kept))


def test_folders_are_named_by_their_real_paths(tmp_path: Path) -> None:
    (tmp_path / "private" / "var").mkdir(parents=True)
    (tmp_path / "var").symlink_to(tmp_path / "private" / "var")

    profile = write_profile(Confine(closed=(str(tmp_path / "var" / "x"),)), str(tmp_path / "var"))

    assert decide(profile, "file-write-data", str(tmp_path / "private" / "var" / "a"))
    assert not decide(profile, "file-write-data", str(tmp_path / "private" / "var" / "x" / "a"))
    assert not decide(profile, "file-write-data", str(tmp_path / "var" / "a"))


def test_what_a_program_could_have_led_elsewhere_opens_nothing(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "link").symlink_to(tmp_path / "secret")

    profile = write_profile(Confine((str(tmp_path / "own" / "link"),), (str(tmp_path / "own"),)), "/private/own")

    assert not decide(profile, "file-read-data", str(tmp_path / "secret" / "a"))


NAMES = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=5)
PATHS = st.lists(NAMES.filter(lambda name: name not in (".", "..")), min_size=1, max_size=3).map(
    lambda parts: "/nowhere/" + "/".join(parts)
)


@unhurried
@given(st.lists(PATHS, max_size=2), st.lists(PATHS, max_size=2), st.lists(PATHS, max_size=2))
def test_whatever_a_path_is_made_of_it_stays_one_string(read: list[str], write: list[str], closed: list[str]) -> None:
    profile = write_profile(Confine(tuple(read), tuple(write), closed=tuple(closed)), "/private/own")

    named = {part[1] for rule in parse(profile) for part in rule if isinstance(part, list) and len(part) == 2}

    assert {*leave_out_led((*read, *write), write), *closed} <= named
    assert all(rule[0] in ("version", "allow", "deny") for rule in parse(profile))


@unhurried
@given(st.lists(PATHS, min_size=1, max_size=3), PATHS)
def test_the_nearest_name_decides(opened: list[str], closed: str) -> None:
    profile = write_profile(Confine(tuple(opened), closed=(closed,)), "/private/own")
    within = any(os.path.commonpath((closed, path)) == closed for path in opened)

    for path in opened:
        assert decide(profile, "file-read-data", path)
    assert within or not decide(profile, "file-read-data", closed + "/secret")


@pytest.mark.parametrize("text", ['"', "\\", "\n", '")(allow default)', '\\"', "ä\u2028", "a b"])
def test_a_string_is_read_as_it_was_written(text: str) -> None:
    assert parse(f"(literal {quote(text)})") == [["literal", text]]
