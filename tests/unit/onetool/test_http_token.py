"""The bearer token and the file it lives in."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from onetool.http.listening import TOKEN_FILE, accepts, read_token
from ot.errors import ConfigError


def test_the_first_start_makes_a_token_that_only_the_owner_can_read(tmp_path: Path) -> None:
    folder = tmp_path / "state"

    token = read_token(folder, environ={})

    assert len(token) >= 40
    assert stat.S_IMODE((folder / TOKEN_FILE).stat().st_mode) == 0o600
    assert [file.name for file in folder.iterdir()] == [TOKEN_FILE]
    assert read_token(folder, environ={}) == token


def test_servers_that_start_at_once_agree_on_one_token(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        tokens = list(pool.map(lambda _: read_token(tmp_path, environ={}), range(16)))

    assert len(set(tokens)) == 1


def test_the_environment_comes_before_the_file(tmp_path: Path) -> None:
    assert read_token(tmp_path, environ={"ONETOOL_HTTP_TOKEN": "0123456789abcdef"}) == "0123456789abcdef"
    assert not (tmp_path / TOKEN_FILE).exists()


def test_a_token_that_others_can_read_is_refused(tmp_path: Path) -> None:
    read_token(tmp_path, environ={})
    (tmp_path / TOKEN_FILE).chmod(0o644)

    with pytest.raises(ConfigError, match="others can read"):
        read_token(tmp_path, environ={})


def test_a_link_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("0123456789abcdef\n")
    (tmp_path / TOKEN_FILE).symlink_to(tmp_path / "elsewhere")

    with pytest.raises(ConfigError):
        read_token(tmp_path, environ={})


@pytest.mark.parametrize("token", ["short", "with a space in the middle", "ümlaute-sind-nicht-erlaubt"])
def test_a_token_that_a_header_cannot_carry_is_refused(tmp_path: Path, token: str) -> None:
    with pytest.raises(ConfigError):
        read_token(tmp_path, environ={"ONETOOL_HTTP_TOKEN": token})


@pytest.mark.parametrize(
    ("header", "accepted"),
    [
        ("Bearer 0123456789abcdef", True),
        ("bearer 0123456789abcdef", True),
        ("Bearer 0123456789abcdeX", False),
        ("Bearer 0123456789abcde", False),
        ("Bearer ", False),
        ("Basic 0123456789abcdef", False),
        ("0123456789abcdef", False),
        ("Bearer ünïcödé", False),
        ("", False),
        (None, False),
    ],
)
def test_only_the_token_itself_opens_the_door(header: str | None, *, accepted: bool) -> None:
    assert accepts(header, "0123456789abcdef") is accepted
