"""`onetool fetch`: libraries of packs, installed ahead."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from onetool.cli.fetch import fetch, show
from tests.e2e.raw_server import environment_of
from tests.library_shop import NAMES, LibraryShop
from tests.preloaded import run_preloaded
from tests.wheels import serve_index
from tests.worker_pool import host_of

pytestmark = pytest.mark.anyio


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
    assert lines[0] == "sample: not installed; the first call installs it (thing>=1, other-thing)"
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
    assert "onetool: the libraries of sample could not be installed. uv says:" in said.err
    assert "sha256:0000" in said.err


def test_the_command_lists_packs_and_refuses_unknown_ones(tmp_path: Path) -> None:
    def onetool(*arguments: str) -> subprocess.CompletedProcess[str]:
        return run_preloaded(*arguments, cwd=tmp_path, env=environment_of(tmp_path))

    for ready in (onetool("fetch"), onetool("fetch", "chart")):
        assert ready.returncode == 0, ready.stderr
        assert "chart: ready, installed with OneTool" in ready.stdout
    unknown = onetool("fetch", "chat", "chart")
    assert unknown.returncode == 2
    assert "onetool: no pack 'chat' needs libraries. Those that do: chart" in unknown.stderr
