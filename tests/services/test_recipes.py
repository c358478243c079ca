"""The recipes run as the page has them, with the services played on this machine."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.packs.web.site import Site
from tests.raw_http import serving
from tests.services.configured import configure
from tests.services.everything import play_all
from tests.services.played import Caller, open_caller

PAGE = Path(__file__).parent.parent.parent / "docs" / "recipes.md"
RECIPES = dict(re.findall(r"^## (.+?)\n.*?^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL))


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("person")


@pytest.fixture(scope="module")
async def site() -> AsyncIterator[Site]:
    """What stands at pages.example, where the searches lead: five pages, of which two are one, and one is gone."""
    async with serving(Site()) as site:
        for query in ("python-packaging-news", "pep-751-lock-files"):
            for number, body in enumerate(["same", "same", f"{query} one", f"{query} two"]):
                site.page(f"/{query}/{number}", f"<main><h1>Page</h1><p>{body} about lock files</p></main>")
        yield site


@pytest.fixture(scope="module")
async def caller(person: Path, site: Site) -> AsyncIterator[Caller]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        async with play_all() as played:
            configure(monkeypatch, pypi=played.pypi, npm=played.npm)
            packs = {**played.packs, "web": {"allow": [f"127.0.0.1:{site.port}"]}}
            async with open_caller(person, packs=packs, secrets=played.secrets, ai=played.ai) as opened:
                yield opened


async def test_search_fetch_dedupe_summarise(caller: Caller, site: Site) -> None:
    leading = 'hit["url"].replace("https://pages.example", "' + site.address("") + '")'
    recipe = RECIPES["Search, fetch, dedupe, summarise"].replace('hit["url"]', leading)
    seen = await caller.run(recipe)

    assert "10 addresses, 5 pages, 5 used" in seen
    assert "PYTHON-PACKAGING-NEWS ONE" in seen  # the model that is played writes in capitals


async def test_documentation_for_the_versions_of_a_lock_file(caller: Caller, person: Path) -> None:
    (person / "project" / "requirements.txt").write_text("pydantic==2.10.4\n")
    seen = await caller.run(RECIPES["Documentation for exactly the versions of a lock file"])

    assert "# pydantic 2.10.4 (documented: v2.10.1, newest: 2.12.0)" in seen
    assert "Source: /pydantic/pydantic/v2.10.1" in seen


async def test_outdated_packages_with_what_changed(caller: Caller, person: Path) -> None:
    (person / "project" / "requirements.txt").write_text("httpx==0.27.0\n")
    (person / "project" / "package.json").write_text(json.dumps({"dependencies": {"react": "^18"}}))
    lock = {"packages": {"node_modules/react": {"version": "18.2.0"}}}
    (person / "project" / "package-lock.json").write_text(json.dumps(lock))
    seen = await caller.run(RECIPES["Outdated packages, with what changed"])

    assert "httpx 0.27.0 -> 0.28.1, 2 releases (!)\n  anyio None -> any" in seen
    assert "read: https://code.example/httpx/changes" in seen
    assert "react 18.2.0 -> 19.0.0, 3 releases (!)\n  loose-envify ^1.1.0 -> None" in seen
    assert "read: https://github.com/example/react/releases" in seen


def test_every_recipe_is_tested() -> None:
    assert len(RECIPES) == PAGE.read_text().count("```python") == 3
