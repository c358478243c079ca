"""No built-in tool gives a part that code can take for the whole without being told, and the whole is easy to have."""

from __future__ import annotations

import importlib
import subprocess
from collections.abc import AsyncIterator
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints, is_typeddict

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ot_tools
from ot.app import App
from ot.registry.definitions import ToolDefinition
from ot.registry.from_source import read_pack
from ot_kernel.parts import Parts, find_parts
from tests.engine import answer_of, open_engine
from tests.properties import unhurried

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
    packs = [read_pack(file) for file in sorted(FOLDER.glob("*.py")) if file.name != "__init__.py"]
    tools = [tool for pack in packs for tool in pack.tools.values()]
    return [tool for tool in tools if {"limit", "count"} & {*_defaults(tool)}]


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
        return st.text("ab", min_size=0, max_size=300)
    return st.integers(0, 10_000) if kind is int else st.just(None)


@pytest.mark.parametrize("tool", TELLING, ids=lambda tool: tool.name)
@few
@given(data=st.data())
def test_whoever_takes_a_part_and_drops_more_is_reported(tool: ToolDefinition, data: st.DataObject) -> None:
    value = data.draw(values_of(result_type(tool), more=True))
    found = find_parts(value)
    assert found, "its result does not say that there is more"
    part = data.draw(st.sampled_from(found))
    content = [name for name, item in part.items() if isinstance(item, list) or len(str(item)) > 250]
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
        make_project(folder)
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
    subprocess.run([*run, "init", "-q"], check=True)
    subprocess.run([*run, "add", "lines.txt"], check=True)
    for number in range(COMMITS):
        subprocess.run([*run, "commit", "-q", "--allow-empty", "-m", f"commit {number}"], check=True)
    for number in range(110):
        subprocess.run([*run, "branch", f"branch-{number}"], check=True)


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
    "git.branches": ("", "branches", 111),
    "ripgrep.search": ("query='word', path='many'", "matches", FILES),
    "ripgrep.count": ("query='word', path='many'", "by_file", FILES),
    "ripgrep.files": ("path='many'", "paths", FILES),
    "code.symbols": ("path='code.py'", "symbols", 600),
    "code.references": ("name='word', path='code.py'", "references", 600),
    "code.find": ("pattern='word(1)', language='python', path='code.py'", "matches", 600),
    "db.query": ("path='rows.csv', sql='SELECT * FROM rows WHERE id < 2500 ORDER BY id'", "rows", ROWS),
    "notes.list": ("", "notes", 60),
    "convert.tables": ("path='rows.csv'", "tables", None),
}
BY_OFFSET = ["excel.read", "excel.formulas", "file.read", "file.list", "file.find", "git.log", "git.blame", "code.symbols",
             "db.query", "notes.list"]  # fmt: skip


@pytest.mark.anyio
@pytest.mark.parametrize("tool", CALLS)
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
