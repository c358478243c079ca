"""code.search: ranked, up to date, and limited to what a project wants to be searched."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest
import yaml

from ot.app import App, open_app
from ot.config.loader import load_config
from tests.engine import open_engine

pytestmark = pytest.mark.anyio

FILES = {
    "src/headers.py": "def parseHeader(line):\n    return line.split(':')\n",
    "src/body.py": "def read_body(stream):\n    # everything after the header\n    return stream.read()\n",
    "src/deep/er/tokens.rs": "fn next_token(input: &str) -> Token { unimplemented!() }\n",
    "docs/notes.md": "Headers are parsed first, bodies later. HTTPServer does it.\n",
}


def write(project: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)


@pytest.fixture(scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    """For tests that change nothing."""
    project = tmp_path_factory.mktemp("searched")
    async with open_engine(project) as app:
        write(project, FILES)
        yield app


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    async with open_engine(tmp_path) as app:
        write(tmp_path, FILES)
        yield app


async def search(app: App, query: str, **options: object) -> Any:
    arguments = "".join(f", {name}={value!r}" for name, value in options.items())
    answer = await app.runner.run(f"code.search(query={query!r}{arguments})")
    assert not answer.is_error, answer.text
    return yaml.safe_load(answer.text)


async def paths(app: App, query: str, **options: object) -> list[str]:
    return [found["path"] for found in (await search(app, query, **options))["files"]]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("header split", "src/headers.py"),
        ("parseHeader", "src/headers.py"),
        ("parse_header", "src/headers.py"),
        ("ParseHeader", "src/headers.py"),
        ("token", "src/deep/er/tokens.rs"),
        ("tokens", "src/deep/er/tokens.rs"),
        ("readBody", "src/body.py"),
        ("http server", "docs/notes.md"),
        ("HTTPServer", "docs/notes.md"),
        ("stream zzzz", "src/body.py"),
    ],
)
async def test_identifiers_are_found_by_their_parts_in_any_spelling(shared: App, query: str, first: str) -> None:
    assert (await paths(shared, query))[0] == first


async def test_a_hit_shows_the_lines_that_have_the_words(shared: App) -> None:
    found = await search(shared, "everything header")

    assert found["files"][0]["lines"][0] == {"line": 2, "text": "# everything after the header"}
    assert (found["total"], found["more"], found["indexed"]) == (1, False, 4)


async def test_a_page_says_how_many_there_are_and_whether_there_is_more(shared: App) -> None:
    first = await search(shared, "header", limit=2)
    rest = await search(shared, "header", limit=2, offset=2)

    assert (len(first["files"]), first["total"], first["more"]) == (2, 3, True)
    assert (len(rest["files"]), rest["total"], rest["more"]) == (1, 3, False)
    assert not {f["path"] for f in first["files"]} & {f["path"] for f in rest["files"]}


async def test_a_path_narrows_the_search(shared: App) -> None:
    assert await paths(shared, "header", path="docs") == ["docs/notes.md"]
    assert await paths(shared, "header", path="docs/../src/deep") == []


async def test_changes_are_seen_by_the_next_search(app: App, tmp_path: Path) -> None:
    assert await paths(app, "zebra") == []

    (tmp_path / "src" / "new.py").write_text("zebra = 1\n")
    assert await paths(app, "zebra") == ["src/new.py"]

    (tmp_path / "src" / "new.py").write_text("okapi = 1\n")
    assert await paths(app, "zebra") == []
    assert await paths(app, "okapi") == ["src/new.py"]

    (tmp_path / "src" / "new.py").rename(tmp_path / "moved.py")
    assert await paths(app, "okapi") == ["moved.py"]

    (tmp_path / "moved.py").unlink()
    assert await paths(app, "okapi") == []

    write(tmp_path, {"fresh/folder/file.py": "okapi"})
    assert await paths(app, "okapi") == ["fresh/folder/file.py"]
    write(tmp_path, {"fresh/folder/other.py": "okapi"})
    assert sorted(await paths(app, "okapi")) == ["fresh/folder/file.py", "fresh/folder/other.py"]


async def test_a_file_that_changes_and_keeps_its_size_and_times_is_indexed_again(app: App, tmp_path: Path) -> None:
    file = tmp_path / "src" / "body.py"
    before = file.stat()
    assert await paths(app, "stream") == ["src/body.py"]

    file.write_text(file.read_text().replace("stream", "gnarly"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert await paths(app, "stream") == []
    assert await paths(app, "gnarly") == ["src/body.py"]


async def test_what_git_ignores_and_what_is_not_for_searches_is_left_out(app: App, tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            ".gitignore": "build/\n*.log\n!keep.log\n/only_here.py\n",
            "sub/.gitignore": "*.tmp.py\n",
            "build/out.py": "quagga",
            "a.log": "quagga",
            "keep.log": "quagga",
            "only_here.py": "quagga",
            "sub/only_here.py": "quagga",
            "sub/x.tmp.py": "quagga",
            "node_modules/m/index.js": "quagga",
            ".git/config": "quagga",
            ".onetool/onetool.yaml": "quagga: 1",
            "sub/.onetool/tools/x.py": "quagga",
            "secrets.yaml": "quagga: 1",
            "sub/Secrets.YAML": "quagga: 1",
            "large.py": "quagga " * 200_000,
        },
    )
    (tmp_path / "binary.py").write_bytes(b"quagga\0quagga")
    (tmp_path / "latin.py").write_bytes(b"quagga \xe4")
    (tmp_path / "link.py").symlink_to(tmp_path / "keep.log")
    (tmp_path / "linked").symlink_to(tmp_path / "build")
    os.mkfifo(tmp_path / "pipe.py")

    assert sorted(await paths(app, "quagga")) == ["keep.log", "sub/only_here.py"]


async def test_the_configuration_is_not_searched_wherever_it_lies(tmp_path: Path) -> None:
    write(tmp_path, {"own.yaml": "aliases: {quagga: ot.help}", "other.yaml": "aliases: {quagga: ot.help}"})
    loaded = load_config(tmp_path / "own.yaml", environ={}, cwd=tmp_path, home=tmp_path)
    async with open_app(loaded) as app:
        assert await paths(app, "quagga") == ["other.yaml"]


@pytest.mark.parametrize(
    "query",
    [
        '"',
        "header AND",
        "NEAR(header body)",
        "path:header",
        "header*",
        "(header",
        "^header",
        "-header",
        "{a b}:header",
        "header\0",
    ],
)
async def test_the_syntax_of_the_database_is_plain_words(shared: App, query: str) -> None:
    answer = await shared.runner.run(f"code.search(query={query!r})")

    assert "fts5" not in answer.text
    assert "syntax" not in answer.text
    assert not answer.is_error or "no words" in answer.text


async def test_a_query_without_words_and_a_bad_limit_are_refused(shared: App) -> None:
    for call in ("query='--'", "query=''", "query='a', limit=0", "query='a', limit=100_000", "query='a', offset=-1"):
        answer = await shared.runner.run(f"code.search({call})")
        assert answer.is_error
        assert "code.search" in answer.text


async def test_a_folder_outside_of_the_allowed_ones_is_refused(shared: App) -> None:
    for path in ("/etc", "..", "src/../../", ".onetool/state"):
        answer = await shared.runner.run(f"code.search(query='root', path={path!r})")
        assert answer.is_error
        assert "Cannot use" in answer.text


def index_of(home: Path) -> Path:
    (file,) = (home / ".onetool" / "state" / "packs" / "code").glob("*.db")
    return file


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda data: b"not a database at all" * 500, id="another file"),
        pytest.param(lambda data: data[:4096] + b"\xff" * (len(data) - 4096), id="pages overwritten"),
        pytest.param(lambda data: data[: len(data) // 2 + 100], id="cut off"),
        pytest.param(lambda data: b"", id="empty"),
    ],
)
async def test_a_damaged_index_is_made_again(app: App, tmp_path: Path, damage: Any) -> None:
    before = await paths(app, "header")
    file = index_of(tmp_path)
    file.write_bytes(damage(file.read_bytes()))

    assert await paths(app, "header") == before


async def test_an_index_that_is_removed_is_made_again(app: App, tmp_path: Path) -> None:
    before = await paths(app, "header")
    for file in index_of(tmp_path).parent.iterdir():
        file.unlink()

    assert await paths(app, "header") == before


async def test_an_index_with_more_leftovers_than_files_is_made_again(app: App, tmp_path: Path) -> None:
    await paths(app, "header")
    with closing(sqlite3.connect(index_of(tmp_path))) as connection, connection:
        connection.execute("UPDATE leftovers SET count = 100000")
    connection.close()
    (tmp_path / "src" / "new.py").write_text("header")

    assert len(await paths(app, "header")) == 4
    with closing(sqlite3.connect(index_of(tmp_path))) as connection, connection:
        assert connection.execute("SELECT count FROM leftovers").fetchone() == (0,)
    connection.close()


def search_many(project: str, word: str, times: int) -> None:
    async def go() -> None:
        async with open_app(load_config(environ={}, cwd=Path(project), home=Path(project))) as app:
            for number in range(times):
                (Path(project) / f"{word}{number}.py").write_text(f"{word} number{number}\n")
                found = await search(app, f"{word} number{number}")
                assert found["total"] == 1, found

    anyio.run(go)


@pytest.mark.long
async def test_two_processes_follow_one_project_at_once(app: App, tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    searchers = [context.Process(target=search_many, args=(str(tmp_path), word, 8)) for word in ("ibex", "kudu")]
    for searcher in searchers:
        searcher.start()
    for searcher in searchers:
        await anyio.to_thread.run_sync(searcher.join, 120)

    assert [searcher.exitcode for searcher in searchers] == [0, 0]
    assert (await search(app, "ibex"))["total"] == 8
