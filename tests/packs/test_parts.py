"""No built-in tool gives a part that code can take for the whole without being told, and the whole is easy to have."""

from __future__ import annotations

import importlib
import sqlite3
import subprocess
from collections.abc import AsyncIterator
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints, is_typeddict
from zipfile import ZipFile

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ot_tools
from ot.app import App
from ot.registry.definitions import ToolDefinition
from ot_kernel.parts import Parts, find_parts
from tests.engine import answer_of, open_engine
from tests.longer import long_after
from tests.properties import unhurried
from tests.read_packs import list_tools

WITHOUT_MORE = {
    "brave.news", "brave.images", "brave.videos", "brave.batch",  # searches that give the best first
    "ot.runs", "ot.result",  # the latest runs; a page of a stored result, which says `has_more`
    "file.edit",  # how often it replaces
    "shell.run",  # the beginning and the end of what a program wrote, with `cut`
}  # fmt: skip

FOLDER = Path(ot_tools.__file__).parent
few = settings(unhurried, max_examples=15)  # of each of some fifty tools


def limited_tools() -> list[ToolDefinition]:
    """The built-in tools that have a default limit."""
    return [tool for tool in list_tools(FOLDER) if {"limit", "count"} & {*_defaults(tool)}]


def _defaults(tool: ToolDefinition) -> set[str]:
    properties: Any = tool.parameters["properties"]
    return {name for name, schema in properties.items() if isinstance(schema.get("default"), int)}


LIMITED = limited_tools()
TELLING = [tool for tool in LIMITED if tool.name not in WITHOUT_MORE]


def result_type(tool: ToolDefinition) -> Any:
    module = importlib.import_module(f"ot_tools.{tool.pack}")
    return get_type_hints(getattr(module, tool.tool))["return"]


@cache
def values_of(kind: Any, *, more: bool) -> st.SearchStrategy[Any]:
    """Values of a declared type in which every `more` has this value."""
    if is_typeddict(kind):
        hints = get_type_hints(kind)
        return st.fixed_dictionaries(
            {name: st.just(more) if name == "more" else values_of(field, more=more) for name, field in hints.items()}
        )
    if get_origin(kind) is list:
        return st.lists(values_of(get_args(kind)[0], more=more), min_size=2, max_size=3)
    if kind is str:
        return st.sampled_from(("", "short", "a" * 250, "a" * 251, "a" * 300))
    return st.sampled_from((0, 1, 10_000)) if kind is int else st.just(None)


@pytest.mark.parametrize("tool", TELLING, ids=lambda tool: tool.name)
@few
@given(data=st.data())
def test_whoever_takes_a_part_and_drops_more_is_reported(tool: ToolDefinition, data: st.DataObject) -> None:
    value = data.draw(values_of(result_type(tool), more=True))
    found = find_parts(value)
    assert found, "its result does not say that there is more"
    part = data.draw(st.sampled_from(found))
    content = [
        name for name, item in part.items() if isinstance(item, list) or (len(str(item)) > 250 and name != "cut_by")
    ]
    taken = data.draw(st.lists(st.sampled_from(content), min_size=1)) if content else []
    parts = Parts()
    parts.add(tool.name, {}, found, value)

    for name in taken:
        part[name]

    reported = [each.tool for each in parts.unseen() if each.taken]
    assert reported == [tool.name] * bool(taken)
    part[data.draw(st.sampled_from(sorted({"more", "total", "offset"} & {*map(str, part)})))]
    assert not [each for each in parts.unseen() if each.taken]


@pytest.mark.parametrize("tool", TELLING, ids=lambda tool: tool.name)
@few
@given(data=st.data())
def test_what_is_all_there_is_reported_by_nobody(tool: ToolDefinition, data: st.DataObject) -> None:
    assert find_parts(data.draw(values_of(result_type(tool), more=False))) == []


ROWS, FILES, COMMITS = 2_500, 1_100, 60


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[App]:
    """An engine in a repository that has more of everything than a tool gives by default."""
    folder = tmp_path_factory.mktemp("parts") / "project"
    async with open_engine(folder) as opened:
        make_few(folder)
        make_project(folder)
        await answer_of(
            opened, "for number in range(4): notes.write(title=f'few {number}', content='text', tags=['few'])"
        )
        await answer_of(opened, "for number in range(60): notes.write(title=f'note {number}', content='text')")
        yield opened


def make_project(folder: Path) -> None:
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet()
    for number in range(ROWS):
        sheet.append([number, "word", f"=A{number + 1}"])
    book.save(folder / "book.xlsx")
    (folder / "lines.txt").write_text("".join(f"word {number}\n" for number in range(ROWS)))
    (folder / "rows.csv").write_text("id,name\n" + "".join(f"{number},word\n" for number in range(120_000)))
    (folder / "many").mkdir()
    for number in range(FILES):
        (folder / "many" / f"{number:04}.txt").write_text("word\n")
    (folder / "code.py").write_text("".join(f"def word_{number}(): word(1)\n" for number in range(600)))
    run = ["git", "-c", "user.name=A", "-c", "user.email=a@b.c", "-C", str(folder)]
    subprocess.run([*run, "init", "-q", "-b", "start"], check=True)
    subprocess.run([*run, "add", "lines.txt", "few/0.py", "few/empty"], check=True)
    subprocess.run([*run, "commit", "-q", "-m", "first"], check=True)
    text = (folder / "few" / "0.py").read_text()
    history = ["reset refs/heads/main", "from HEAD^0"]
    for number in range(1, COMMITS):
        file = f"M 100644 inline few/0.py\ndata <<END\n{text * number}END\n" if number < 5 else ""
        history.append(f"commit refs/heads/main\ncommitter A <a@b.c> {number} +0000\ndata <<END\n{number}\nEND\n{file}")
    history += [f"reset refs/heads/branch-{number}\nfrom refs/heads/main\n" for number in range(110)]
    history += [f"reset refs/tags/few-{number}\nfrom refs/heads/main\n" for number in range(4)]
    subprocess.run([*run, "fast-import", "--quiet"], input="\n".join(history), text=True, check=True)
    subprocess.run([*run, "checkout", "-q", "main"], check=True)


CALLS = {
    "excel.read": ("path='book.xlsx'", "rows", ROWS),
    "excel.search": ("path='book.xlsx', query='word'", "matches", ROWS),
    "excel.formulas": ("path='book.xlsx'", "formulas", ROWS),
    "file.read": ("path='lines.txt'", "lines", ROWS),
    "file.list": ("path='many'", "entries", FILES),
    "file.find": ("path='many', query='*.txt'", "entries", FILES),
    "git.log": ("", "commits", COMMITS),
    "git.blame": ("path='lines.txt'", "lines", ROWS),
    "git.status": ("", "changes", None),
    "git.branches": ("", "branches", 112),
    "ripgrep.search": ("query='word', path='many'", "matches", FILES),
    "ripgrep.count": ("query='word', path='many'", "by_file", FILES),
    "ripgrep.files": ("path='many'", "paths", FILES),
    "code.symbols": ("path='code.py'", "symbols", 600),
    "code.references": ("name='word', path='code.py'", "references", 600),
    "code.find": ("pattern='word(1)', language='python', path='code.py'", "matches", 600),
    "db.query": ("path='rows.csv', sql='SELECT * FROM rows WHERE id < 2500 ORDER BY id'", "rows", ROWS),
    "notes.list": ("", "notes", 64),
    "convert.tables": ("path='rows.csv'", "tables", None),
}
BY_OFFSET = ["excel.read", "excel.formulas", "file.read", "file.list", "file.find", "git.log", "git.blame", "code.symbols",
             "db.query", "notes.list"]  # fmt: skip


@pytest.mark.anyio
@pytest.mark.parametrize("tool", long_after(9, CALLS))
async def test_a_tool_that_gives_a_part_is_named_in_the_answer(app: App, tool: str) -> None:
    arguments, field, total = CALLS[tool]

    dropped = await answer_of(app, f"len({tool}({arguments})['{field}'])")
    looked = await answer_of(app, f"found = {tool}({arguments})\n(len(found['{field}']), found['more'])")

    assert dropped.count("gave") == dropped.count(f"[{tool} gave ") == (1 if total else dropped.count("gave"))
    assert "gave" not in looked


@pytest.mark.anyio
@pytest.mark.parametrize("tool", [name for name, (_, _, total) in CALLS.items() if total])
async def test_no_limit_gives_everything(app: App, tool: str) -> None:
    arguments, field, total = CALLS[tool]

    answer = await answer_of(app, f"len({tool}({arguments}{', ' if arguments else ''}limit=None)['{field}'])")

    assert answer == str(total)


@pytest.mark.anyio
@pytest.mark.parametrize("tool", BY_OFFSET)
async def test_the_parts_are_the_whole(app: App, tool: str) -> None:
    arguments, field, _ = CALLS[tool]
    more = f", {arguments}" if arguments else ""
    code = f"""
    parts = [*ot.pages({tool}{more})]
    items = [item for part in parts for item in part['{field}']]
    (len(parts) > 1, items == {tool}({arguments}{", " if arguments else ""}limit=None)['{field}'])
    """
    assert await answer_of(app, code) == "[true, true]"


@pytest.mark.anyio
async def test_tables_and_texts_of_documents_come_in_parts(app: App) -> None:
    code = """
    rows = [row for part in ot.pages(convert.tables, path='rows.csv') for table in part['tables'] for row in table['rows']]
    text = ''.join(part['text'] for part in ot.pages(convert.auto, path='rows.csv', limit=5))
    (len(rows), all(f'| {number} | word |' in text for number in range(0, 120_000, 997)))
    """
    assert await answer_of(app, code) == "[120001, true]"


FEW = {
    "excel.read": ("path='few.xlsx'", "rows", "path='few.xlsx', range='F1:F9'"),
    "excel.search": ("path='few.xlsx', query='word'", "matches", "path='few.xlsx', query='none'"),
    "excel.formulas": ("path='few.xlsx'", "formulas", "path='few.xlsx', sheet=1, range='A1:A2'"),
    "file.read": ("path='few/0.py'", "lines", "path='few/empty'"),
    "file.list": ("path='few/list'", "entries", "path='few/none'"),
    "file.find": ("path='few', query='*.py', kind='file'", "entries", "path='few', query='*.none'"),
    "file.tree": ("path='few/list'", "tree", "path='few/none'"),
    "git.log": ("path='few/0.py'", "commits", "path='few/list'"),
    "git.blame": ("path='few/0.py'", "lines", "path='few/empty'"),
    "git.read": ("path='few/0.py'", "lines", "path='few/empty'"),
    "git.tags": ("", "tags", ""),
    "git.status": ("path='few'", "changes", "path='few/0.py'"),
    "ripgrep.search": ("query='word', path='few'", "matches", "query='none', path='few'"),
    "ripgrep.count": ("query='word', path='few'", "by_file", "query='none', path='few'"),
    "ripgrep.files": ("path='few'", "paths", "path='few', glob='*.none'"),
    "code.search": ("query='word', path='few'", "files", "query='none', path='few'"),
    "code.symbols": ("path='few/0.py'", "symbols", "path='few/none'"),
    "code.references": ("name='word', path='few'", "references", "name='none', path='few'"),
    "code.find": ("pattern='word($A)', language='python', path='few'", "matches", "pattern='none()', language='python', path='few'"),
    "db.query": ("path='few.db', sql='SELECT * FROM t0 ORDER BY 1'", "rows", "path='few.db', sql='SELECT 1 WHERE 1 = 2'"),
    "db.sample": ("path='few.db', table='t0'", "rows", "path='few.db', table='t1'"),
    "db.tables": ("path='few.db'", "tables", "path='none.db'"),
    "db.schema": ("path='few.db'", "tables", "path='none.db'"),
    "notes.list": ("tag='few'", "notes", "tag='none'"),
    "notes.search": ("query='few', tag='few'", "notes", "query='few', tag='none'"),
    "convert.tables": ("path='few.html'", "tables", "path='none.html'"),
    "convert.images": ("path='few.docx'", "images", "path='none.html'"),
}  # fmt: skip
"""Arguments with which a tool gives a few items, their field, and arguments with which it gives none."""


WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def make_few(folder: Path) -> None:
    book = openpyxl.Workbook()
    for number in range(4):
        book.active.append([number, "word", f"=A{number + 1}"])
    book.save(folder / "few.xlsx")
    for name in ("few", "few/list", "few/none"):
        (folder / name).mkdir()
    (folder / "few" / "empty").touch()
    for number in range(4):
        (folder / "few" / "list" / f"{number}.txt").touch()
        (folder / "few" / f"{number}.py").write_text("".join(f"def f{line}(): word(1)\n" for line in range(4)))
    with closing(sqlite3.connect(folder / "few.db")) as shop:
        shop.executescript("".join(f"CREATE TABLE t{number} (id INTEGER);" for number in range(4)))
        shop.executescript("INSERT INTO t0 VALUES (1), (2), (3), (4)")
    with closing(sqlite3.connect(folder / "none.db")) as shop:
        shop.executescript("PRAGMA user_version = 1; VACUUM")
    (folder / "few.html").write_text("".join(f"<table><tr><td>{number}</table>" for number in range(4)))
    (folder / "none.html").write_text("<p>nothing")
    with ZipFile(folder / "few.docx", "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", f'<w:document xmlns:w="{WORD}"><w:body/></w:document>')
        for number in range(4):
            archive.writestr(f"word/media/{number}.png", b"\x89PNG\r\n\x1a\n")


@pytest.mark.anyio
@pytest.mark.parametrize("tool", long_after(9, FEW))
async def test_more_and_total_are_true_at_every_edge(app: App, tool: str) -> None:
    arguments, field, nothing = FEW[tool]
    (definition,) = (each for each in LIMITED if each.name == tool)
    properties: Any = definition.parameters["properties"]
    first = properties.get("offset", {}).get("default")
    code = f"""
    def look(**page):
        found = {tool}(**{{**dict({arguments}), **page}})
        assert found.get('files' if '{field}' == 'by_file' else 'total', None) in (None, n), found
        return len(found['{field}']), found['more']
    n = None
    n = len({tool}({arguments}{", " if arguments else ""}limit=None)['{field}'])
    assert n > 2, n
    came = [look(limit=limit) for limit in (None, n, n + 1, n - 1, 1)]
    assert came == [(n, False), (n, False), (n, False), (n - 1, True), (1, True)], came
    for first in {[] if first is None else [first]}:
        came = [look(offset=offset + first) for offset in (n - 1, n, n + 7)]
        assert came == [(1, False), (0, False), (0, False)], came
        assert look(offset=first + n - 2, limit=1) == (1, True)
    n = 0
    look(**dict({nothing})) if {nothing!r} else (0, False)
    """
    assert await answer_of(app, code) == "[0, false]"
