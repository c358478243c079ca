"""The services that tests play are what the vendors' own clients take them for."""

from __future__ import annotations

import json
import os
import sys
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import anyio
import pytest

from ot_packs.net.values import items_of, text_of
from tests.availability import require_program
from tests.services.context7 import PlayedContext7
from tests.services.firecrawl import PlayedFirecrawl
from tests.services.gemini import ANSWER, PlayedGemini
from tests.services.npm import PlayedNpm
from tests.services.played import play
from tests.services.pypi import WHEELS, PlayedPypi
from tests.services.vendors import run_node_client, run_python_client


async def test_the_client_of_context7_reads_what_we_play() -> None:
    async with play(PlayedContext7()) as service:
        seen = await run_node_client(
            "context7_client.mjs", f"{service.address}/api", service.key, package="@upstash/context7-sdk"
        )

    assert [library["id"] for library in items_of(seen, "libraries")] == [
        "/pydantic/pydantic",
        "/pydantic/pydantic-settings",
    ]
    assert [passage["title"] for passage in items_of(seen, "passages")] == ["validators", "Guide"]
    assert "print('v2.10.1')" in str(items_of(seen, "passages")[0]["content"])
    assert text_of(seen, "text").startswith("### validators")
    assert text_of(seen, "mistake") == "library_not_found"


@pytest.mark.long
async def test_the_client_of_firecrawl_reads_what_we_play() -> None:
    async with play(PlayedFirecrawl()) as service:
        seen = await run_python_client("firecrawl_client.py", service.address, service.key)

    assert seen == {
        "title": "Title of https://pages.example/guide",
        "links": ["https://pages.example/guide/more"],
        "mapped": [f"https://pages.example/{n}" for n in range(3)],
        "crawled": [f"https://pages.example/{n}" for n in range(5)],
        "status": "completed",
        "cancelled": True,
        "price": 4.5,
        "mistake": "UnauthorizedError",
    }


@pytest.mark.long
async def test_the_client_of_google_reads_what_we_play() -> None:
    async with play(PlayedGemini()) as service:
        seen = await run_python_client("gemini_client.py", service.address, service.key)

    assert seen == {
        "text": ANSWER,
        "sources": ["https://pages.example/versions", "https://other.example/eol"],
        "passages": [["Größe: Python 3.14 gets fixes.", [0, 1]], ["So does 3.13.", [1]]],
        "queries": ["python releases security"],
        "tokens": 32,
        "model": "gemini-flash-latest-001",
        "mistake": "400 INVALID_ARGUMENT",
    }


async def test_npm_reads_and_installs_what_we_play(tmp_path: Path) -> None:
    npm = str(require_program("npm"))
    (tmp_path / "package.json").write_text('{"name": "mine", "version": "1.0.0"}')
    token = "npm_of_the_tests"
    async with play(PlayedNpm(token=token)) as service:
        (tmp_path / ".npmrc").write_text(
            f"registry={service.address}\n//127.0.0.1:{service.port}/:_authToken={token}\n"
        )
        environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "npm_config_cache": str(tmp_path / "cache")}

        async def run(*words: str) -> str:
            done = await anyio.run_process(
                [npm, *words, "--no-audit", "--no-fund"], cwd=tmp_path, env=environ, check=False
            )
            assert done.returncode == 0, done.stderr.decode()
            return done.stdout.decode()

        seen = json.loads(await run("view", "react", "--json"))
        await run("install", "react@^18", "@corp/inner")

    assert (seen["dist-tags"]["latest"], seen["time"]["19.0.0"]) == ("19.0.0", "2026-05-06T07:08:09.000Z")
    places = json.loads((tmp_path / "package-lock.json").read_text())["packages"]
    installed = {place.removeprefix("node_modules/"): facts["version"] for place, facts in places.items() if place}
    assert installed == {"react": "18.3.1", "tslib": "2.8.0", "@corp/inner": "1.1.0"}


@pytest.mark.parametrize("form", ["JSON", "HTML"])
async def test_uv_resolves_and_installs_what_we_play(tmp_path: Path, form: str) -> None:
    uv = str(Path(sys.executable).with_name("uv"))
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "UV_CACHE_DIR": str(tmp_path / "cache"),
        "UV_NO_CONFIG": "1",
    }
    async with play(PlayedPypi(old=form == "HTML", token="bWU6cHc=")) as service:
        index = f"http://me:pw@127.0.0.1:{service.port}/simple"
        install = [uv, "pip", "install", "--target", str(tmp_path / "there"), "--index-url", index, "httpx"]
        done = await anyio.run_process([*install, "--python", sys.executable], env=environ, check=False)

    assert done.returncode == 0, done.stderr.decode()
    installed = {each.name.partition(".dist-info")[0] for each in (tmp_path / "there").glob("*.dist-info")}
    assert installed == {"httpx-0.28.1", "certifi-2026.1.1", "idna-3.10", "anyio-4.9.0"}
    assert any(request.path.endswith(".metadata") for request in service.requests) == (form == "JSON")


def test_a_wheel_has_one_hash_whenever_it_is_asked_for() -> None:
    times = {entry.date_time for entry in ZipFile(BytesIO(WHEELS[0].content)).infolist()}

    assert times == {(1980, 1, 1, 0, 0, 0)}
