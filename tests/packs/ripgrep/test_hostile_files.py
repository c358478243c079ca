"""Files that would lead a search elsewhere, hang it, or flood the server, do not."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from ot.app import App
from ot.clients.caller import NOBODY
from tests.engine import open_engine
from tests.packs.answers import refusal_of, value_of

SECRET = "hunter2"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("engine") / "p"


@pytest.fixture(scope="module")
async def app(folder: Path) -> AsyncIterator[App]:
    async with open_engine(folder) as app:
        yield app


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.mark.parametrize(
    "arguments", ["", ", everything=True", ", everything=True, glob=['secrets.yaml', '*.yaml', '**']"]
)
async def test_secrets_and_our_own_files_are_never_searched(app: App, folder: Path, arguments: str) -> None:
    for name in ("secrets.yaml", "Secrets.YAML", "deep/secrets.yml", ".onetool/tools/x.py", "deep/.onetool/x.yaml"):
        write(folder / name, f"key: {SECRET}\n")
    write(folder / "deep" / "plain.yaml", f"key: {SECRET}\n")

    found = await value_of(app, f"ripgrep.search(query='{SECRET}'{arguments})")
    counted = await value_of(app, f"ripgrep.count(query='{SECRET}'{arguments})")
    listed = await value_of(app, f"ripgrep.files(query='{SECRET}'{arguments})")

    assert [match["path"] for match in found["matches"]] == ["deep/plain.yaml"]
    assert counted["total"] == 1
    assert listed["paths"] == ["deep/plain.yaml"]


@pytest.mark.parametrize(
    "path", ["secrets.yaml", "deep/.onetool", "deep/.onetool/x.yaml", "/etc/passwd", "..", "/proc/self"]
)
async def test_a_path_that_is_closed_is_refused(app: App, folder: Path, path: str) -> None:
    write(folder / "secrets.yaml", SECRET)
    write(folder / "deep" / ".onetool" / "x.yaml", SECRET)

    assert "Cannot use" in await refusal_of(app, f"ripgrep.search(query='.', path='{path}', everything=True)")


async def test_links_lead_nowhere(app: App, folder: Path, tmp_path: Path) -> None:
    write(tmp_path / "outside.txt", SECRET)
    links = folder / "links"
    links.mkdir()
    (links / "file").symlink_to(tmp_path / "outside.txt")
    (links / "folder").symlink_to(tmp_path)
    (links / "circle").symlink_to(links)
    (links / ".ignore").symlink_to("/etc/shadow")

    found = await value_of(app, f"ripgrep.search(query='{SECRET}', path='links', everything=True)")
    await refusal_of(app, f"ripgrep.search(query='{SECRET}', path='links/file')")
    await refusal_of(app, f"ripgrep.search(query='{SECRET}', path='links/folder')")

    assert found["matches"] == []


async def test_no_settings_and_no_program_of_others_are_used(
    app: App, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\necho {SECRET}\n")
    program.chmod(0o755)
    write(folder / "settings" / ".ripgreprc", f"--pre={program}\n--hostname-bin={program}\n--follow\n")
    write(folder / "settings" / "text", "plain\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(folder / "settings" / ".ripgreprc"))

    found = await value_of(app, f"ripgrep.search(query='{SECRET}', path='settings')")
    words = [f"--pre={program}", "-z", "--files", f"-f{tmp_path}/program"]
    for word in words:
        await app.runner.run(f"ripgrep.search(query={word!r}, path='settings', glob={word!r})")

    assert found["matches"] == []
    assert not (tmp_path / "ran").exists()


async def test_what_is_not_a_file_does_not_hold_the_search_up(app: App, folder: Path) -> None:
    places = folder / "places"
    places.mkdir()
    os.mkfifo(places / "pipe")
    write(places / "text", "found\n")

    found = await value_of(app, "ripgrep.search(query='found', path='places')")

    assert len(found["matches"]) == 1
    assert "a pipe" in await refusal_of(app, "ripgrep.search(query='found', path='places/pipe')")


async def test_binary_files_are_left_out(app: App, folder: Path) -> None:
    write(folder / "binary" / "early", "\0needle\n")
    write(folder / "binary" / "late", "needle\n" + "x\n" * 100_000 + "\0")
    write(folder / "binary" / "text", "needle\n")

    found = await value_of(app, "ripgrep.search(query='needle', path='binary')")
    named = await value_of(app, "ripgrep.search(query='needle', path='binary/early')")

    assert [match["path"] for match in found["matches"]] == ["binary/text"]
    assert named["matches"] == []


async def test_names_and_lines_of_any_bytes_come_back(app: App, folder: Path) -> None:
    names = [b"new\nline", b"caf\xe9", b"\x1b[31mred", b"--files", b'"quoted"']
    for name in names:
        (folder / "names").mkdir(exist_ok=True)
        (folder / "names" / os.fsdecode(name)).write_bytes(b"caf\xe9 needle\n")

    found = await value_of(
        app,
        "paths = [m['path'] for m in ripgrep.search(query='needle', path='names')['matches']]\n"
        "texts = {m['text'] for p in paths for m in ripgrep.search(query='needle', path=p)['matches']}\n"
        f"sorted(paths) == sorted({[os.fsdecode(b'names/' + name) for name in names]!r}), texts",
    )
    listed = await value_of(
        app, "len(ripgrep.files(path='names')['paths']), ripgrep.count(query='e', path='names')['files']"
    )

    assert found == [True, ["caf\N{REPLACEMENT CHARACTER} needle"]]
    assert listed == [5, 5]


async def test_huge_lines_are_cut(app: App, folder: Path) -> None:
    text = "a" * 3_000_000 + "needle" + "b" * 2_000_000
    quoted = '"},"line_number":7,\\' * 100_000 + "needle"
    write(folder / "huge" / "long", f"first\n{text}\nneedle here\n")
    write(folder / "huge" / "quoted", f"{quoted}\nsecond needle\n")
    write(folder / "huge" / "many", "needle" * 500_000 + "\n")
    (folder / "huge" / "latin").write_bytes(b"\n\n" + b"caf\xe9" * 1_000_000 + b"needle\n")
    write(folder / "huge" / "far", "c" * 5000 + "needle" + "d" * 5000)

    found = await value_of(
        app,
        "found = ripgrep.search(query='needle', path='huge', context=1)['matches']\n"
        "[(m['path'], m['line'], m['column'], len(m['text']) < 600, 'needle' in m['text']) for m in found]",
    )

    assert found == [
        ["huge/far", 1, 5001, True, True],
        ["huge/latin", 3, 0, True, False],
        ["huge/long", 2, 0, True, False],
        ["huge/long", 3, 1, True, True],
        ["huge/many", 1, 0, True, True],
        ["huge/quoted", 1, 0, True, False],
        ["huge/quoted", 2, 8, True, True],
    ]


async def test_many_matches_cost_no_more_than_the_limit(app: App, folder: Path) -> None:
    for number in range(20):
        write(folder / "many" / str(number), "needle\n" * 20_000)

    found = await value_of(app, "ripgrep.search(query='needle', path='many', limit=50)")
    counted = await value_of(app, "ripgrep.count(query='needle', path='many')")

    assert (len(found["matches"]), found["more"]) == (50, True)
    assert (counted["total"], counted["files"]) == (400_000, 20)


async def test_a_pattern_that_ruins_other_engines_does_not_take_for_ever(app: App, folder: Path) -> None:
    write(folder / "evil" / "text", "a" * 100_000 + "b\n")

    found = await value_of(app, "ripgrep.count(query='(a+)+$|(a|a)*c|(.*)*d', path='evil')")

    assert found["total"] == 0


async def test_a_search_that_is_given_up_ends(app: App, folder: Path) -> None:
    """Over a sparse file of 100 GB, which takes longer than anybody waits."""
    (folder / "sparse").mkdir()
    with (folder / "sparse" / "file").open("wb") as file:
        file.truncate(100 * 1024**3)

    with anyio.move_on_after(1) as given_up:
        await app.executor.call("ripgrep.search", {"query": "needle", "path": "sparse/file"}, caller=NOBODY)

    assert given_up.cancelled_caught
    assert not [pid for pid in Path("/proc").glob("[0-9]*") if _command(pid).endswith(str(folder / "sparse" / "file"))]


def _command(process: Path) -> str:
    try:
        return (process / "cmdline").read_text().rstrip("\0")
    except OSError:
        return ""
