"""`onetool upgrade`, as OneTool is installed by uv, by pip, as pipx does it, in a checkout and in a bundle."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_core.distribution import DISTRIBUTION, VERSION
from tests.wheel.newcomer import NEWER, ROOT, Person

pytestmark = [pytest.mark.release, pytest.mark.xdist_group("wheel")]


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
