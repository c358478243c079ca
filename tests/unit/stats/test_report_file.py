"""Where a report may be written, and what is never lost by it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ot.errors import ReportWriteError
from ot.files.allowed_files import AllowedFiles
from ot.stats.report import MARK, write_report

PAGE = f"{MARK}<title>new</title>"


def allow(project: Path, *roots: Path) -> AllowedFiles:
    return AllowedFiles(roots, project=project, home=project.parent)


def write(output: str, project: Path, *roots: Path) -> Path:
    return write_report(output, lambda: PAGE, files=allow(project, project, *roots))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project" / "sub").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    return tmp_path / "project"


@pytest.mark.parametrize("output", ["report.html", "sub/report.HTM", "./sub/../report.html", "{project}/report.html"])
def test_a_report_is_written_inside_the_project(project: Path, output: str) -> None:
    written = write(output.format(project=project), project)

    assert written.read_text() == PAGE
    assert {file.name for file in written.parent.iterdir()} - {"sub"} == {written.name}


def test_a_report_is_written_inside_another_folder_that_is_allowed(project: Path) -> None:
    elsewhere = project.parent / "elsewhere"

    assert write(f"{elsewhere}/report.html", project, elsewhere).read_text() == PAGE


def test_a_report_takes_the_place_of_the_one_before(project: Path) -> None:
    (project / "report.html").write_text(f"{MARK}<title>old</title>")

    assert write("report.html", project).read_text() == PAGE


@pytest.mark.parametrize(
    "output",
    [
        "../elsewhere/x.html",
        "{root}/elsewhere/x.html",
        "link/x.html",
        "/etc/x.html",
        "~nobody-here/x.html",
        "a\0b.html",
    ],
)
def test_nothing_is_written_outside(project: Path, output: str) -> None:
    (project / "link").symlink_to(project.parent / "elsewhere")

    with pytest.raises(ReportWriteError) as caught:
        write(output.format(root=project.parent), project)

    assert caught.value.path == output.format(root=project.parent)
    assert not list((project.parent / "elsewhere").iterdir())


@pytest.mark.parametrize("output", ["onetool.yaml", "src.py", "report", ".html", "", "."])
def test_only_a_page_is_written(project: Path, output: str) -> None:
    with pytest.raises(ReportWriteError):
        write(output or " ", project)

    assert [file.name for file in project.iterdir()] == ["sub"]


def test_a_file_that_is_no_report_is_never_lost(project: Path) -> None:
    (project / "index.html").write_text("<h1>my site</h1>")

    with pytest.raises(ReportWriteError, match="not a report"):
        write("index.html", project)

    assert (project / "index.html").read_text() == "<h1>my site</h1>"


def test_a_link_is_neither_followed_nor_replaced(project: Path) -> None:
    target = project.parent / "elsewhere" / "target.html"
    target.write_text(PAGE)
    (project / "report.html").symlink_to(target)

    with pytest.raises(ReportWriteError, match="symbolic link"):
        write("report.html", project)

    assert (project / "report.html").is_symlink()


def test_a_pipe_or_a_folder_of_that_name_is_refused_without_waiting(project: Path) -> None:
    os.mkfifo(project / "pipe.html")
    (project / "folder.html").mkdir()

    for output in ("pipe.html", "folder.html"):
        with pytest.raises(ReportWriteError):
            write(output, project)


def test_where_it_is_not_allowed_nothing_is_rendered(project: Path) -> None:
    def render() -> str:
        raise AssertionError

    with pytest.raises(ReportWriteError):
        write_report("/etc/x.html", render, files=allow(project, project))


def test_a_person_may_write_anywhere(project: Path) -> None:
    written = write_report("../elsewhere/x.html", lambda: PAGE, files=allow(project, Path("/")))

    assert written == project.parent / "elsewhere" / "x.html"
