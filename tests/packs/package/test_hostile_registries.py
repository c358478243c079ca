"""Registries that fail, lie or lead elsewhere, and projects that name registries of their own."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from mcp_core.json_types import Json
from ot.app import App
from tests.engine import open_engine
from tests.packs.answers import value_from
from tests.raw_http import Answering
from tests.services.configured import configure, write
from tests.services.npm import PlayedNpm
from tests.services.played import Caller, Rate, Reply, fall_silent, hang_up, open_caller, play, trickle
from tests.services.pypi import PlayedPypi

PYPI = 'package.pypi(name="httpx")["newest"]["version"]'
NPM = 'package.npm(name="react")["newest"]["version"]'
TOKEN = "npm_secret_of_the_tests"


@pytest.fixture(scope="module")
async def caller(person: Path) -> AsyncIterator[Caller]:
    async with open_caller(person, packs={"package": {"rate": 1000}}, secrets={}) as opened:
        yield opened


@pytest.fixture
def pypi(monkeypatch: pytest.MonkeyPatch, played_pypi: PlayedPypi, played_npm: PlayedNpm) -> PlayedPypi:
    configure(monkeypatch, pypi=played_pypi.index, npm=played_npm.address)
    played_pypi.faults, played_pypi.requests, played_pypi.rate = [], [], None
    return played_pypi


@pytest.fixture
def npm(pypi: PlayedPypi, played_npm: PlayedNpm) -> PlayedNpm:
    played_npm.faults, played_npm.requests = [], []
    return played_npm


@pytest.fixture
def project(caller: Caller, person: Path, tmp_path: Path) -> Path:
    """A folder of its own in the project that the tests share."""
    folder = person / "project" / tmp_path.name
    folder.mkdir()
    return folder


@asynccontextmanager
async def open_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[App, Path, Path]]:
    """An engine whose person has a home apart from the project; their files count."""
    configure(monkeypatch, files=True)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("UV_NO_CONFIG", "1")
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    async with open_engine(project, home=home) as app:
        yield app, home, project


@pytest.mark.parametrize(
    "fault",
    [Reply(503, "busy"), Reply(429, {}, {"retry-after": "0.1"}), hang_up],
    ids=["503", "429", "broken off"],
)
async def test_a_fault_that_passes_is_not_noticed(
    caller: Caller, pypi: PlayedPypi, npm: PlayedNpm, fault: Reply | Answering
) -> None:
    pypi.faults, npm.faults = [fault], [fault]

    assert [await caller.run(PYPI), await caller.run(NPM)] == ["0.28.1", "19.0.0"]


LOGIN = '<html><body><a href="/login">Log in</a></body></html>'


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Reply(200, LOGIN, {"content-type": "text/html"}), "is it a login page?"),
        (Reply(200, '{"files": [', {"content-type": "application/json"}), "returned incomplete or invalid JSON"),
        (Reply(200, '{"a":' * 100_000), "returned incomplete or invalid JSON"),
        (Reply(401, {"message": "no"}), "refuses to answer (401: no). There is no token for it"),
        (Reply(403, LOGIN), "refuses to answer (403: Forbidden)"),
        (Reply(418, "teapot"), "answers with status 418: teapot"),
        (Reply(302, "", {"location": "/loop"}), "has too many redirects"),
        (Reply(302, "", {"location": "http://169.254.169.254/latest"}), "is link-local, where clouds keep credentials"),
        (Reply(302, "", {"location": "http://localhost/x"}), "adding 'localhost' to packs.package.allow"),
        (Reply(302, "", {"location": "file:///etc/passwd"}), "is neither http nor https"),
        (Reply(200, "x", {"content-length": "60000000"}), "returned more than 50,000,000 bytes"),
    ],
    ids=["login", "truncated", "nested", "401", "403", "418", "loop", "metadata", "localhost", "file", "large"],
)
async def test_a_registry_that_does_not_answer_is_told(
    caller: Caller, pypi: PlayedPypi, npm: PlayedNpm, fault: Reply, words: str
) -> None:
    pypi.faults, npm.faults = [fault] * 6, [fault] * 6

    assert words in await caller.mistake(PYPI)
    assert words in await caller.mistake(NPM)


async def test_versions_that_are_none_are_left_out(caller: Caller, pypi: PlayedPypi, npm: PlayedNpm) -> None:
    files: list[Json] = [
        {"filename": name, "url": f"x/{name}"} for name in ("httpx-1.0.tar.gz", "other-2.0.tar.gz", "", "x")
    ]
    pypi.faults = [
        Reply(200, {"files": [*files, 7, {"filename": 7}, {"filename": "httpx-zzz.tar.gz", "url": "http://["}]})
    ]
    npm.faults = [
        Reply(200, {"dist-tags": {"latest": 7}, "versions": {"x": {}, "1.0.0": 7, "2.0.0": {"deprecated": True}}})
    ]

    assert await caller.run(PYPI) == "1.0"
    assert await caller.run('[each["version"] for each in package.npm(name="react")["versions"]]') == "[2.0.0, 1.0.0]"


@pytest.mark.parametrize("value", [{}, [], 7, {"versions": 7, "files": 7}], ids=str)
async def test_an_answer_of_another_shape_is_no_crash(
    caller: Caller, pypi: PlayedPypi, npm: PlayedNpm, value: Json
) -> None:
    pypi.faults, npm.faults = [Reply(200, value)], [Reply(200, value)]
    for tool in ('pypi(name="httpx")', 'npm(name="react")'):
        answer = await caller.app.runner.run(f'package.{tool}["total"]')
        assert answer.text == "0" or "does not describe a package" in answer.text, answer.text


async def test_eight_lookups_at_once_all_succeed_on_a_slow_registry(caller: Caller, pypi: PlayedPypi) -> None:
    pypi.rate = Rate(0.02, lambda left: {"retry-after": f"{left:.3f}"})
    seen = await caller.run(
        'found = ot.parallel(*[lambda: package.pypi(name="certifi") for n in range(8)])\n[each["total"] for each in found]'
    )

    assert seen == str([1] * 8)


@pytest.mark.parametrize("stuck", [fall_silent, trickle])
async def test_a_cancelled_lookup_leaves_no_connection(caller: Caller, npm: PlayedNpm, stuck: Answering) -> None:
    npm.faults = [stuck]
    async with anyio.create_task_group() as tasks:
        arrived = npm.arrived
        tasks.start_soon(caller.app.runner.run, NPM)
        with anyio.fail_after(60):
            await arrived.wait()
        closed = npm.closed
        tasks.cancel_scope.cancel()
    with anyio.fail_after(60):
        while npm.connections:
            await closed.wait()


async def test_a_refused_token_is_named_by_its_file_and_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with play(PlayedNpm(token="another")) as npm, open_person(tmp_path, monkeypatch) as (app, home, _):
        place = f"//127.0.0.1:{npm.port}/:_authToken"
        file = write(home, ".npmrc", f"registry={npm.address}\n{place}={TOKEN}\n")
        answer = await app.runner.run(NPM)

        write(home, ".npmrc", f"registry={npm.address}\n{place}=größer\n")
        foreign = await app.runner.run(NPM)

    assert f"the token in {file} ({place}) contains non-ASCII characters" in foreign.text
    assert f"The token in {file} ({place}) is not accepted" in answer.text
    assert "Bearer *** is not authorized" in answer.text  # the registry repeats it in its answer
    assert TOKEN not in answer.text


async def test_a_token_opens_a_private_registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = base64.b64encode(b"me:secret-of-the-tests").decode()
    async with (
        play(PlayedNpm(token=TOKEN)) as npm,
        play(PlayedPypi(token=secret)) as pypi,
        open_person(tmp_path, monkeypatch) as (app, home, _),
    ):
        write(home, ".npmrc", f"registry={npm.address}\n//127.0.0.1:{npm.port}/:_authToken={TOKEN}\n")
        write(home, ".netrc", "machine 127.0.0.1 login me password secret-of-the-tests\n")
        monkeypatch.setenv("PIP_INDEX_URL", pypi.index)

        assert [(await app.runner.run(code)).text for code in (PYPI, NPM)] == ["0.28.1", "19.0.0"]


async def test_a_token_does_not_follow_a_redirect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with (
        play(PlayedNpm(token=TOKEN)) as npm,
        play(PlayedNpm()) as other,
        open_person(tmp_path, monkeypatch) as (app, home, _),
    ):
        write(home, ".npmrc", f"registry={npm.address}\n//127.0.0.1:{npm.port}/:_authToken={TOKEN}\n")
        write(home, ".onetool/onetool.yaml", f"packs: {{package: {{allow: ['127.0.0.1:{other.port}']}}}}\n")
        await app.runner.run("ot.reload()")
        npm.faults = [Reply(302, "", {"location": f"{other.address}/react"})]
        answer = await app.runner.run(NPM)

    assert answer.text == "19.0.0"
    assert "authorization" not in other.requests[0].headers


async def test_a_project_cannot_name_the_registry_that_gets_a_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        play(PlayedNpm(token=TOKEN)) as npm,
        play(PlayedNpm()) as evil,
        open_person(tmp_path, monkeypatch) as (app, home, project),
    ):
        write(home, ".npmrc", f"registry={npm.address}\n//127.0.0.1:{npm.port}/:_authToken={TOKEN}\n")
        write(project, ".npmrc", f"@corp:registry={evil.address}\n//127.0.0.1:{evil.port}/:_authToken=${{TOKEN}}\n")
        write(project, "package.json", json.dumps({"dependencies": {"@corp/inner": "^1.0.0", "react": "^18"}}))
        seen = await value_from(app.executor, "package.outdated", {})

    assert [each["name"] for each in seen["packages"]] == ["react"]
    [problem] = seen["problems"]
    assert problem["name"] == "@corp/inner"
    assert f"from {evil.address}, which was not asked" in problem["reason"]
    assert evil.requests == []
    assert [request.path for request in npm.requests] == ["/react"]  # nor is an inner name told to another registry


async def test_a_password_is_not_shown_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with play(PlayedPypi()) as pypi, open_person(tmp_path, monkeypatch) as (app, _, _):
        monkeypatch.setenv("PIP_INDEX_URL", f"http://me:secret-of-the-tests@127.0.0.1:{pypi.port}/simple")
        pypi.faults = [Reply(403, {"message": "me may not come in with secret-of-the-tests"})]
        answer = await app.runner.run(PYPI)

    assert "me may not come in with ***" in answer.text
    assert "The token in PIP_INDEX_URL is not accepted" in answer.text


FROM_ELSEWHERE = {
    "uv.lock": '[[package]]\nname = "inner-tool"\nversion = "0.1"\nsource = {{ registry = "{evil}" }}\n',
    "pyproject.toml": (
        '[project]\ndependencies = ["inner-tool"]\n[tool.uv.sources]\ninner-tool = {{ index = "corp" }}\n'
        '[[tool.uv.index]]\nname = "corp"\nurl = "{evil}"\n'
    ),
    "uv.toml": '[[index]]\nurl = "{evil}"\ndefault = true\n',
    "requirements.txt": "--index-url {evil}\ninner-tool\n",
}


@pytest.mark.parametrize("file", FROM_ELSEWHERE)
async def test_an_index_that_only_a_project_names_is_not_asked(
    caller: Caller, project: Path, pypi: PlayedPypi, file: str
) -> None:
    if file != "requirements.txt":
        (project / "pyproject.toml").write_text('[project]\ndependencies = ["inner-tool"]\n')
    async with play(PlayedPypi()) as evil:
        (project / file).write_text(FROM_ELSEWHERE[file].format(evil=f"http://me:secret@127.0.0.1:{evil.port}/simple"))
        seen = await value_from(caller.app.executor, "package.outdated", {"path": str(project)})

    assert [each["name"] for each in seen["problems"]] == ["inner-tool"]
    assert f"from {evil.index}, which was not asked" in seen["problems"][0]["reason"]
    assert evil.requests == pypi.requests == []


async def test_the_first_index_that_has_a_name_answers_for_it(
    caller: Caller, pypi: PlayedPypi, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with play(PlayedPypi(PlayedPypi().wheels[:1])) as inner:
        monkeypatch.setenv("PIP_EXTRA_INDEX_URL", inner.index)

        assert await caller.run(PYPI) == "0.27.0"  # although the other one has a newer one
        assert pypi.requests == []
        assert await caller.run('package.pypi(name="pydantic")["newest"]["version"]') == "2.12.0"

        inner.faults = [Reply(403, {"message": "no"})]
        assert "refuses to answer" in await caller.mistake(PYPI)
        assert [request.path for request in pypi.requests if "httpx" in request.path] == []


async def test_metadata_elsewhere_in_the_own_network_is_not_read(
    caller: Caller, pypi: PlayedPypi, npm: PlayedNpm
) -> None:
    file = {"filename": "httpx-1.0-py3-none-any.whl", "url": f"{npm.address}/httpx-1.0-py3-none-any.whl"}
    pypi.faults = [Reply(200, {"files": [dict(file)]})]
    text = await caller.run(f"{PYPI}")

    assert text.startswith("1.0")
    assert "to packs.package.allow" in text
    assert npm.requests == []


@pytest.mark.parametrize(
    "text", ["[[", "[" * 100_000, '{"dependencies": 7}', "\x00\xff", "[project]\ndependencies = 7"]
)
async def test_files_of_a_project_that_make_no_sense_are_told(caller: Caller, project: Path, text: str) -> None:
    for name in (
        "pyproject.toml",
        "package.json",
        "requirements.txt",
        "uv.lock",
        "package-lock.json",
        ".npmrc",
        "yarn.lock",
    ):
        (project / name).write_text(text)
    seen = await value_from(caller.app.executor, "package.outdated", {"path": str(project), "indirect": True})

    assert seen["packages"] == []
    assert seen["problems"]
