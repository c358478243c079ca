"""Answers depend on everything that a server reads at its start, and on what a person has trusted."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from onetool.porch.dependencies import Dependencies
from onetool.porch.remembering import find_dependencies
from ot.config.loader import load_config
from ot.config.paths import state_folder
from ot.trust.store import TrustStore
from tests.trusting import trust_project

ENVIRON = {"KEY": "value"}


class Setting(NamedTuple):
    home: Path
    project: Path

    def write(self, path: str, text: str) -> None:
        file = self.home.parent / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o600)


@pytest.fixture
def setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Setting:
    made = Setting(tmp_path / "home", tmp_path / "projects" / "one")
    made.write("home/.onetool/onetool.yaml", "include: [more.yaml]\nservers: {s: {url: 'https://a.b/${KEY}'}}")
    made.write("home/.onetool/more.yaml", "packs: {demo: {enabled: true}}")
    made.write("home/.onetool/tools/own.py", "x = 1")
    made.write("projects/one/.onetool/onetool.yaml", "aliases: {up: demo.upper}")
    made.write("projects/one/.onetool/tools/its.py", "x = 1")
    (made.project / "inside").mkdir()
    monkeypatch.chdir(made.project / "inside")
    return made


def depends_on(setting: Setting) -> Dependencies:
    loaded = load_config(environ=ENVIRON, cwd=Path.cwd(), home=setting.home, tolerant=True)
    return find_dependencies(loaded)


CHANGES: dict[str, Callable[[Setting], object]] = {
    "the person's file": lambda s: s.write("home/.onetool/onetool.yaml", "{}"),
    "a file that it includes": lambda s: s.write("home/.onetool/more.yaml", "{}"),
    "prompts": lambda s: s.write("home/.onetool/prompts.yaml", "{}"),
    "secrets": lambda s: s.write("home/.onetool/secrets.yaml", "A: b"),
    "a misnamed file": lambda s: s.write("home/.onetool/onetool.yml", "{}"),
    "an extension": lambda s: s.write("home/.onetool/tools/own.py", "x = 2"),
    "a new skill": lambda s: s.write("home/.onetool/skills/new.py", "x = 1"),
    "the project's file": lambda s: s.write("projects/one/.onetool/onetool.yaml", "{}"),
    "the project's extension": lambda s: s.write("projects/one/.onetool/tools/its.py", "x = 2"),
    "a project that is nearer": lambda s: s.write("projects/one/inside/.onetool/onetool.yaml", "{}"),
    "a folder that is somebody's repository": lambda s: s.write("projects/one/.git", "gitdir: elsewhere"),
    "trust": lambda s: trust_project(s.project, s.home),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_a_server_reads_at_its_start_is_depended_on(setting: Setting, name: str) -> None:
    dependencies = depends_on(setting)
    before = dependencies.digest(ENVIRON, b"")

    CHANGES[name](setting)

    assert dependencies.digest(ENVIRON, b"") != before


def test_answers_given_under_a_trust_do_not_outlive_it(setting: Setting) -> None:
    trust_project(setting.project, setting.home)
    dependencies = depends_on(setting)
    before = dependencies.digest(ENVIRON, b"")

    TrustStore(state_folder(setting.home)).revoke(setting.project)

    assert dependencies.digest(ENVIRON, b"") != before


def test_a_variable_that_a_file_asks_for_is_depended_on(setting: Setting) -> None:
    dependencies = depends_on(setting)

    assert dependencies.digest(ENVIRON, b"") != dependencies.digest({"KEY": "other"}, b"")


def test_what_has_changed_while_the_server_started_is_seen(setting: Setting) -> None:
    dependencies = depends_on(setting)
    file = setting.home / ".onetool" / "more.yaml"

    assert dependencies.changed_since(file.stat().st_ctime)
    assert not dependencies.changed_since(file.stat().st_ctime + 60)


def test_the_porch_loads_nothing_but_the_standard_library() -> None:
    check = (
        "import sys, onetool.porch.start, onetool.porch.porch, ot.kernel.zygote_process\n"
        "print(*{'pydantic', 'anyio', 'mcp', 'mcp_types', 'yaml', 'argparse', 'ot.app'} & set(sys.modules))"
    )

    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == ""
