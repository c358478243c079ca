"""The files that tools may reach: what leads out of the roots, and what is closed inside of them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from ot.config.loader import load_config
from ot.errors import MissingPathError, PathError, PathRefusedError
from ot.files.allowed_files import AllowedFiles, build_allowed_files
from ot.files.walk import version_of
from ot.values import ProjectPath
from tests.path_tricks import SECRET, TRICKS, build_home, lay_links
from tests.trusting import trust_project


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return build_home(tmp_path / "home")


@pytest.fixture
def files(home: Path) -> AllowedFiles:
    return AllowedFiles([home / "project", home / "other"], project=home / "project", home=home)


def read(files: AllowedFiles, path: str | ProjectPath) -> str:
    with os.fdopen(files.open(path), "rb") as file:
        return file.read().decode()


def write(files: AllowedFiles, path: str, text: str) -> None:
    with files.replace(path) as file:
        file.write(text.encode())


# Inside


@pytest.mark.parametrize(
    "path",
    [
        "a.txt",
        "./a.txt",
        "sub/../a.txt",
        "sub/./../a.txt",
        "//{home}/project//a.txt",
        "~/project/a.txt",
        "../project/a.txt",
    ],
)
def test_a_file_inside_is_read(files: AllowedFiles, home: Path, path: str) -> None:
    assert read(files, path.format(home=home)) == "a"


def test_a_path_of_proj_is_a_path(files: AllowedFiles, home: Path) -> None:
    assert read(files, ProjectPath("project", home / "project") / "sub" / "b.txt") == "b"


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("a.txt", "link"),
        ("{home}/project/a.txt", "link"),
        ("../project/sub/../a.txt", "link"),
        ("..", "sub/link/a.txt"),
    ],
)
def test_a_link_that_stays_inside_is_followed(files: AllowedFiles, home: Path, target: str, path: str) -> None:
    (home / "project" / path.removesuffix("/a.txt")).symlink_to(target.format(home=home))

    assert read(files, path) == "a"
    assert files.locate(path) == home / "project" / "a.txt"


def test_a_link_from_one_root_to_another_is_followed(files: AllowedFiles, home: Path) -> None:
    (home / "other" / "link").symlink_to(home / "project" / "a.txt")

    assert read(files, f"{home}/other/link") == "a"


def test_a_link_outside_may_lead_in(files: AllowedFiles, home: Path) -> None:
    (home / "shortcut").symlink_to("project")

    assert read(files, f"{home}/shortcut/a.txt") == "a"


def test_writing_through_a_link_keeps_the_link(files: AllowedFiles, home: Path) -> None:
    (home / "project" / "link").symlink_to("sub/b.txt")

    write(files, "link", "new")

    assert (home / "project" / "link").is_symlink()
    assert (home / "project" / "sub" / "b.txt").read_text() == "new"


def test_a_folder_is_listed(files: AllowedFiles) -> None:
    assert {entry.name for entry in files.list("sub")} == {".onetool", "b.txt", "SECRETS.yaml", "secrets.yml"}


# Twenty ways out, and more. Each would show SECRET.


@pytest.fixture
def descriptor(home: Path) -> Iterator[int]:
    with (home / "outside.txt").open() as file:
        yield file.fileno()


@pytest.fixture
def linked(home: Path) -> Path:
    return lay_links(home)


@pytest.mark.parametrize("use", ["read", "write"])
@pytest.mark.parametrize("trick", TRICKS)
def test_no_trick_leads_out(
    files: AllowedFiles, home: Path, linked: Path, descriptor: int, trick: str, use: str
) -> None:
    path = TRICKS[trick].format(home=home, descriptor=descriptor)

    with pytest.raises(PathRefusedError) as refused:
        files.locate(path, write=use == "write")
    with pytest.raises(PathRefusedError):
        files.open(path, os.O_RDWR | os.O_CREAT if use == "write" else os.O_RDONLY)
    with pytest.raises(PathRefusedError), files.replace(path):
        pass

    assert SECRET not in refused.value.reason


@pytest.mark.parametrize(
    "path", ["/proc/self/environ", "/proc/self/root/proc/self/environ", "/dev/null", "/sys/kernel/notes"]
)
def test_files_of_the_system_are_closed_also_where_everything_is_a_root(home: Path, path: str) -> None:
    files = AllowedFiles([Path("/")], project=home / "project", home=home)

    with pytest.raises(PathError):
        files.open(path)


@pytest.mark.parametrize(
    "path", ["~/.onetool", "~/.onetool/state/token", "~/.onetool/nothing-there", "to-own/onetool.yaml"]
)
def test_the_persons_own_folder_is_closed_where_the_home_is_a_root(home: Path, path: str) -> None:
    (home / "project" / "to-own").symlink_to(home / ".onetool")
    files = AllowedFiles([home], project=home / "project", home=home)

    with pytest.raises(PathRefusedError, match="tools cannot access"):
        files.locate(path)


@pytest.mark.parametrize(
    "path", [".onetool", ".onetool/onetool.yaml", "sub/.onetool/x", "sub/.OneTool/x", "to-config/x"]
)
def test_nothing_is_written_below_a_folder_of_onetool(files: AllowedFiles, home: Path, path: str) -> None:
    (home / "project" / ".onetool").mkdir()
    (home / "project" / "sub" / ".OneTool").mkdir()
    (home / "project" / "to-config").symlink_to("sub/.onetool")

    with pytest.raises(PathRefusedError, match=r"\.onetool"):
        files.locate(path, write=True)

    assert read(files, "sub/.onetool/onetool.yaml") == "c"


def test_what_is_no_file_is_not_opened(files: AllowedFiles, home: Path) -> None:
    os.mkfifo(home / "project" / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(home / "project" / "socket"))

        for name in ("pipe", "socket"):
            with pytest.raises(PathRefusedError, match="neither a file nor a folder"):
                files.open(name)
            with pytest.raises(PathRefusedError, match="neither a file nor a folder"):
                write(files, name, "x")


@pytest.mark.parametrize("path", ["", "a\0b", "x" * 5000, "x" * 300, "a.txt/b", "round/x", "sub"])
def test_what_no_file_can_be_called_is_an_error(files: AllowedFiles, home: Path, path: str) -> None:
    (home / "project" / "round").symlink_to("round")

    with pytest.raises(PathError):
        files.open(path)


def test_a_missing_file_is_told_from_a_refused_one(files: AllowedFiles) -> None:
    with pytest.raises(MissingPathError):
        files.open("nothing.txt")
    with pytest.raises(MissingPathError):
        files.locate("nothing/at/all.txt", write=True)


def test_a_refused_link_names_where_it_leads(files: AllowedFiles, linked: Path) -> None:
    with pytest.raises(PathRefusedError, match=r"the link .*/to-file leads to .*/outside.txt, which is outside"):
        files.open("to-file")


def test_a_root_that_becomes_a_link_opens_nothing(files: AllowedFiles, home: Path) -> None:
    (home / "other").rmdir()
    (home / "other").symlink_to(home)

    with pytest.raises(PathRefusedError):
        files.open(f"{home}/other/outside.txt")


# Races: a name that is exchanged while it is used leads to one or the other, never out.


@pytest.mark.parametrize("path", ["swapped", "swapped/../a.txt", "folder/outside.txt"])
def test_no_race_leads_out(files: AllowedFiles, home: Path, path: str) -> None:
    project = home / "project"
    name = path.split("/", maxsplit=1)[0]
    inside, out = project / "inside", project / "out"
    if name == "folder":
        inside.mkdir()
        (inside / "outside.txt").write_text("a")
        out.symlink_to(home)
    else:
        inside.write_text("a")
        out.symlink_to(home / "outside.txt")
    inside.rename(project / name)
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            (project / name).rename(inside)
            out.rename(project / name)
            (project / name).rename(out)
            inside.rename(project / name)

    swapping = threading.Thread(target=swap)
    swapping.start()
    seen = set()
    try:
        for _ in range(2000):
            try:
                seen.add(read(files, path))
            except PathError as error:
                seen.add(type(error).__name__)
    finally:
        done.set()
        swapping.join()

    assert SECRET not in seen
    assert seen <= {"a", "PathRefusedError", "MissingPathError", "PathError"}


REPLACING = """
    import itertools, os, sys
    names = sys.argv[1:]
    print("ready", flush=True)
    for name in itertools.cycle(names):
        os.link(name, "next")
        os.rename("next", "replaced")
"""


@pytest.fixture
def replacing(home: Path) -> Iterator[Callable[..., None]]:
    """Start a program that gives the name `replaced` to one of these files after the other, all the time."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*names: str) -> None:
        words = [sys.executable, "-c", dedent(REPLACING), *names]
        process = subprocess.Popen(words, cwd=home / "project", stdout=subprocess.PIPE)
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"

    yield start
    for process in started:
        assert process.poll() is None, "the program has ended by itself"
        process.kill()
        process.communicate()


def test_a_file_that_is_always_being_replaced_is_read(
    files: AllowedFiles, home: Path, replacing: Callable[..., None]
) -> None:
    names = [f"{number}.txt" for number in range(50)]
    for name in ("replaced", *names):
        (home / "project" / name).write_text("a")
    replacing(*names)

    assert {read(files, "replaced") for _ in range(3000)} == {"a"}


def test_a_closed_file_that_takes_the_place_of_another_is_not_read(
    files: AllowedFiles, home: Path, replacing: Callable[..., None]
) -> None:
    project = home / "project"
    (project / "replaced").write_text("a")
    (project / "a.txt").write_text("a")
    (home / ".onetool").mkdir(exist_ok=True)
    (home / ".onetool" / "secrets.yaml").write_text(SECRET)
    replacing("a.txt", str(home / ".onetool" / "secrets.yaml"))

    seen = set()
    for _ in range(3000):
        try:
            seen.add(read(files, "replaced"))
        except PathError as error:
            seen.add(type(error).__name__)

    assert "a" in seen
    assert seen <= {"a", "PathRefusedError", "PathError"}


# Writing


def test_a_file_is_replaced_whole_and_keeps_its_mode(files: AllowedFiles, home: Path) -> None:
    file = home / "project" / "a.txt"
    file.chmod(0o751)

    with files.replace("a.txt") as stream:
        stream.write(b"half")
        stream.flush()
        assert file.read_text() == "a"
        stream.write(b" and half")

    assert file.read_text() == "half and half"
    assert file.stat().st_mode & 0o7777 == 0o751


def test_what_fails_half_way_leaves_everything_as_it_was(files: AllowedFiles, home: Path) -> None:
    before = sorted((home / "project").iterdir())

    def fail_half_way() -> None:
        with files.replace("a.txt") as stream:
            stream.write(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_half_way()

    assert (home / "project" / "a.txt").read_text() == "a"
    assert sorted((home / "project").iterdir()) == before


def test_a_file_that_was_changed_meanwhile_is_not_replaced(files: AllowedFiles, home: Path) -> None:
    file = home / "project" / "a.txt"
    version = version_of(file.stat())

    def write_after_others() -> None:
        with files.replace("a.txt", expected=version) as stream:
            stream.write(b"mine")
            file.write_text("theirs")

    with pytest.raises(PathError, match="has changed since"):
        write_after_others()

    assert file.read_text() == "theirs"


def test_a_read_only_file_is_not_replaced(files: AllowedFiles, home: Path) -> None:
    (home / "project" / "a.txt").chmod(0o444)

    with pytest.raises(PathRefusedError, match="read-only"):
        write(files, "a.txt", "new")


def test_a_new_file_is_not_written_over_another(files: AllowedFiles) -> None:
    with pytest.raises(PathError, match="already"), files.replace("a.txt", new=True) as stream:
        stream.write(b"new")


# From the configuration


def test_the_roots_come_from_the_persons_file_only(home: Path) -> None:
    (home / ".onetool" / "secrets.yaml").unlink()
    (home / ".onetool" / "onetool.yaml").write_text(
        f"include: {home}/other/more.yaml\nprojects: {{mine: {home}/other, moved: {home}/other}}\nroots: [~/project-of-others]\n"
    )
    (home / "other" / "more.yaml").write_text("stats: {enabled: false}")
    (home / "project" / ".onetool").mkdir()
    (home / "project" / ".onetool" / "onetool.yaml").write_text(f"projects: {{all: /, moved: {home}}}\nroots: [/]\n")
    trust_project(home / "project", home)

    loaded = load_config(environ={}, cwd=home / "project", home=home)
    files = build_allowed_files(loaded)

    assert set(files.roots) == {home / "project", home / "other", home / "project-of-others"}
    assert [refusal.key for refusal in loaded.refused] == ["roots"]
    with pytest.raises(PathRefusedError, match="tools cannot access"):
        files.locate(f"{home}/other/more.yaml")
