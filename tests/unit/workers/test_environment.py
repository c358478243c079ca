"""Environments made by a real uv: resolved once, used without a network afterwards, explained where they fail."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from anyio import fail_after

from ot.clients.caller import Caller
from ot.errors import WorkerStartError
from ot.workers.environment import Command, prepare
from ot.workers.extension import find_uv, uv_environment
from ot.workers.uv_program import PreparationError
from ot_guardian.processes import plain_environment
from tests.worker_pool import host_of, open_engine, open_pool, write_extension

pytestmark = pytest.mark.anyio

NO_NETWORK = {"HTTPS_PROXY": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9", "UV_HTTP_RETRIES": "0"}

WITH_SIX = """
    # /// script
    # requires-python = ">=3.11"
    # dependencies = ["six"]
    # ///
    import os, shutil, sys
    import six

    def facts():
        return {"six": six.__version__, "python": sys.executable, "prefix": sys.prefix, "environ": sorted(os.environ)}
    """


@pytest.fixture(scope="session")
def environ(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which uv has a cache of its own, to be thrown away."""
    return {**os.environ, "UV_CACHE_DIR": str(tmp_path_factory.mktemp("uv"))}


async def prepare_in(folder: Path, environ: Mapping[str, str], source: str, told: list[str] | None = None) -> Command:
    extension = write_extension(folder, source)
    tell = told.append if told is not None else lambda _: None
    with fail_after(60):
        return await prepare(extension.file, host_of(folder, environ), launch="direct", tell=tell)


async def test_dependencies_are_installed_and_the_interpreter_started_directly(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    extension = write_extension(tmp_path, WITH_SIX)

    async with open_pool(tmp_path, environ=environ) as pool:
        with fail_after(60):
            facts = await pool.call(extension, "facts", {})

    assert facts["six"].startswith("1.")
    assert facts["prefix"].startswith(environ["UV_CACHE_DIR"])
    assert not [name for name in facts["environ"] if name.startswith("UV")]


async def test_started_literally_by_uv_run_a_file_serves_too(tmp_path: Path, environ: dict[str, str]) -> None:
    noisy = WITH_SIX.replace("import six\n", "import six\n    print('noise before it serves', end='')\n")
    footer = '\n    import ot_sdk\n    if __name__ == "__main__":\n        ot_sdk.serve()\n    '
    extension = write_extension(tmp_path, noisy + footer)

    async with open_pool(tmp_path, environ=environ, launch="uv-run") as pool:
        with fail_after(60):
            assert (await pool.call(extension, "facts", {}))["six"].startswith("1.")


async def test_under_uv_run_a_file_without_footer_says_what_it_lacks(tmp_path: Path, environ: dict[str, str]) -> None:
    extension = write_extension(tmp_path, WITH_SIX)

    async with open_pool(tmp_path, environ=environ, launch="uv-run") as pool:
        with fail_after(60), pytest.raises(WorkerStartError, match=r"needs ot_sdk\.serve\(\) at its end"):
            await pool.call(extension, "facts", {})


async def test_an_environment_that_uv_has_made_is_used_without_asking_uv(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    first = await prepare_in(tmp_path, environ, WITH_SIX)

    without_uv = {**environ, "UV": "/absent", "PATH": ""}
    second = await prepare_in(tmp_path, without_uv, WITH_SIX.replace("def facts", "def other_facts"))

    assert second.words[0] == first.words[0]


async def test_an_environment_is_made_anew_when_its_dependencies_change(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    first = await prepare_in(tmp_path, environ, WITH_SIX)

    await prepare_in(tmp_path, environ, WITH_SIX.replace('"six"', '"six", "packaging"'))

    site = next(Path(first.words[0]).parent.parent.glob("lib/python*/site-packages"))
    assert (site / "packaging").is_dir()


async def test_an_environment_that_somebody_changed_is_looked_after(tmp_path: Path, environ: dict[str, str]) -> None:
    first = await prepare_in(tmp_path, environ, WITH_SIX)
    site = next(Path(first.words[0]).parent.parent.glob("lib/python*/site-packages"))
    shutil.rmtree(next(site.glob("six-*.dist-info")))
    (site / "six.py").unlink()

    await prepare_in(tmp_path, environ, WITH_SIX)

    assert (site / "six.py").exists()


async def test_what_is_in_uvs_cache_needs_no_network(tmp_path: Path, environ: dict[str, str]) -> None:
    await prepare_in(tmp_path, environ, WITH_SIX)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    told: list[str] = []

    await prepare_in(elsewhere, environ | NO_NETWORK, WITH_SIX, told)

    assert told == []  # nothing had to be installed


async def test_whoever_waits_is_told_what_is_installed(tmp_path: Path, environ: dict[str, str]) -> None:
    told: list[str] = []

    async def progress(done: float, total: float | None, message: str) -> None:
        told.append(message)

    extension = write_extension(tmp_path, WITH_SIX)
    fresh = {**environ, "UV_CACHE_DIR": str(tmp_path / "cache")}
    async with open_engine(tmp_path, extension, environ=fresh, config={"workers": {"call_timeout": 1}}) as engine:
        with fail_after(60):
            await engine.executor.call("sample.facts", {}, caller=Caller(progress=progress))

    assert any(message.startswith("sample: installing its dependencies") for message in told)


@pytest.mark.parametrize(
    ("dependency", "words"),
    [
        pytest.param("six-that-nobody-made-zz", "six-that-nobody-made-zz was not found", id="unknown"),
        pytest.param("six>99", "you require six>99", id="no such version"),
        pytest.param("not a name!", "not a name!", id="not a requirement"),
    ],
)
async def test_a_package_that_cannot_be_had_is_named(
    tmp_path: Path, environ: dict[str, str], dependency: str, words: str
) -> None:
    with pytest.raises(PreparationError) as caught:
        await prepare_in(tmp_path, environ, WITH_SIX.replace('"six"', f'"{dependency}"'))

    assert words in str(caught.value)


async def test_without_network_the_package_that_is_missing_is_named(tmp_path: Path, environ: dict[str, str]) -> None:
    fresh = environ | NO_NETWORK | {"UV_CACHE_DIR": str(tmp_path / "cache")}

    with pytest.raises(PreparationError, match="/six/"):
        await prepare_in(tmp_path, fresh, WITH_SIX)


async def test_without_uv_the_way_out_is_told(tmp_path: Path) -> None:
    extension = write_extension(tmp_path, WITH_SIX)
    host = replace(host_of(tmp_path, {}), find_uv=lambda _: None)

    with pytest.raises(PreparationError, match="uv, which installs them, was not found"):
        await prepare(extension.file, host, launch="direct", tell=lambda _: None)


async def test_without_header_a_file_runs_on_our_interpreter(tmp_path: Path) -> None:
    command = await prepare_in(tmp_path, {}, "def tool(): ...\n")

    assert command.words[0] == sys.executable


async def test_an_interpreter_that_is_not_there_is_named(tmp_path: Path, environ: dict[str, str]) -> None:
    with pytest.raises(PreparationError, match=r">=3\.99"):
        await prepare_in(tmp_path, environ, WITH_SIX.replace(">=3.11", ">=3.99"))


def test_uv_is_found_beside_our_interpreter(environ: dict[str, str]) -> None:
    found = find_uv({"PATH": ""})

    assert found is not None
    assert found.parent == Path(sys.executable).parent


def test_the_uv_that_runs_us_comes_first(tmp_path: Path) -> None:
    uv = tmp_path / "uv"
    uv.touch(mode=0o755)

    assert find_uv({"UV": str(uv)}) == uv


def test_workers_get_what_they_need_and_uv_its_own_settings_besides() -> None:
    environ: dict[str, Any] = {
        "HOME": "/h", "PATH": "/p", "SSL_CERT_FILE": "/c", "no_proxy": "x", "LC_ALL": "C", "XDG_CACHE_HOME": "/x",
        "UV_INDEX_OURS_PASSWORD": "s", "OPENAI_API_KEY": "s", "PYTHONPATH": "/s", "LD_PRELOAD": "/s", "VIRTUAL_ENV": "/v",
    }  # fmt: skip
    plain = {"HOME", "PATH", "SSL_CERT_FILE", "no_proxy", "LC_ALL", "XDG_CACHE_HOME"}

    assert set(plain_environment(environ)) == plain
    assert set(uv_environment(environ)) == plain | {"UV_INDEX_OURS_PASSWORD"}
