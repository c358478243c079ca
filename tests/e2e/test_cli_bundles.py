"""`onetool add FILE.mcpb`, with archives as `mcpb pack` writes them, and with hostile ones."""

from __future__ import annotations

import hashlib
import io
import json
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.availability import require_program
from tests.e2e.raw_server import environment_of
from tests.e2e.test_cli_add import NODE_SERVER, Finished
from tests.preloaded import run_preloaded
from tests.proxied import PROGRAMS

SERVER = NODE_SERVER.replace("TOOLS", '["look"]')


def manifest(**server: Any) -> dict[str, Any]:
    config = {"command": "node", "args": ["${__dirname}/server/index.js"]}
    usual = {"type": "node", "entry_point": "server/index.js", "mcp_config": config}
    about = {"manifest_version": "0.4", "name": "weather", "version": "1.0.0", "description": "Weather"}
    return {**about, "author": {"name": "Alice"}, "server": {**usual, **server}}


Write = Callable[[zipfile.ZipFile], None]


def bundle_of(about: dict[str, Any], files: dict[str, str], more: Write = lambda _: None) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in {"manifest.json": json.dumps(about), **files}.items():
            archive.writestr(name, text)
        more(archive)
    return buffer.getvalue()


class Place:
    def __init__(self, folder: Path) -> None:
        require_program("node")
        self.home, self.file = folder / "home", folder / "weather.mcpb"
        self.folder = self.home / ".onetool"
        self.folder.mkdir(parents=True)
        self.config = self.folder / "onetool.yaml"
        (self.home / "note").write_text("of the person")

    def pack(self, about: dict[str, Any], files: dict[str, str], more: Write = lambda _: None) -> str:
        content = bundle_of(about, files, more)
        self.file.write_bytes(content)
        return hashlib.sha256(content).hexdigest()

    def run(self, *arguments: str) -> Finished:
        return run_preloaded(*arguments, cwd=self.home, env=environment_of(self.home))

    def add(self, *arguments: str) -> Finished:
        return self.run("add", "--yes", str(self.file), *arguments)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_bundle_is_unpacked_confined_tried_and_written_down(place: Place) -> None:
    config = {
        "command": "node",
        "args": ["${__dirname}/server/index.js", "--data=${__dirname}/data", "${HOME} ${user_config.unit}"],
        "env": {"API_KEY": "${user_config.key}"},
    }
    about = manifest(mcp_config=config)
    about["user_config"] = {"unit": {"default": "C"}, "key": {"sensitive": True, "required": True}}
    helper = {
        "server/index.js": f"require('helper');\n{SERVER.partition(chr(10))[2]}",
        "node_modules/helper/index.js": "",
    }
    digest = place.pack(about, {**helper, "data/x.txt": "x"})
    (place.folder / "secrets.yaml").write_text("KEY: sesame-open-80")
    (place.folder / "secrets.yaml").chmod(0o600)

    finished = place.add("--secret", "key=KEY", "--sha256", digest)
    called = place.run("run", "import json\njson.loads(weather.look())")

    link = place.folder / "state" / "brought_servers" / "weather" / "current"
    assert finished.returncode == 0, finished.stderr
    assert "author: Alice (as it says itself" in finished.stdout
    assert yaml.safe_load(place.config.read_text())["servers"]["weather"] == {
        "command": "node",
        "args": [f"{link}/server/index.js", f"--data={link}/data", "$${HOME} C"],
        "env": {"API_KEY": "${KEY}"},
        "confine": {"read": [str(link)]},
    }
    answer = yaml.safe_load(called.stdout)
    assert (answer["argv"], answer["env"]["API_KEY"], answer["home"]) == (
        [f"--data={link}/data", "${HOME} C"],
        "***",
        False,
    )


def test_a_bundle_in_python_finds_the_libraries_that_it_brings(place: Place) -> None:
    config = {
        "command": "python",
        "args": ["${__dirname}/server/main.py"],
        "env": {"PYTHONPATH": "${__dirname}/server/lib"},
    }
    program = "import plain_server\nplain_server.Server().serve()\n"
    library = (PROGRAMS / "plain_server.py").read_text()
    about = manifest(type="python", entry_point="server/main.py", mcp_config=config)
    place.pack(about, {"server/main.py": program, "server/lib/plain_server.py": library})

    finished = place.add()

    assert finished.returncode == 0, finished.stderr
    assert place.run("run", "weather.echo(text='hot')").stdout == "hot\n"


def link(name: str, target: str) -> Write:
    def write(archive: zipfile.ZipFile) -> None:
        item = zipfile.ZipInfo(name)
        item.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(item, target)

    return write


def bomb(archive: zipfile.ZipFile) -> None:
    with archive.open("server/zeros", "w", force_zip64=True) as file:
        for _ in range(550):
            file.write(bytes(1_000_000))


@pytest.mark.parametrize(
    ("server", "more", "words"),
    [
        ({}, link("server/note", "../../../note"), "is a link or no plain file"),
        ({}, lambda archive: archive.writestr("../outside", "x"), "leads outside of its folder"),
        ({}, lambda archive: archive.writestr("/tmp/outside", "x"), "leads outside of its folder"),
        ({}, lambda archive: archive.writestr("a\\..\\b", "x"), "leads outside of its folder"),
        ({}, lambda archive: archive.writestr("Server/INDEX.js", "x"), "is in it twice"),
        pytest.param({}, bomb, "500,000,000 bytes", marks=pytest.mark.long),
        ({"entry_point": "../../../../note"}, None, "it names"),
        ({"type": "shell"}, None, "its manifest is not valid: server.type"),
        (
            {"mcp_config": {"args": ["-e", "evil()", "${__dirname}/server/index.js"]}},
            None,
            "names arguments for the program",
        ),
        ({"mcp_config": {"env": {"NODE_OPTIONS": "--require x"}}}, None, "it sets the variable NODE_OPTIONS"),
        ({"mcp_config": {"env": {"PYTHONPATH": "/tmp"}}}, None, "it sets the variable PYTHONPATH"),
    ],
)
def test_a_hostile_bundle_is_refused_and_leaves_nothing(
    place: Place, server: dict[str, Any], more: Write | None, words: str
) -> None:
    place.pack(manifest(**server), {"server/index.js": SERVER}, more or (lambda _: None))

    finished = place.add()

    assert (finished.returncode, words in finished.stderr) == (1, True), finished.stderr
    assert not place.config.exists()
    assert not [*place.folder.glob("state/brought_servers/*/*")]


def test_another_file_than_the_one_that_was_meant_is_refused(place: Place) -> None:
    place.pack(manifest(), {"server/index.js": SERVER})

    finished = place.add("--sha256", "0" * 64)

    assert "and not the one that was given" in finished.stderr


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"x" * 1000])
def test_what_is_no_bundle_is_refused(place: Place, content: bytes) -> None:
    place.file.write_bytes(content)

    assert "is not a bundle" in place.add().stderr
