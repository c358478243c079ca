"""Every example in the docstring of a built-in pack's tool runs as it stands, through `run`."""

from __future__ import annotations

import re
import shutil
import sqlite3
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import openpyxl
import pytest
import yaml

from ot.app import App
from ot.clients.caller import Caller, Choice
from ot.registry.definitions import ToolDefinition
from tests.engine import answer_of, open_engine
from tests.opened_executor import BUILT_IN
from tests.packs.convert.pdfs import make_pdf, table
from tests.packs.web.site import Site
from tests.proxied import program
from tests.raw_http import serving
from tests.read_packs import list_tools
from tests.services.configured import configure
from tests.services.everything import Played, play_all

EXAMPLES = list_tools(BUILT_IN)
MEANT_TO_FAIL = {"demo.fail"}

Prepare = Callable[[Path], None]


def write_sources(folder: Path) -> None:
    (folder / "src").mkdir(exist_ok=True)
    (folder / "src" / "app.py").write_text("def parse_header(text):  # TODO\n    return open(text, 'r')\n")
    (folder / "README.md").write_text("# A project\n\nWith three\nlines.\n")


def write_lock(folder: Path) -> None:
    (folder / "requirements.txt").write_text("pydantic==2.11.3\n")


def write_repository(folder: Path) -> None:
    shutil.rmtree(folder / ".git", ignore_errors=True)
    write_sources(folder)
    for words in (["init", "-q", "-b", "main"], ["add", "README.md", "src"], ["commit", "-q", "-m", "Begin"]):
        subprocess.run(
            ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.com", *words], cwd=folder, check=True
        )
    subprocess.run(["git", "config", "user.name", "Ada"], cwd=folder, check=True)
    subprocess.run(["git", "config", "user.email", "ada@example.com"], cwd=folder, check=True)
    (folder / "notes.txt").write_text("new\n")


def stage_notes(folder: Path) -> None:
    write_repository(folder)
    subprocess.run(["git", "add", "notes.txt"], cwd=folder, check=True)


def change_tracked_file(folder: Path) -> None:
    write_repository(folder)
    (folder / "README.md").write_text("# Changed\n")


def write_database(folder: Path) -> None:
    (folder / "shop.db").unlink(missing_ok=True)
    with closing(sqlite3.connect(folder / "shop.db")) as shop, shop:
        shop.execute("CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT, price REAL)")
        shop.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, product INTEGER REFERENCES products)")
        shop.execute("INSERT INTO products (name, price) VALUES ('tea', 4.5), ('pot', 20)")


def write_workbook(folder: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Sales"
    for row in (["region", "sum"], ["north", 120], ["south", "=B2*2"]):
        sheet.append(row)
    book.save(folder / "sales.xlsx")


def write_report(folder: Path) -> None:
    (folder / "report.pdf").write_bytes(make_pdf([table([["region", "sum"], ["north", "120"], ["south", "80"]])] * 3))


def write_drafts(folder: Path) -> None:
    write_sources(folder)
    shutil.rmtree(folder / "docs", ignore_errors=True)
    (folder / "docs").mkdir()
    (folder / "draft.md").write_text("# Draft\n")
    (folder / "setup.cfg").write_text("[metadata]\nversion = 1\n")


FILES: dict[str, Prepare] = {
    "code": write_sources,
    "context7": write_lock,
    "convert": write_report,
    "db": write_database,
    "excel": write_workbook,
    "file": write_drafts,
    "git": write_repository,
    "git.commit": stage_notes,
    "git.stash": change_tracked_file,
    "package": write_lock,
    "ripgrep": write_sources,
}
"""What lies in the project before an example, by tool or by pack."""

NOTE = 'notes.write(title="How to deploy", content="make release, then tag", tags=["release"], replace=True)'
CODE = {
    "notes": NOTE,
    "ot.kept": 'ot.keep(name="rows", value=[{"amount": 7}])',
    "notes.write": f'{NOTE}\nnotes.delete(title="How to deploy")',
}
"""What was run before an example, by tool or by pack."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("project")


@pytest.fixture(scope="module")
async def site() -> AsyncIterator[Site]:
    """What stands at docs.example.com and api.example.com."""
    async with serving(Site()) as site:
        page = '<title>Guide</title><main><h1>Guide</h1><h2>Installation</h2><a href="/api">api</a></main>'
        for path in ("/guide", "/a", "/b"):
            site.page(path, page)
        site.page("/items", "{}", "application/json")
        site.page("/news.xml", "<rss><channel><item><title>News</title></item></channel></rss>", "application/rss+xml")
        site.page("/sitemap.xml", "<urlset><url><loc>https://docs.example.com/a</loc></url></urlset>", "text/xml")
        yield site


@pytest.fixture(scope="module")
async def services() -> AsyncIterator[Played]:
    async with play_all() as played:
        yield played


@pytest.fixture(scope="module")
def registries(services: Played) -> Iterator[None]:
    """What pip and npm are configured with."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        configure(monkeypatch, pypi=services.pypi, npm=services.npm)
        yield


@pytest.fixture(scope="module")
async def app(project: Path, site: Site, services: Played, registries: None) -> AsyncIterator[App]:
    config = {
        "projects": {"onetool": str(project)},
        "topics": [{"pattern": "notes", "file": str(project / "remember.yaml")}],
        "execution": {"patience": 0.05},
        "policy": {"allow": ["*"]},  # examples that ask a person go on without one
        "servers": {"everything": program("with_documents")},
        "packs": {tool.pack: {"enabled": True} for tool in EXAMPLES}
        | {"web": {"allow": [f"127.0.0.1:{site.port}"]}, "shell": {"enabled": True, "allow": ["ls"]}}
        | services.packs,
        "ai": services.ai,
    }
    async with open_engine(project, config=yaml.safe_dump(config), secrets=services.secrets, demo=False) as app:
        yield app


@pytest.mark.parametrize("tool", EXAMPLES, ids=lambda tool: tool.name)
async def test_the_example_runs(app: App, project: Path, site: Site, tool: ToolDefinition) -> None:
    prepare = FILES.get(tool.name) or FILES.get(tool.pack)
    if prepare is not None:
        prepare(project)
    if before := CODE.get(tool.name) or CODE.get(tool.pack):
        await answer_of(app, before)
    example = re.sub(r"https://\w+\.example\.com", site.address(""), tool.docs.example)
    if "k7w2m9x4qd" in example:
        example = example.replace("k7w2m9x4qd", await _store(app))
    if tool.name in ("ot.resume", "ot.apply", "ot.undo"):
        name = f"r7k2m9xq{tool.tool}"
        example = example.replace("r7k2m9xqd", name)
        done = 'file.write(path="undone.txt", content="x")' if tool.name == "ot.undo" else "proj.list()"
        await app.runner.run(done, caller=Caller(run_id=name), preview=tool.name == "ot.apply")
    elif "r7k2m9xqd" in example:
        example = example.replace("r7k2m9xqd", await _outlast_patience(app, 60 if tool.name == "ot.stop" else 1))

    answer = await app.runner.run(example, Caller(ask=agree))

    assert answer.is_error == (tool.name in MEANT_TO_FAIL), answer.text


async def agree(_question: str, _choices: Sequence[Choice]) -> Choice:
    return Choice.ONCE


async def _outlast_patience(app: App, seconds: float) -> str:
    """Give the name of a run that goes on for so long."""
    answer = await app.runs.run(f"import time\ntime.sleep({seconds})", caller=Caller())
    found = re.search(r"Run (r\w+) is still running", answer.text)
    assert found is not None, answer.text
    return found[1]


async def _store(app: App) -> str:
    """Give a handle to a stored result."""
    text = await answer_of(app, "[{'amount': n, 'kind': 'error'} for n in range(9000)]")
    return text.partition("handle=")[2].strip("'\"")[:10]
