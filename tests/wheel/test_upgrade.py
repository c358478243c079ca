"""`onetool upgrade`, as OneTool is installed by uv, by pip, as pipx does it, in a checkout and in a bundle."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_core.distribution import DISTRIBUTION, VERSION
from tests.availability import report_missing
from tests.wheels import serve_index

pytestmark = pytest.mark.xdist_group("wheel")

ROOT = Path(__file__).parents[2]
NEWER = f"{VERSION}.1"
_UV = Path(sys.executable).with_name("uv")


class Person:
    """Somebody whose package index has OneTool, and all that it needs."""

    def __init__(self, folder: Path, index: str) -> None:
        self.folder, self.programs, self.venv = folder, folder / "bin", folder / "bundle" / ".venv"
        (folder / "home").mkdir()
        cache = subprocess.run([_UV, "cache", "dir"], check=True, capture_output=True, text=True).stdout.strip()
        self.environ = {name: value for name, value in os.environ.items() if not name.startswith(("UV_", "PIP_"))} | {
            "HOME": str(folder / "home"), "PATH": f"{_UV.parent}:/usr/bin:/bin", "UV_CACHE_DIR": cache,
            "UV_INDEX": f"played={index}", "UV_CONSTRAINT": str(ROOT / "requirements.txt"), "PIP_INDEX_URL": index,
            "UV_TOOL_DIR": str(folder / "tools"), "UV_TOOL_BIN_DIR": str(self.programs), "PIP_NO_INPUT": "1",
        }  # fmt: skip

    def type(self, *words: object, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(word) for word in words], cwd=self.folder, env=self.environ | environ, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip

    def install(self, *words: object) -> None:
        for offline in ("1", "0"):  # what it needs is in the cache, if that has ever been installed
            done = self.type(_UV, *words, UV_OFFLINE=offline)
            if done.returncode == 0:
                return
        report_missing("what OneTool needs", remedy=f"uv needs a network, or a cache that holds it: {done.stderr}")


@pytest.fixture
def index(wheel: Path, tmp_path: Path) -> Path:
    """A folder of wheels: of this version, and of a newer one."""
    folder = tmp_path / "index"
    folder.mkdir()
    for version in (VERSION, NEWER):
        (folder / wheel.name.replace(VERSION, version)).write_bytes(_renumbered(wheel, version))
    return folder


@pytest.fixture
def person(index: Path, tmp_path: Path) -> Iterator[Person]:
    with serve_index(index, names=(DISTRIBUTION,)) as address:
        yield Person(tmp_path, address)


def test_uv_and_pip_bring_the_version_that_was_found(person: Person) -> None:
    person.install("venv", "--quiet", "--clear", "--seed", "--python", sys.executable, person.venv)
    person.install("pip", "install", "--python", person.venv / "bin/python", f"{DISTRIBUTION}=={VERSION}")
    person.install("tool", "install", "--python", sys.executable, f"{DISTRIBUTION}=={VERSION}")
    # What a person wants who has named a version; `uv tool upgrade` would keep it.
    receipt = person.folder / "tools" / DISTRIBUTION / "uv-receipt.toml"
    receipt.write_text(receipt.read_text().replace(f', specifier = "=={VERSION}"', ""))

    for program, how in (
        (person.programs / "onetool", f"uv tool upgrade {DISTRIBUTION}"),
        (person.venv / "bin/onetool", f"{person.venv}/bin/python -m pip install --upgrade {DISTRIBUTION}"),
    ):
        before = person.type(program, "upgrade", "--check")
        told = person.type(program, "upgrade")
        done = person.type(program, "upgrade", "--yes")
        after = person.type(program, "upgrade", "--check")

        assert before.stdout == f"OneTool {NEWER} is there; this is {VERSION}. `onetool upgrade` brings it.\n"
        assert (before.returncode, before.stderr) == (1, "")
        assert f"\n    {how}\n" in told.stdout
        assert done.returncode == 0, done.stderr
        assert person.type(program, "--version").stdout == f"onetool {NEWER}\n"
        assert (after.stdout, after.returncode) == (f"OneTool {NEWER} is the newest version.\n", 0), after.stderr
    unreachable = person.type(program, "upgrade", "--check", UV_INDEX="played=http://127.0.0.1:9")
    assert unreachable.returncode == 1
    assert f"the index gave no version of {DISTRIBUTION}" in unreachable.stderr


def test_what_came_from_a_file_is_upgraded_by_another_file(person: Person, wheel: Path, tmp_path: Path) -> None:
    person.install("venv", "--quiet", "--clear", "--python", sys.executable, person.venv)
    person.install("pip", "install", "--python", person.venv / "bin/python", wheel)

    def say(*words: str) -> str:
        done = person.type(person.venv / "bin/onetool", "upgrade", *words)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    assert f"was installed by pip, in {person.venv}.\nIt came from {wheel.as_uri()}. Install the newer file" in say()
    assert say("--check") == f"OneTool {VERSION} comes from {wheel.as_uri()}, and no index was asked.\n"
    (person.venv / "pipx_metadata.json").write_text("{}")
    assert f"was installed by pipx, in {person.venv}.\n" in say()
    (person.venv / "pipx_metadata.json").unlink()
    shutil.copy(ROOT / "publishing/bundle/manifest.json", person.venv.parent)
    assert f"is the bundle that a client has installed in {person.venv}.\nOpen the newer bundle" in say()


def test_a_checkout_is_brought_up_to_date_by_git() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "onetool", "upgrade"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=60, check=True,
    )  # fmt: skip

    assert done.stdout.startswith(f"OneTool {VERSION} runs from the checkout {ROOT}.\n")
    assert f"\n    git -C {ROOT} pull --ff-only && make -C {ROOT} setup\n" in done.stdout


def _renumbered(wheel: Path, version: str) -> bytes:
    """Return the wheel as if it were of another version, without the component, which is most of it."""
    made = io.BytesIO()
    with zipfile.ZipFile(wheel) as archive, zipfile.ZipFile(made, "w") as copy:
        for name in archive.namelist():
            content = archive.read(name)
            if name.endswith("/METADATA"):
                content = re.sub(rb"(?m)^Version: .*$", f"Version: {version}".encode(), content, count=1)
            if name == "mcp_core/distribution.py":
                content = content.replace(f'"{VERSION}"'.encode(), f'"{version}"'.encode())
            if name.endswith("/RECORD"):
                content = re.sub(rb"(?m)^(\S+),sha256=\S*,\d+$", rb"\1,,", content).replace(
                    f"-{VERSION}.".encode(), f"-{version}.".encode()
                )
            if not name.endswith(("kernel.wasm", "kernel.wasm.sources")):
                copy.writestr(zipfile.ZipInfo(name.replace(f"-{VERSION}.", f"-{version}.")), content)
    return made.getvalue()
