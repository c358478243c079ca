"""What is trusted is what was read: digests, copies, links, worktrees, and a store that survives its writers."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest

from ot.errors import ConfigError
from ot.trust import project_trust
from ot.trust.project_trust import ProjectTrust, read_folder, read_inside
from ot.trust.store import TrustStore, main_folder


class Project:
    """A project with a `.onetool` folder, and a store beside it."""

    def __init__(self, root: Path) -> None:
        self.root = root / "project"
        self.folder = self.root / ".onetool"
        self.folder.mkdir(parents=True)
        self.state = root / "state"
        self.store = TrustStore(self.state)
        self.trust = ProjectTrust(self.folder, self.store)

    def write(self, name: str, text: str = "x") -> Path:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def trust_all(self) -> None:
        self.store.trust(self.root, read_folder(self.folder).contents, whole=True)

    @property
    def record_file(self) -> Path:
        [record] = self.state.glob("trust/*/record.json")
        return record


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_nothing_is_trusted_at_first_and_everything_afterwards(project: Project) -> None:
    project.write("onetool.yaml")
    project.write("tools/notes/notes_tools.py")

    before = project.trust.compare()
    project.trust_all()

    assert before.untrusted == ("onetool.yaml", "tools/notes/notes_tools.py")
    assert not project.trust.compare()
    assert project.trust.record().copy("onetool.yaml") == b"x"
    assert project.trust.record().copy("nothing.yaml") is None


def test_each_change_is_told_by_what_it_is(project: Project) -> None:
    project.write("a")
    project.write("b")
    project.write("c")
    project.trust_all()
    project.write("a", "y")
    project.write("b").unlink()
    project.write("d")

    found = project.trust.compare()

    assert (found.changed, found.gone, found.new) == (("a",), ("b",), ("d",))
    assert project.trust.record().copy("a") == b"x"


def test_a_file_and_a_folder_may_take_each_others_place(project: Project) -> None:
    project.write("a")
    project.write("b/c")
    project.trust_all()
    project.write("a").unlink()
    project.write("b/c").unlink()
    (project.folder / "b").rmdir()
    project.write("a/deep")
    project.write("b")

    project.trust_all()

    record = project.trust.record()
    assert (record.copy("a/deep"), record.copy("b"), record.copy("b/c")) == (b"x", b"x", None)


def test_only_the_owner_can_read_what_was_trusted(project: Project) -> None:
    project.write("secrets.yaml", "A: secret")
    project.trust_all()

    folder = project.state / "trust"
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "lock"]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_what_is_revoked_is_forgotten_with_its_copies(project: Project) -> None:
    project.write("secrets.yaml", "A: secret")
    project.trust_all()

    assert project.store.projects() == {project.root: 1}
    assert project.store.revoke(project.root)
    assert not project.store.revoke(project.root)
    assert project.store.projects() == {}
    assert project.trust.compare().new == ("secrets.yaml",)
    assert [path for path in (project.state / "trust").rglob("*") if path.is_file() and path.name != "lock"] == []


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"form": 2, "project": "x", "files": {}}', '{"form": 1}', "\xff"])
def test_a_damaged_record_trusts_nothing(project: Project, damage: str) -> None:
    project.write("a")
    project.trust_all()
    project.record_file.write_bytes(damage.encode("latin-1"))

    assert project.trust.compare().new == ("a",)
    assert project.store.projects() == {}


def test_a_copy_without_the_digest_that_was_trusted_counts_for_nothing(project: Project) -> None:
    """A writer that ended between the copy and the record, or somebody who edits copies."""
    project.write("a")
    project.trust_all()
    project.trust.record().place("a").write_text("other")

    assert project.trust.record().copy("a") is None


def test_the_record_says_when_it_has_changed(project: Project) -> None:
    project.write("a")
    states = [project.trust.state()]
    project.trust_all()
    states.append(project.trust.state())
    project.write("a", "longer")
    project.trust_all()
    states.append(project.trust.state())
    project.store.revoke(project.root)
    states.append(project.trust.state())

    assert states[0] == states[3] == ()
    assert len(set(states)) == 3


def test_trusting_single_files_leaves_the_others_as_they_are(project: Project) -> None:
    project.write("a")
    project.trust_all()
    written = project.write("b")
    project.write("c")
    project.write("a", "changed")

    project.trust.accept([written])

    found = project.trust.compare()
    assert (found.changed, found.new) == (("a",), ("c",))


# -- links and odd files


def test_links_that_lead_out_are_refused(project: Project, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    project.write("inside")
    (project.folder / "out").symlink_to(outside / "secret")
    (project.folder / "folder").symlink_to(outside)
    (project.folder / "up").symlink_to("../../outside/secret")
    (project.folder / "in").symlink_to("inside")
    (project.folder / "self").symlink_to("self")

    files = read_folder(project.folder)

    assert set(files.contents) == {"inside", "in"}
    assert set(files.refused) == {"out", "folder", "up", "self"}
    assert "leads out" in files.refused["out"]


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "sub/../../outside"])
def test_no_name_leads_out(project: Project, tmp_path: Path, name: str) -> None:
    (tmp_path / "project" / "outside").write_text("secret")
    project.write("sub/x")

    with pytest.raises(OSError, match="leads out"):
        read_inside(project.folder, name)


def test_a_folder_that_is_a_link_is_refused_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "onetool.yaml").write_text("x")
    (tmp_path / "project").mkdir()
    folder = tmp_path / "project" / ".onetool"
    folder.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(ConfigError, match="link"):
        read_folder(folder)


def test_what_is_no_file_or_too_much_is_refused(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project_trust, "MOST_BYTES", 10)
    os.mkfifo(project.folder / "pipe")
    project.write("large", "x" * 11)
    project.write("small")

    files = read_folder(project.folder)

    assert set(files.contents) == {"small"}
    assert set(files.refused) == {"pipe", "large"}
    monkeypatch.setattr(project_trust, "MOST_FILES", 2)
    with pytest.raises(ConfigError, match="more than 2 files"):
        read_folder(project.folder)


def test_compiled_python_is_neither_trusted_nor_copied(project: Project) -> None:
    project.write("tools/__pycache__/helper.cpython-311.pyc")
    project.write("tools/helper.pyc")
    project.write("tools/notes.py")

    project.trust_all()

    assert set(project.trust.record().digests) == {"tools/notes.py"}
    assert not list(project.trust.record().copies.rglob("*.pyc"))


# -- where a project lies


def test_a_project_is_known_by_where_it_really_lies(project: Project, tmp_path: Path) -> None:
    project.write("a")
    project.trust_all()
    link = tmp_path / "link"
    link.symlink_to(project.root)

    assert not ProjectTrust(link / ".onetool", project.store).compare()


def git(folder: Path, *arguments: str) -> None:
    names = ["-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", "-C", str(folder), *names, *arguments], check=True, capture_output=True)


@pytest.fixture
def worktree(project: Project, tmp_path: Path) -> Path:
    """A second folder of the project's repository, made by git."""
    project.write("a")
    git(project.root, "init")
    git(project.root, "add", ".")
    git(project.root, "commit", "-m", "first")
    git(project.root, "worktree", "add", str(tmp_path / "second"))
    return tmp_path / "second"


def test_a_worktree_counts_as_its_main_folder(project: Project, worktree: Path) -> None:
    project.trust_all()
    trust = ProjectTrust(worktree / ".onetool", project.store)

    assert main_folder(worktree / "sub") == project.root / "sub"
    assert not trust.compare()
    (worktree / ".onetool" / "a").write_text("changed")
    assert trust.compare().changed == ("a",)


def test_a_folder_that_only_claims_to_be_a_worktree_does_not_count(
    project: Project, worktree: Path, tmp_path: Path
) -> None:
    project.trust_all()
    claims = tmp_path / "claims"
    (claims / ".onetool").mkdir(parents=True)
    (claims / ".git").write_text((worktree / ".git").read_text())
    (claims / ".onetool" / "a").write_text("x")

    assert main_folder(claims) == claims
    assert ProjectTrust(claims / ".onetool", project.store).compare().new == ("a",)


@pytest.mark.parametrize("text", ["", "gitdir: ", "gitdir: /", "gitdir: ../project", "gitdir:", "\0", "x" * 10_000])
def test_a_git_file_that_makes_no_sense_is_no_worktree(tmp_path: Path, text: str) -> None:
    (tmp_path / ".git").write_text(text)

    assert main_folder(tmp_path) == tmp_path


def test_the_record_names_the_project_for_people(project: Project) -> None:
    project.write("a")
    project.trust_all()

    assert json.loads(project.record_file.read_text())["project"] == str(project.root)
