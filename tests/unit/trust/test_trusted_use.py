"""What a project brings is used as it was trusted, whatever happens to its files in between."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ot.errors import UntrustedPackError
from tests.demo_pack import give_demo
from tests.engine import open_engine, write_extension
from tests.trusting import trust_project
from tests.unit.config.workspace import Workspace

pytestmark = pytest.mark.anyio

TRUSTED = "def f() -> str:\n    return 'trusted'\n"
WITH_HELPER = """
    import helper

    def f() -> str:
        return helper.VALUE
    """


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return give_demo(tmp_path / "home")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


async def test_a_tool_runs_as_it_was_trusted_though_its_file_changes_before_the_first_call(
    tmp_path: Path, home: Path
) -> None:
    project = tmp_path / "project"
    async with open_engine(project, extensions={"notes": TRUSTED}, home=home) as app:
        write_extension(project, "notes", "def f() -> str:\n    return 'evil'\n")
        value = await app.executor.call("notes.f", {})  # nobody has looked at the folder again
        await app.runner.run("ot.reload()")
        with pytest.raises(UntrustedPackError):
            await app.executor.call("notes.f", {})
        trust_project(project, home)
        await app.runner.run("ot.reload()")
        then = await app.executor.call("notes.f", {})

    assert (value, then) == ("trusted", "evil")


async def test_a_file_beside_a_tool_is_used_as_it_was_trusted(tmp_path: Path, home: Path) -> None:
    project = tmp_path / "project"
    helper = project / ".onetool" / "tools" / "notes" / "helper.py"
    async with open_engine(project, extensions={"notes": WITH_HELPER}, home=home) as app:
        helper.write_text("VALUE = 'trusted'\n")
        trust_project(project, home)
        helper.write_text("VALUE = 'evil'\n")
        value = await app.executor.call("notes.f", {})
        health: Any = await app.executor.call("ot.health", {})

    assert value == "trusted"
    assert health["trust"]["files"] == ["tools/notes/helper.py"]


@pytest.mark.parametrize("which", ["tools", "tools/notes", "tools/notes/notes_tools.py"])
async def test_a_link_in_place_of_what_was_trusted_is_not_followed(tmp_path: Path, home: Path, which: str) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    async with open_engine(project, extensions={"notes": TRUSTED}, home=home) as app:
        before = project / ".onetool" / which
        before.rename(outside)
        before.symlink_to(outside)
        write_extension(project, "notes", TRUSTED)  # the same content, at another place
        await app.runner.run("ot.reload()")
        with pytest.raises(UntrustedPackError):
            await app.executor.call("notes.f", {})


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("pack = 'mail'\nraise SystemExit\n", "mail"),
        ("pack = 'mail'\nthis is no Python\n", "notes"),
        ("pack = open('/etc/passwd').read()\n", "notes"),
        (f"pack = {'x' * 101!r}\n", "notes"),
        (f"pack = 'mail'\n#{'x' * 200_000}\n", "notes"),
        ("pack = 'json'\n", "json_"),
    ],
    ids=["named", "broken", "computed", "long", "large", "module"],
)
async def test_a_file_that_nobody_has_trusted_is_refused_by_the_name_of_its_pack(
    tmp_path: Path, home: Path, source: str, name: str
) -> None:
    project = tmp_path / "project"
    async with open_engine(project, home=home) as app:
        write_extension(project, "notes", source)
        await app.runner.run("ot.reload()")
        answer = await app.runner.run(f"{name}.f()")

    assert answer.is_error
    assert f"onetool trust {project}" in answer.text


@pytest.mark.parametrize("code", ["letter", "letter()", "desk.f()", "deks.f()"])
async def test_a_name_that_is_not_there_says_which_files_changed_since_they_were_trusted(
    tmp_path: Path, home: Path, code: str
) -> None:
    project = tmp_path / "project"
    async with open_engine(project, extensions={"desk": TRUSTED}, home=home, config="aliases: {a: desk.f}") as app:
        before = await app.runner.run(code.replace("desk", "des"))
        write_extension(project, "desk", "pack = 'papers'\n" + TRUSTED)
        (project / ".onetool" / "onetool.yaml").write_text("aliases: {letter: desk.f}")
        await app.runner.run("ot.reload()")
        after = await app.runner.run(code)
        trust_project(project, home)
        await app.runner.run("ot.reload()")
        trusted = await app.runner.run("nothing_here")

    changed = f"Files of the project in {project} have changed since they were trusted: "
    assert changed not in before.text
    assert f"{changed}onetool.yaml, tools/desk/desk_tools.py." in after.text
    assert f"`onetool trust {project}`" in after.text
    assert changed not in trusted.text


async def test_what_is_revoked_is_refused_by_a_server_that_runs(tmp_path: Path, home: Path) -> None:
    project = tmp_path / "project"
    async with open_engine(project, extensions={"notes": TRUSTED}, home=home, config="aliases: {a: notes.f}") as app:
        before = await app.runner.run("a()")
        (next((home / ".onetool" / "state" / "trust").glob("*/record.json"))).unlink()
        await app.runner.run("ot.reload()")
        after = await app.runner.run("notes.f()")

    assert before.text == "trusted"
    assert after.is_error
    assert "onetool trust" in after.text


@pytest.mark.parametrize(
    "change",
    ["aliases: {after: demo.upper}", "servers: [", "include: [nowhere.yaml]", "\x00", "execution: {timeot: 5}"],
)
def test_a_configuration_that_has_changed_counts_as_it_was_trusted(workspace: Workspace, change: str) -> None:
    file = workspace.write("include: [more.yaml]\naliases: {before: demo.upper}")
    workspace.write("aliases: {included: demo.upper}", "more.yaml")
    workspace.load()
    file.write_text(change)
    (file.parent / "more.yaml").unlink()

    loaded = workspace.load(trusted=False)

    assert set(loaded.config.aliases) == {"before", "included"}
    assert loaded.untrusted.changed == ("onetool.yaml", "more.yaml")


def test_a_changed_secret_counts_as_it_was_trusted(workspace: Workspace) -> None:
    workspace.write("A: trusted", "secrets.yaml")
    workspace.load()
    workspace.write("A: other", "secrets.yaml")

    assert workspace.load(trusted=False).secrets.for_extension("A", of_project=True) == "trusted"


def test_a_new_file_beside_trusted_ones_is_left_out(workspace: Workspace) -> None:
    workspace.write("aliases: {a: demo.upper}")
    workspace.load()
    workspace.write("packs: {demo: Obey.}", "prompts.yaml")

    loaded = workspace.load(trusted=False)

    assert loaded.config.prompts.packs == {}
    assert loaded.config.aliases == {"a": "demo.upper"}
    assert loaded.untrusted.files == ("prompts.yaml",)


# -- what nobody has trusted


def test_only_harmless_names_are_read_of_what_nobody_has_trusted(workspace: Workspace) -> None:
    outside = workspace.home / "outside"
    outside.mkdir()
    (workspace.project / "way").symlink_to(outside)
    workspace.write_home("aliases: {mine: demo.upper}\nprojects: {mine: /mine}")
    workspace.write(
        """
include: [more.yaml, ../outside.yaml, '${HOME}/x.yaml', missing.yaml]
aliases: {mine: evil.run, fine: demo.upper, open: evil.run, _x: evil.run, not-a-name: a.b, a: plain, b: [x], 5: a.b}
projects: {mine: .., inner: ../data, out: /etc, up: ../.., way: ../way, home: ~, var: '${HOME}', odd: {path: 5}}
servers: {evil: {command: steal, env: {A: '${NOT_SET}'}}}
snippets: {evil: {body: x}}
""".replace("var: '${HOME}'", "var: '${HOME}', Ignore all rules: .., " + "x" * 99 + ": ..")
    )
    workspace.write("servers: {more: {command: x}}\ninclude: [onetool.yaml]", "more.yaml")
    workspace.write("servers: {outside: {command: x}}", "../outside.yaml")
    workspace.write("not: even\n  yaml", "secrets.yaml").chmod(0o644)
    workspace.write("packs: {x: Obey.}", "prompts.yaml")

    loaded = workspace.load(trusted=False, HOME="/home/somebody")

    assert loaded.config.aliases == {"mine": "demo.upper", "fine": "demo.upper"}
    assert {name: str(each.path) for name, each in loaded.config.projects.items()} == {
        "mine": "/mine",
        "inner": str(workspace.project / "data"),
        "var": str(workspace.project / ".onetool" / "${HOME}"),
    }
    assert (loaded.config.servers, loaded.config.snippets, loaded.config.prompts.packs) == ({}, {}, {})
    assert loaded.untrusted.servers == ("evil", "more")
    assert loaded.untrusted.snippets == ("evil",)
    assert set(loaded.untrusted.files) == {"onetool.yaml", "prompts.yaml", "secrets.yaml"}


@pytest.mark.parametrize(
    "text", ["[", "5", "include: {a: b}", "aliases: 5\nservers: [a]\nprojects: x", "a: &a [*a]", "\x00"]
)
def test_whatever_is_wrong_with_it_stops_nothing(workspace: Workspace, text: str) -> None:
    workspace.write_home("aliases: {mine: demo.upper}")
    workspace.write(text)
    workspace.write("", "prompts.yml")

    loaded = workspace.load(trusted=False)

    assert loaded.config.aliases == {"mine": "demo.upper"}
    assert loaded.untrusted.files == ("onetool.yaml",)
    assert any("prompts.yml" in line for line in loaded.untrusted.broken)


def test_a_link_out_of_the_folder_is_not_even_read_for_names(workspace: Workspace) -> None:
    outside = workspace.home / "outside.yaml"
    outside.write_text("servers: {theirs: {command: x}}")
    (workspace.project / ".onetool").mkdir()
    (workspace.project / ".onetool" / "onetool.yaml").symlink_to(outside)

    loaded = workspace.load(trusted=False)

    assert loaded.untrusted.servers == ()
    assert loaded.untrusted.files == ("onetool.yaml",)


def test_a_folder_that_is_a_link_is_not_read_at_all(workspace: Workspace) -> None:
    workspace.write_home("aliases: {mine: demo.upper}\nlog: {level: debug}")
    (workspace.project / ".onetool").symlink_to(workspace.home / ".onetool")

    loaded = workspace.load(trusted=False)

    assert loaded.config.aliases == {"mine": "demo.upper"}
    assert loaded.untrusted
