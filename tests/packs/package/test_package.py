"""The pack package: versions of packages, what changed, and what is outdated in a project."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.services.configured import configure
from tests.services.npm import PlayedNpm
from tests.services.played import Caller, open_caller, play
from tests.services.pypi import PlayedPypi


@pytest.fixture(scope="module")
async def caller(person: Path, played_pypi: PlayedPypi, played_npm: PlayedNpm) -> AsyncIterator[Caller]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        configure(monkeypatch, pypi=played_pypi.index, npm=played_npm.address)
        async with open_caller(person, packs={}, secrets={}) as opened:
            yield opened


def folder_of(person: Path, name: str) -> Path:
    folder = person / "project" / name
    folder.mkdir()
    return folder


async def call(caller: Caller, tool: str, **arguments: Any) -> Any:
    value = await caller.app.executor.call(f"package.{tool}", arguments)
    assert isinstance(value, dict)
    return value


async def test_a_python_package_is_told_with_what_changed(caller: Caller, played_pypi: PlayedPypi) -> None:
    assert await call(caller, "pypi", name="HTTPX", version="<1", since="0.27.0") == {
        "name": "HTTPX",
        "registry": played_pypi.index,
        "newest": release("0.28.1", released="2026-03-01T00:00:00"),
        "matching": release("0.28.1", released="2026-03-01T00:00:00"),
        "versions": [
            release("0.28.1", released="2026-03-01T00:00:00"),
            release("0.27.2", withdrawn="broken timeouts"),
            release("0.27.0", requires=">=3.8"),
        ],
        "total": 3,
        "more": False,
        "tags": {},
        "summary": "What the tests install",
        "license": "MIT",
        "links": {
            "changelog": "https://code.example/httpx/changes",
            "repository": "https://code.example/httpx",
            "Changelog": "https://code.example/httpx/changes",
            "Source": "https://code.example/httpx",
        },
        "changes": {
            "since": "0.27.0",
            "to": "0.28.1",
            "releases": 2,
            "requires": [">=3.8", ">=3.9"],
            "dependencies": [
                {"name": "anyio", "extra": "", "before": None, "after": "any"},
                {"name": "h2", "extra": "http2", "before": "<5,>=3", "after": "<6,>=3"},
                {"name": "idna", "extra": "", "before": ">=2", "after": ">=3"},
                {"name": "sniffio", "extra": "", "before": "any", "after": None},
            ],
        },
    }


def release(version: str, **facts: object) -> dict[str, object]:
    plain = {"released": "2026-01-02T03:04:05", "requires": ">=3.9", "withdrawn": None, "prerelease": False}
    return {"version": version, **plain, **facts}


@pytest.mark.parametrize(
    ("arguments", "version"),
    [
        ({}, "0.28.1"),
        ({"prereleases": True}, "1.0.dev3"),
        ({"prereleases": True, "python": "3.11"}, "0.28.1"),
        ({"python": "3.8"}, "0.27.0"),
        ({"version": ">=0.27,<0.28"}, "0.27.0"),  # the newest of these was yanked
        ({"version": "0.27.0"}, "0.27.0"),
        ({"version": ">=1.0.dev1"}, "1.0.dev3"),
        ({"version": ">5"}, None),
    ],
    ids=str,
)
async def test_the_newest_that_fits_is_found(caller: Caller, arguments: dict[str, object], version: str | None) -> None:
    found = (await call(caller, "pypi", name="httpx", **arguments))["matching"]

    assert (found["version"] if isinstance(found, dict) else None) == version


async def test_an_old_index_answers_in_html(monkeypatch: pytest.MonkeyPatch, caller: Caller) -> None:
    async with play(PlayedPypi(old=True)) as old:
        monkeypatch.setenv("PIP_INDEX_URL", old.index)
        seen = await call(caller, "pypi", name="httpx", version="<1", since="0.27.0")

    assert seen["newest"] == release("0.28.1", released="")
    assert seen["versions"][1] == release("0.27.2", released="", withdrawn="broken timeouts")
    assert len(seen["changes"]["dependencies"]) == 4


async def test_an_npm_package_is_told_with_what_changed(caller: Caller, played_npm: PlayedNpm) -> None:
    seen = await call(caller, "npm", name="react", version="^18", since="18.2.0", limit=2)

    assert seen == {
        "name": "react",
        "registry": played_npm.address,
        "newest": node_release("19.0.0"),
        "matching": node_release("18.3.1"),
        "versions": [node_release("18.3.1"), node_release("18.3.0", withdrawn="use 18.3.1")],
        "total": 3,
        "more": True,
        "tags": {"latest": "19.0.0", "next": "19.1.0-rc.1"},
        "summary": "What the tests install",
        "license": "MIT",
        "links": {
            "homepage": "https://pages.example/",
            "repository": "https://github.com/example/react",
            "changelog": "https://github.com/example/react/releases",
        },
        "changes": {
            "since": "18.2.0",
            "to": "18.3.1",
            "releases": 2,
            "requires": [">=0.10.0", ">=18"],
            "dependencies": [
                {"name": "loose-envify", "extra": "", "before": "^1.1.0", "after": None},
                {"name": "tslib", "extra": "", "before": None, "after": "^2.0.0"},
            ],
        },
    }


def node_release(version: str, **facts: object) -> dict[str, object]:
    return release(version, **{"released": "", "requires": ">=18", **facts})


@pytest.mark.parametrize(
    ("arguments", "version"),
    [
        ({}, "19.0.0"),
        ({"version": "next"}, "19.1.0-rc.1"),
        ({"version": "18.2.x || 18.3.0"}, "18.2.0"),
        ({"version": "18.3.0"}, "18.3.0"),
        ({"prereleases": True}, "19.1.0-rc.1"),
        ({"version": ">20"}, None),
    ],
    ids=str,
)
async def test_the_newest_in_a_range_is_found(
    caller: Caller, arguments: dict[str, object], version: str | None
) -> None:
    found = (await call(caller, "npm", name="react", **arguments))["matching"]

    assert (found["version"] if isinstance(found, dict) else None) == version


async def test_only_dates_need_the_whole_document(caller: Caller, played_npm: PlayedNpm) -> None:
    played_npm.requests.clear()
    plain = await call(caller, "npm", name="@corp/inner", limit=0)
    dated = await call(caller, "npm", name="@corp/inner", dates=True, limit=0)

    assert [plain["newest"]["released"], dated["newest"]["released"]] == ["", "2026-01-02T03:04:05"]
    kinds = [
        request.headers["accept"].partition(";")[0] for request in played_npm.requests if request.path == "/@corp/inner"
    ]
    assert kinds == ["application/vnd.npm.install-v1+json", "application/json"]


PYPROJECT = """
[project]
name = "mine"
version = "1.0"
dependencies = ["httpx>=0.27,<0.28", "pydantic", "Unknown_Thing>=1", "local @ git+https://code.example/local"]
[project.optional-dependencies]
speed = ["anyio"]
[dependency-groups]
dev = ["certifi==2026.1.1", {include-group = "other"}]
"""
LOCK = """
[[package]]
name = "mine"
version = "1.0"
source = { editable = "." }
[[package]]
name = "httpx"
version = "0.27.2"
source = { registry = "https://pypi.org/simple" }
[[package]]
name = "pydantic"
version = "2.10.1"
source = { registry = "https://pypi.org/simple" }
[[package]]
name = "beside"
version = "1.0"
source = { registry = "../wheels" }
[[package]]
name = "idna"
version = "2.0"
source = { registry = "https://pypi.org/simple" }
"""


async def test_a_python_project_is_compared_with_the_registry(
    caller: Caller, person: Path, played_pypi: PlayedPypi
) -> None:
    project = folder_of(person, "python")
    (project / "pyproject.toml").write_text(PYPROJECT)
    (project / "uv.lock").write_text(LOCK)
    seen = await call(caller, "outdated", path="python")

    assert [(each["name"], each["current"], each["wanted"], each["newest"]) for each in seen["packages"]] == [
        ("httpx", "0.27.2", "0.27.0", "0.28.1"),
        ("pydantic", "2.10.1", "2.12.0", "2.12.0"),
    ]
    assert seen["packages"][0]["withdrawn"] == "broken timeouts"
    assert (seen["checked"], seen["total"], seen["more"]) == (4, 2, False)
    assert [(each["name"], each["reason"].partition(" at ")[0]) for each in seen["problems"]] == [
        ("unknown-thing", "there is no package unknown-thing"),
        ("local", "it does not come from a registry"),
    ]

    seen = await call(caller, "outdated", path="python", indirect=True)
    assert [(each["name"], each["group"]) for each in seen["packages"]][-1] == ("idna", "indirect")
    elsewhere = [each["name"] for each in seen["problems"] if each["reason"] == "it does not come from a registry"]
    assert sorted(elsewhere) == ["beside", "local", "mine"]
    assert not [request for request in played_pypi.requests if request.path.split("/")[2] in elsewhere]


async def test_requirements_are_compared_one_file_at_a_time(caller: Caller, person: Path) -> None:
    project = folder_of(person, "requirements")
    (project / "requirements.txt").write_text("# pins\npydantic==2.10.1 \\\n    --hash=sha256:00\n-r other.txt\n")
    (project / "requirements-dev.txt").write_text("httpx[http2]==0.27.0 ; python_version > '3' # why\n")

    names = [
        [each["name"] for each in (await call(caller, "outdated", path=path))["packages"]]
        for path in ("requirements", "requirements/requirements-dev.txt")
    ]

    assert names == [["httpx", "pydantic"], ["httpx"]]


async def test_a_project_of_poetry_is_read(caller: Caller, person: Path) -> None:
    project = folder_of(person, "poetry")
    dependencies = (
        'python = "^3.11"\nhttpx = "^0.27"\npydantic = {version = "~2.10", extras = ["email"]}\nx = {path = "x"}'
    )
    groups = '[tool.poetry.group.dev.dependencies]\ncertifi = "*"\nanyio = "4.9.0"'
    (project / "pyproject.toml").write_text(f"[tool.poetry.dependencies]\n{dependencies}\n{groups}\n")
    seen = await call(caller, "outdated", path="poetry")

    assert [(each["name"], each["asked"], each["wanted"], each["newest"]) for each in seen["packages"]] == [
        ("httpx", ">=0.27,<0.28", "0.27.0", "0.28.1"),
        ("pydantic", ">=2.10,<2.11", "2.10.1", "2.12.0"),
    ]
    assert seen["checked"] == 4


PACKAGE = json.dumps(
    {
        "dependencies": {"react": "^18.2.0", "again": "npm:react@~18.2.0", "mine": "file:../mine"},
        "devDependencies": {"@corp/inner": "^1.0.0", "tslib": "latest"},
    }
)
LOCKS = {
    "package-lock.json": json.dumps(
        {
            "packages": {
                "": {},
                "node_modules/react": {"version": "18.2.0"},
                "node_modules/@corp/inner": {"version": "1.0.0"},
            }
        }
    ),
    "yarn.lock": '"@corp/inner@^1.0.0":\n  version "1.0.0"\n\nreact@^17:\n  version "17.0.0"\n\nreact@^18.2.0:\n  version "18.2.0"\n',
    "pnpm-lock.yaml": (
        "lockfileVersion: '9.0'\nimporters:\n  .:\n    dependencies:\n      react:\n        specifier: ^18.2.0\n"
        "        version: 18.2.0\n    devDependencies:\n      '@corp/inner':\n        specifier: ^1.0.0\n        version: 1.0.0\n"
    ),
}


@pytest.mark.parametrize("lock", LOCKS)
async def test_an_npm_project_is_compared_with_the_registry(caller: Caller, person: Path, lock: str) -> None:
    project = folder_of(person, lock.partition(".")[0])
    (project / "package.json").write_text(PACKAGE)
    (project / lock).write_text(LOCKS[lock])
    seen = await call(caller, "outdated", path=project.name)

    rows = {
        (each["group"], each["asked"]): (each["current"], each["wanted"], each["newest"]) for each in seen["packages"]
    }
    assert rows["", "^18.2.0"] == ("18.2.0", "18.3.1", "19.0.0")
    assert rows["dev", "^1.0.0"] == ("1.0.0", "1.1.0", "1.1.0")
    assert rows["", "~18.2.0"][1:] == ("18.2.0", "19.0.0")
    assert seen["problems"] == [{"name": "mine", "reason": "it does not come from a registry"}]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ('package.pypi(name="requestss")', "there is no package requestss at http://127.0.0.1"),
        ('package.pypi(name="requestss")', "Did you mean requests"),
        ('package.pypi(name="yaml")', "Did you mean pyyaml"),
        ('package.npm(name="expresss")', "Did you mean express"),
        ('package.pypi(name="../../etc")', "is not the name of a Python package"),
        ('package.npm(name="../etc")', "is not the name of an npm package"),
        ('package.npm(name="@a/../b")', "is not the name of an npm package"),
        ('package.pypi(name="httpx", version="newest")', "'newest' is not a version such as"),
        ('package.npm(name="react", version="newest!")', "'newest!' is neither a tag"),
        ('package.pypi(name="httpx", since="0.1")', "httpx has no version 0.1; the newest are 0.28.1, 0.27.2"),
        ('package.npm(name="react", since="1.0.0")', "react has no version 1.0.0; the newest are 19.0.0"),
        ('package.outdated(path="missing")', "No such file"),
        ('package.outdated(path="..")', "outside the folders"),
    ],
)
async def test_what_cannot_be_found_is_told(caller: Caller, command: str, words: str) -> None:
    assert words in await caller.mistake(command)
