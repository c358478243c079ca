"""`onetool add FILE.mcpb` of type uv, with real uv and an index of the tests, and hostile bundles of that type."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_cli_add import Finished, Shop, wheel
from tests.e2e.test_cli_bundles import Write, bomb, bundle_of, link, manifest
from tests.services.mcp_registry import PlayedMcpRegistry
from tests.services.npm import PlayedNpm
from tests.services.played import play
from tests.services.pypi import PlayedPypi, Wheel

SERVER = "from sky_mcp.server import main\nfrom cloud.words import WORD\nassert WORD == 'high'\nmain()\n"
PYPI = 'registry = "https://pypi.org/simple"'
OWN = '{ virtual = "." }'
PREPARED = "run", "--directory", "${__dirname}", "--no-dev"
BUILD = '[build-system]\nrequires = []\nbuild-backend = "evil"\nbackend-path = ["."]\n'
EVIL = "import pathlib\npathlib.Path.home().joinpath('ran').touch()\n"


@dataclass(frozen=True, slots=True)
class Source(Wheel):
    """A release that must be built, by a program of its own."""

    @property
    def file(self) -> str:
        return f"{self.name}-{self.version}.tar.gz"

    @property
    def content(self) -> bytes:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
            for name, text in {"pyproject.toml": BUILD, "evil.py": EVIL}.items():
                item = tarfile.TarInfo(f"{self.name}-{self.version}/{name}")
                item.size = len(text)
                archive.addfile(item, io.BytesIO(text.encode()))
        return buffer.getvalue()


WHEELS = (wheel("sky_mcp", "1.0.0"), wheel("sky_mcp", "2.0.0"), Wheel("other", "1.0.0"), Source("built", "1.0.0"))


def about(*arguments: str, **server: Any) -> dict[str, Any]:
    config = {"command": "uv", "args": [*PREPARED, "src/cloud/server.py", *arguments]}
    return manifest(**{"type": "uv", "entry_point": "src/cloud/server.py", "mcp_config": config, **server})


def files(*needs: str, more: str = "", lock: str = "", **others: str) -> dict[str, str]:
    """A project whose server imports its own package, as one that was installed could."""
    project = '[project]\nname = "cloud"\nversion = "1.0.0"\nrequires-python = ">=3.11"\n'
    project += f"dependencies = {json.dumps(needs)}\n"
    own = {"src/cloud/__init__.py": "", "src/cloud/words.py": "WORD = 'high'\n", "src/cloud/server.py": SERVER}
    return {"pyproject.toml": project + more, **own, **({"uv.lock": lock} if lock else {}), **others}


def lock_of(version: str = "1.0.0", *, digest: str = "", source: str = PYPI, own: str = OWN, marker: str = "x'") -> str:
    """A lock that has one wheel of the index."""
    found = digest or hashlib.sha256(next(each for each in WHEELS if each.version == version).content).hexdigest()
    url = f"https://files.pythonhosted.org/packages/sky_mcp-{version}-py3-none-any.whl"
    return (
        f'version = 1\nrevision = 3\nrequires-python = ">=3.11"\n\n[[package]]\nname = "cloud"\nversion = "1.0.0"\n'
        f'source = {own}\ndependencies = [{{ name = "sky-mcp", marker = "sys_platform != \'{marker}" }}]\n\n'
        f'[[package]]\nname = "sky-mcp"\n'
        f'version = "{version}"\nsource = {{ {source} }}\nwheels = [{{ url = "{url}", hash = "sha256:{found}" }}]\n'
    )


def lock_of_source() -> str:
    """A lock that has a release which must be built."""
    [source] = (each for each in WHEELS if isinstance(each, Source))
    digest = hashlib.sha256(source.content).hexdigest()
    lock = lock_of(digest=digest).replace("sky-mcp", "built").replace("sky_mcp-1.0.0-py3-none-any.whl", source.file)
    return lock.replace("wheels = [{", "sdist = {").replace(f'{digest}" }}]', f'{digest}" }}')


class Counter:
    """A shop, and the file that is added."""

    def __init__(self, shop: Shop, folder: Path) -> None:
        self.shop, self.file = shop, folder / "weather.mcpb"
        self.brought = shop.folder / "state" / "brought_servers"

    def pack(self, described: dict[str, Any], inside: dict[str, str], more: Write = lambda _: None) -> None:
        self.file.write_bytes(bundle_of(described, inside, more))

    async def add(self, *arguments: str) -> Finished:
        return await self.shop.add(str(self.file), *arguments)

    def versions(self) -> list[str]:
        lines = (self.brought / "weather" / "current" / "requirements.txt").read_text().splitlines()
        return [line.partition(" ")[0] for line in lines if "==" in line]

    def ran(self) -> list[Path]:
        return [*self.shop.home.rglob("ran"), *self.shop.project.rglob("ran")]


@pytest.fixture(scope="module")
async def services() -> AsyncIterator[Shop]:
    async with play(PlayedMcpRegistry()) as registry, play(PlayedNpm(())) as npm, play(PlayedPypi(WHEELS)) as pypi:
        yield Shop(registry, npm, pypi)


@pytest.fixture
def counter(services: Shop, tmp_path: Path) -> Counter:
    services.furnish(tmp_path)
    services.pypi.requests.clear()
    return Counter(services, tmp_path)


async def test_a_bundle_is_installed_from_wheels_confined_tried_and_written_down(counter: Counter) -> None:
    described = about("--data=${__dirname}/data", "${HOME} ${user_config.unit}")
    described["server"]["mcp_config"]["env"] = {"API_KEY": "${user_config.key}"}
    described["user_config"] = {"unit": {"default": "C"}, "key": {"sensitive": True, "required": True}}
    counter.pack(described, files("sky-mcp>=1", **{"data/x.txt": "x"}))
    (counter.shop.folder / "secrets.yaml").write_text("KEY: sesame-open-81")
    (counter.shop.folder / "secrets.yaml").chmod(0o600)

    finished = await counter.add("--secret", "key=KEY")
    called = await counter.shop.run("run", "weather.echo(text='blue')")

    link = counter.brought / "weather" / "current"
    assert finished.returncode == 0, finished.stderr
    assert counter.shop.servers()["weather"] == {
        "command": f"{link}/venv/bin/python",
        "args": [f"{link}/bundle/src/cloud/server.py", f"--data={link}/bundle/data", "$${HOME} C"],
        "env": {"API_KEY": "${KEY}"},
        "confine": {"read": [f"{link}/bundle"]},
    }
    assert called.stdout == "blue\n"
    assert counter.versions() == ["sky-mcp==2.0.0"]
    assert "--hash=sha256:" in (link / "requirements.txt").read_text()


async def test_the_lock_of_a_bundle_decides_which_versions_are_installed(counter: Counter) -> None:
    counter.pack(about(), files("sky-mcp", lock=lock_of()))

    finished = await counter.add()

    assert finished.returncode == 0, finished.stderr
    assert counter.versions() == ["sky-mcp==1.0.0"]


async def test_constraints_of_a_project_hold_where_it_has_no_lock(counter: Counter) -> None:
    counter.pack(
        about(), files("sky-mcp", more='[tool.uv]\npackage = false\nconstraint-dependencies = ["sky-mcp<2"]\n')
    )

    finished = await counter.add()

    assert finished.returncode == 0, finished.stderr
    assert counter.versions() == ["sky-mcp==1.0.0"]


async def test_a_bundle_that_needs_nothing_and_says_nothing_of_uv_is_started(counter: Counter) -> None:
    server = wheel("sky_mcp").files["sky_mcp/server.py"] + "\nmain()\n"
    described = manifest(type="uv", entry_point="server.py", mcp_config={})
    counter.pack(described, {"pyproject.toml": '[project]\nname = "x"\nversion = "1"\n', "server.py": server})

    finished = await counter.add()

    assert finished.returncode == 0, finished.stderr
    assert counter.shop.pypi.requests == []


async def test_the_build_backend_of_a_bundle_is_never_run(counter: Counter) -> None:
    counter.pack(about(), files("sky-mcp", more=BUILD, lock=lock_of(own='{ editable = "." }'), **{"evil.py": EVIL}))

    finished = await counter.add()

    assert finished.returncode == 0, finished.stderr
    assert counter.ran() == []


@pytest.mark.parametrize(
    ("inside", "words"),
    [
        (files("built"), "no usable wheels"),
        (files("absent"), "absent was not found"),
        (files("sky-mcp>=3"), "No solution found"),
        (files("sky-mcp", lock=lock_of(digest="0" * 64)), "Hash mismatch"),
        (files("built", lock=lock_of_source()), "no usable wheels"),
        (files("sky-mcp", lock=lock_of(digest="0\\n--find-links=/tmp/evil")), "uv says"),
        (files("sky-mcp", lock=lock_of(marker="x\\n--find-links=/tmp/evil\\n#'")), "'--find-links=/tmp/evil' in it"),
        (files("sky-mcp", lock=lock_of().replace("[[package]]", "", 1)), "its uv.lock is not TOML"),
        (files("sky-mcp", lock='version = "x"\n'), "uv says"),
        ({**files(), "src/cloud/server.py": "raise SystemExit(3)"}, "weather was not added"),
    ],
)
async def test_what_cannot_be_installed_or_started_leaves_nothing(
    counter: Counter, inside: dict[str, str], words: str
) -> None:
    counter.pack(about(), inside)

    finished = await counter.add()

    assert (finished.returncode, words in finished.stderr) == (1, True), finished.stderr
    assert counter.shop.servers() == {}
    assert ([*counter.brought.glob("*/*")], counter.ran()) == ([], [])


def uv(text: str) -> dict[str, str]:
    return files("sky-mcp", more=f"[tool.uv]\n{text}\n")


@pytest.mark.parametrize(
    ("inside", "words"),
    [
        (uv('index-url = "https://evil.example/simple"'), "sets tool.uv.index-url"),
        (uv('extra-index-url = ["https://evil.example/simple"]'), "sets tool.uv.extra-index-url"),
        (uv('find-links = ["wheels"]'), "sets tool.uv.find-links"),
        (uv("no-build-isolation = true"), "sets tool.uv.no-build-isolation"),
        (uv('[[tool.uv.index]]\nurl = "https://evil.example/simple"\ndefault = true'), "sets tool.uv.index"),
        (uv('[tool.uv.sources]\nsky-mcp = { git = "https://evil.example/sky" }'), "sets tool.uv.sources"),
        (uv('[tool.uv.sources]\nsky-mcp = { path = "../../secret" }'), "sets tool.uv.sources"),
        (uv('[tool.uv.workspace]\nmembers = ["../*"]'), "sets tool.uv.workspace"),
        (uv('[tool.uv.pip]\nindex-url = "https://evil.example"'), "sets tool.uv.pip"),
        (uv('constraint-dependencies = ["sky-mcp @ https://evil.example/sky.whl"]'), "not a package of the index"),
        (files("sky-mcp", **{"uv.toml": 'index-url = "https://evil.example"'}), "brings settings of uv ('uv.toml')"),
        (files("sky-mcp", **{"src/UV.toml": ""}), "brings settings of uv"),
        (files("sky-mcp @ https://evil.example/sky.whl"), "not a package of the index"),
        (files("git+https://evil.example/sky"), "not a package of the index"),
        (files("-r/etc/passwd"), "not a package of the index"),
        (files("./wheels/sky.whl"), "not a package of the index"),
        (files("sky-mcp\n--index-url=https:evil"), "not a package of the index"),
        (files(more='dynamic = ["dependencies"]\n'), "only its build backend knows its dependencies"),
        (files(more=f"{'a.' * 4000}b = 1\n"), "a line of more than 5,000 characters"),
        (files(more=f"x = {'[' * 4000}\n"), "is not TOML"),
        ({"src/cloud/server.py": SERVER}, "it has no pyproject.toml"),
        *(
            ({**files(), "pyproject.toml": files()["pyproject.toml"].replace(">=3.11", python)}, "it needs Python")
            for python in (">=3.11,<3", ">99", "==3.*,!=3.*", "~=3.99", "<=3", "==3.0", "; evil")
        ),
        ({**files(), "pyproject.toml": "[tool.other]"}, "gives no valid name"),
        ({**files(), "pyproject.toml": '[project]\nname = "../x"'}, "gives no valid name"),
        (files("sky-mcp", lock=lock_of(source='registry = "https://evil.example/simple"')), "from elsewhere than"),
        (files("sky-mcp", lock=lock_of(source='git = "https://evil.example/sky#0"')), "from elsewhere than"),
        (files("sky-mcp", lock=lock_of(source='url = "https://evil.example/sky.whl"')), "from elsewhere than"),
        (files("sky-mcp", lock=lock_of(source='path = "../../sky.whl"')), "from elsewhere than"),
        (files("sky-mcp", lock=lock_of(own='{ editable = "../.." }')), "from elsewhere than"),
    ],
)
async def test_a_project_that_takes_packages_from_elsewhere_is_refused_before_anything_is_asked(
    counter: Counter, inside: dict[str, str], words: str
) -> None:
    counter.pack(about(), inside)

    finished = await counter.add()

    assert (finished.returncode, words in finished.stderr) == (1, True), finished.stderr
    assert (counter.shop.servers(), counter.shop.pypi.requests) == ({}, [])
    assert not counter.brought.exists()


def given(*arguments: str, **config: Any) -> dict[str, Any]:
    return {"mcp_config": {"command": "uv", "args": [*arguments], **config}}


@pytest.mark.parametrize(
    ("server", "more", "words"),
    [
        (given("run", "--with", "evil", "src/cloud/server.py"), None, "arguments for the program that starts it"),
        (given("run", "--index=https://evil.example", "src/cloud/server.py"), None, "arguments for the program"),
        (given("run", "--directory", "/", "src/cloud/server.py"), None, "arguments for the program"),
        (given("run", "--env-file=/src/cloud/server.py"), None, "arguments for the program"),
        (given("run", "-m", "cloud"), None, "arguments for the program"),
        (given("tool", "run", "evil"), None, "arguments for the program"),
        (given("-c", "evil", command="bash"), None, "it names a program to start it with"),
        (given(env={"UV_INDEX_URL": "https://evil.example"}), None, "it sets the variable UV_INDEX_URL"),
        (given(env={"LD_PRELOAD": "${__dirname}/x.so"}), None, "it sets the variable LD_PRELOAD"),
        (given(env={"PYTHONPATH": "/tmp"}), None, "it sets the variable PYTHONPATH"),
        ({"entry_point": "pyproject.toml", "mcp_config": {}}, None, "is not a file of Python"),
        ({"entry_point": "../../../note.py", "mcp_config": {}}, None, "names a program that is not in it"),
        ({"entry_point": "src/absent.py", "mcp_config": {}}, None, "names a program that is not in it"),
        ({}, link("src/cloud/other.py", "../../../../note"), "is a link or no plain file"),
        ({}, link("venv", "/usr"), "is a link or no plain file"),
        ({}, lambda archive: archive.writestr("../venv/bin/python", "x"), "leads outside of its folder"),
        ({}, lambda archive: archive.writestr("/tmp/outside", "x"), "leads outside of its folder"),
        ({}, lambda archive: archive.writestr("PyProject.toml", "x"), "is in it twice"),
        pytest.param({}, bomb, "500,000,000 bytes", marks=pytest.mark.long),  # as in test_cli_bundles.py
    ],
)
async def test_a_hostile_bundle_of_type_uv_is_refused_and_leaves_nothing(
    counter: Counter, server: dict[str, Any], more: Write | None, words: str
) -> None:
    counter.pack(about(**server), files("sky-mcp"), more or (lambda _: None))

    finished = await counter.add()

    assert (finished.returncode, words in finished.stderr) == (1, True), finished.stderr
    assert (counter.shop.servers(), counter.shop.pypi.requests) == ({}, [])
    assert not [*counter.brought.glob("*/*")]


async def test_a_bundle_cannot_reach_beyond_its_own_files_and_sees_no_secret(counter: Counter) -> None:
    """Its server dies where it can read a note of the person, or finds a variable of theirs."""
    spying = (
        "import os, pathlib\ntry:\n    pathlib.Path.home().joinpath('note').read_text()\nexcept OSError:\n    pass\n"
    )
    spying += "else:\n    raise SystemExit(5)\nassert 'UV_DEFAULT_INDEX' not in os.environ\n"
    counter.pack(about(), {**files("sky-mcp"), "src/cloud/server.py": spying + SERVER})

    finished = await counter.add()

    assert finished.returncode == 0, finished.stderr


async def test_a_newer_file_in_the_place_of_the_old_one_is_an_update(counter: Counter) -> None:
    counter.pack(about(), files("sky-mcp<2"))
    added = await counter.add()

    same = await counter.shop.run("update", "--yes")
    counter.pack({**about(), "version": "0.9.0"}, files("sky-mcp"))
    older = await counter.shop.run("update", "--yes")
    counter.pack({**about(), "version": "1.10.0", "name": "other"}, files("sky-mcp"))
    other = await counter.shop.run("update", "--yes")
    counter.pack({**about(), "version": "1.10.0"}, files("sky-mcp"))
    shown, updated = await counter.shop.run("update"), await counter.shop.run("update", "--yes")
    versions, called = counter.versions(), await counter.shop.run("run", "weather.echo(text='blue')")
    back = await counter.shop.run("update", "--back", "weather")
    versions_back = counter.versions()
    counter.file.unlink()
    gone, removed = await counter.shop.run("update"), await counter.shop.run("remove", "weather", "--yes")

    assert added.returncode == 0, added.stderr
    assert "1.0.0 is the latest version" in same.stdout
    assert "1.0.0 is the latest version" in older.stdout
    assert "is another bundle, other, which is not taken" in other.stderr
    assert "1.0.0 stays in use" in shown.stdout, shown.stderr
    assert "1.10.0 is used now" in updated.stdout, updated.stderr
    assert (versions, called.stdout) == (["sky-mcp==2.0.0"], "blue\n")
    assert ("1.0.0 is used again" in back.stdout, versions_back) == (True, ["sky-mcp==1.0.0"])
    assert "which is not there; remove it, and add the new file" in gone.stderr
    assert (removed.returncode, [*counter.brought.glob("*")]) == (0, [])
