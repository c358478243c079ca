"""The server on a played Mac, asked by the official client: runs, packs, other servers, extensions."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
import yaml
from mcp import Client
from mcp_types import ImageContent, TextContent

from tests.engine import write_extension
from tests.macos.mac import Mac, configure
from tests.reference_servers.servers import reference_server
from tests.wheels import write_wheel

pytestmark = pytest.mark.anyio

SECRET = "hunter2-hunter2"
NPM = ("everything", "filesystem", "memory")
EXTENSION = """
    # /// script
    # requires-python = ">=3.11"
    # dependencies = ["thing"]
    # [tool.uv]
    # find-links = ["{wheels}"]
    # no-index = true
    # ///
    import sys

    import thing

    def version() -> list[str]:
        return [thing.VERSION, sys.platform]
"""


class Person:
    """Somebody at a client of the server."""

    def __init__(self, client: Client, home: Path) -> None:
        self.client, self.home = client, home

    async def run(self, command: str) -> str:
        """The text of an answer, which must not be an error."""
        text, is_error = await self.ask(command)
        assert not is_error, text
        return text

    async def value_of(self, command: str) -> Any:
        return yaml.safe_load(await self.run(command))

    async def fail(self, command: str) -> str:
        """The text of an error."""
        text, is_error = await self.ask(command)
        assert is_error, text
        return text

    async def ask(self, command: str) -> tuple[str, bool]:
        with anyio.fail_after(100):
            result = await self.client.call_tool("run", {"command": command})
        parts = (part.text if isinstance(part, TextContent) else type(part).__name__ for part in result.content)
        return "\n".join(parts), bool(result.is_error)


@pytest.fixture(scope="module")
async def person(mac: Mac, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Person]:
    home = tmp_path_factory.mktemp("home")
    (home / "diary.txt").write_text("private\n")
    write_wheel(home / "wheels", "1.0")
    write_extension(home, "things", EXTENSION.format(wheels=home / "wheels"))
    (home / ".onetool/secrets.yaml").write_text(f"TOKEN: {SECRET}\n")
    (home / ".onetool/secrets.yaml").chmod(0o600)
    config = {
        "execution": {"memory": "300m", "timeout": 60},
        "packs": {name: {"confine": False} for name in ("chart", "db", "excel")},
        "servers": {name: reference_server(name, home).settings() for name in NPM},
    }
    async with mac.connect(configure(home, yaml.safe_dump(config))) as client:
        yield Person(client, home)


async def test_runs_use_the_component(person: Person) -> None:
    sandbox = await person.value_of("ot.health()['sandbox']")

    assert (sandbox["status"], sandbox["engine"], sandbox["layers"]) == ("ok", "wasm", ["wasm"])
    assert await person.run("6 * 7") == "42"


async def test_limits_end_a_run_and_nothing_else(person: Person) -> None:
    full = await person.fail("x = 1\nkept = 'x' * 10**9")
    printed = await person.run("print('x' * 10**6)")

    assert "MemoryError" in full
    assert "line 2" in full
    assert len(printed) <= 20_000
    assert await person.run("6 * 7") == "42"


ROUTES = {
    "a file": "open({home!r} + '/diary.txt').read()",
    "a secret": "open({home!r} + '/.onetool/secrets.yaml').read()",
    "a folder": "os.listdir({home!r})",
    "a path upwards": "open('../' * 20 + {home!r}[1:] + '/diary.txt').read()",
    "writing": "open({home!r} + '/planted', 'w')",
    "writing for all": "open('/tmp/onetool-planted', 'w')",
    "the environment": "os.environ['OT_WASM_COMPILED']",
    "a process": "__import__('subprocess').check_output(['true'])",
    "a program": "os.posix_spawn('/usr/bin/true', ['true'], {{}})",
    "a fork": "os.fork()",
    "a socket": "__import__('socket').create_connection(('127.0.0.1', 9))",
    "a signal": "os.kill(os.getppid(), 0)",
}
TRY = """
import os
def attempt(step):
    try:
        return "GOT IN: %r" % (step(),)
    except BaseException as error:
        return "refused: %s" % type(error).__name__
"""


async def test_code_reaches_nothing(person: Person) -> None:
    attempts = (f"{name!r}: attempt(lambda: {route.format(home=str(person.home))})" for name, route in ROUTES.items())

    told = await person.value_of(f"{TRY}\n{{{', '.join(attempts)}}}")

    assert [name for name in ROUTES if not told[name].startswith("refused: ")] == [], told
    assert not (person.home / "planted").exists()


async def test_files_and_notes_are_kept(person: Person) -> None:
    read = await person.run("file.write(path='a/b.txt', content='one\\ntwo\\n')\nfile.read(path='a/b.txt')['lines']")
    await person.run(
        "file.edit(path='a/b.txt', old='two', new='three')\nfile.copy(path='a', output='c', recursive=True)"
    )
    (person.home / "a/away").symlink_to("/etc")

    assert "one" in read
    assert (person.home / "c/b.txt").read_text() == "one\nthree\n"
    assert "b.txt" in await person.run("file.tree(path='a')")
    assert "passwd" in await person.fail("file.read(path='a/away/passwd')")
    assert "milk" in await person.run("notes.write(title='Shopping', content='milk')\nnotes.read(title='Shopping')")


@pytest.mark.long
async def test_packs_with_helpers_work_where_a_person_switched_their_confinement_off(person: Person) -> None:
    with closing(sqlite3.connect(person.home / "shop.db")) as database, database:
        database.execute("CREATE TABLE sold (name, eur)")
        database.execute("INSERT INTO sold VALUES ('tea', 3)")
    database.close()

    rows = await person.value_of("db.query(path='shop.db', sql='SELECT * FROM sold')['rows']")
    await person.run("excel.create(path='sold.xlsx', sheets=[{'name': 'Sold', 'rows': [{'a': 1}]}])")
    picture = await person.run("chart.bar(rows=[{'a': 'x', 'n': 1}], x='a', y='n')")

    assert rows == [{"name": "tea", "eur": 3}]
    assert "1" in await person.run("excel.read(path='sold.xlsx')['rows']")
    assert ImageContent.__name__ in picture


@pytest.mark.long
async def test_servers_from_npm_answer(person: Person) -> None:
    assert "42" in await person.run("everything.get_sum(a=2, b=40)")
    assert "private" in await person.run(f"filesystem.read_text_file(path={str(person.home / 'diary.txt')!r})")
    assert await person.value_of("memory.read_graph()") == {"entities": [], "relations": []}


@pytest.mark.long
async def test_an_extension_has_its_dependency(person: Person) -> None:
    assert await person.value_of("things.version()") == ["1.0", "darwin"]
    assert re.search("things", await person.run("ot.health()['workers']"))


async def test_a_server_is_reached_whose_state_folder_has_a_long_path(mac: Mac, tmp_path: Path) -> None:
    home = configure(tmp_path / ("a" * 60) / ("b" * 60), "execution: {timeout: 60}\n")

    async with mac.connect(home):
        reloaded = await anyio.to_thread.run_sync(lambda: mac.run("reload", home=home))

    assert (reloaded.returncode, reloaded.stderr) == (0, "")
    assert "reloaded" in reloaded.stdout
    assert not list((home / ".onetool/state/running").iterdir())
    assert not [link for link in Path("/tmp").glob("onetool-*/to") if link.readlink().is_relative_to(home)]
