"""`onetool fetch`: libraries of packs, installed ahead."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from onetool.cli import main
from onetool.cli.fetch import fetch, show
from tests.library_shop import NAMES, LibraryShop
from tests.wheels import serve_index
from tests.worker_pool import host_of

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def own_log() -> Iterator[None]:
    """Take away the log that a command begins: it writes to what the test has captured."""
    root = logging.getLogger()
    handlers = list(root.handlers)
    yield
    for handler in set(root.handlers) - set(handlers):
        root.removeHandler(handler)


@pytest.fixture
def shop(tmp_path: Path) -> LibraryShop:
    return LibraryShop(tmp_path)


async def test_libraries_are_fetched_once_and_listed(shop: LibraryShop, capsys: pytest.CaptureFixture[str]) -> None:
    host = host_of(shop.folder, shop.offline())
    known = {"sample": shop.libraries}

    assert show(known, host) == 0
    assert await fetch([shop.libraries], host, again=False) == 0
    assert await fetch([shop.libraries], host_of(shop.folder, {**shop.environ, "UV": "/absent"}), again=False) == 0
    show(known, host)
    before = shop.environments()[0].stat().st_ctime_ns
    assert await fetch([shop.libraries], host, again=True) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "sample: not fetched; its first call does that (thing>=1, other-thing)"
    assert re.fullmatch(r"sample: ready in [\d.]+ s, [\d.]+ MB", lines[1])
    assert re.fullmatch(r"sample: ready, [\d.]+ MB", lines[2])
    assert re.fullmatch(r"sample: ready, [\d.]+ MB \(thing>=1, other-thing\)", lines[3])
    assert re.fullmatch(r"sample: ready in [\d.]+ s, [\d.]+ MB", lines[4])
    assert shop.environments()[0].stat().st_ctime_ns != before


async def test_a_failure_is_told_in_uvs_words_and_by_the_status(
    shop: LibraryShop, capsys: pytest.CaptureFixture[str]
) -> None:
    shop.pin(thing="0" * 64)

    with serve_index(shop.wheels, names=NAMES) as index:
        assert await fetch([shop.libraries], host_of(shop.folder, shop.online(index)), again=False) == 1

    said = capsys.readouterr()
    assert said.out == ""
    assert "onetool: sample cannot be fetched. uv says:" in said.err
    assert "sha256:0000" in said.err


def test_the_command_lists_packs_and_refuses_unknown_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    assert main(["fetch"]) == 0
    assert main(["fetch", "chart"]) == 0
    assert main(["fetch", "chat", "chart"]) == 2

    said = capsys.readouterr()
    assert "chart: ready, installed with OneTool (vl-convert-python" in said.out
    assert "onetool: no pack 'chat' needs libraries. Those that do: chart" in said.err
