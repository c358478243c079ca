"""The notes pack: what is kept, found and given back, from several runs, projects and processes."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest
import yaml

from ot.app import App, open_app
from ot.clients.caller import Caller, ClientMemory
from ot.config.loader import load_config
from ot_packs.notes.store import Draft, open_notes
from tests.engine import open_engine

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    """For tests that leave no note."""
    async with open_engine(tmp_path_factory.mktemp("notes")) as app:
        yield app


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    async with open_engine(tmp_path / "home") as app:
        yield app


async def value_of(app: App, command: str) -> Any:
    answer = await app.runner.run(command)
    assert not answer.is_error, answer.text
    return yaml.safe_load(answer.text)


async def test_a_note_is_given_back_as_it_was_written(app: App) -> None:
    text = "Run `make release`\\n then tag; 'quotes', é😀, \\u2028"
    written = await value_of(app, f'notes.write(title="How to deploy", content="{text}", tags=["release", "ops"])')
    same = await app.runner.run(f'notes.read(title="How to deploy")["content"] == "{text}"')
    read = await value_of(app, "notes.read(title='How to deploy')")

    assert same.text == "True"
    assert (written["id"], written["replaced"]) == (read["id"], False)
    assert (read["tags"], read["project"]) == (["release", "ops"], written["project"])
    assert read["created"] == read["changed"]


async def test_dates_and_decimals_are_given_back_as_such(shared: App) -> None:
    command = """
        import datetime, decimal
        zone = datetime.timezone(datetime.timedelta(hours=2))
        day = [datetime.date(2026, 1, 31), datetime.datetime(2026, 1, 31, 12, 30, 0, 5, zone), datetime.time(7, 30)]
        value = {"days": day, "price": decimal.Decimal("12.10"), "count": 3, "nan": None}
        notes.write(title="dated", content=value, replace=True)
        read = notes.read(title="dated")["content"]
        found = notes.search(query="2026")["total"]
        notes.delete(title="dated")
        read == value, [type(each).__name__ for each in read["days"]], str(read["price"]), found
        """

    assert await value_of(shared, command) == [True, ["date", "datetime", "time"], "12.10", 1]


async def test_a_mark_of_our_own_is_refused(shared: App) -> None:
    answer = await shared.runner.run("notes.write(title='x', content={'$note': 'date', 'value': '2026-01-31'})")

    assert answer.is_error
    assert "cannot have the key '$note'" in answer.text


@pytest.mark.parametrize("value", [[1, 2.5, None, True], {"rows": [{"a": 1}]}, 3, "", "[1, 2]"], ids=repr)
async def test_plain_data_is_given_back_as_data_and_text_as_text(shared: App, value: object) -> None:
    await value_of(shared, f"notes.write(title='data', content={value!r})")

    assert await value_of(shared, f"notes.read(title='data')['content'] == {value!r}") is True
    await value_of(shared, "notes.delete(title='data')")


async def test_a_title_is_taken_once_unless_it_is_to_be_replaced(app: App) -> None:
    first = await value_of(app, "notes.write(title='t', content='first version', tags=['x'])")
    refused = await app.runner.run("notes.write(title='t', content='second')")
    again = await value_of(app, "notes.write(title='t', content='second', replace=True)")

    assert "there is already a note 't'; replace=True replaces it" in refused.text
    assert again == {**first, "replaced": True}
    assert (await value_of(app, "notes.read(title='t')"))["content"] == "second"
    assert (await value_of(app, "notes.search(query='version')"))["total"] == 0
    assert (await value_of(app, "notes.list()"))["total"] == 1


async def test_notes_are_found_by_the_words_of_title_tags_and_content(app: App) -> None:
    await value_of(app, "notes.write(title='Deploying', content='make release and then tag it', tags=['operations'])")
    await value_of(app, "notes.write(title='Lunch', content='the release party is on Friday')")

    async def titles(query: str, options: str = "") -> list[str]:
        found = await value_of(app, f"notes.search(query={query!r}{options})")
        return [note["title"] for note in found["notes"]]

    assert await titles("deploy") == ["Deploying"]
    assert await titles("operations release") == ["Deploying"]
    assert sorted(await titles("RELEASES")) == ["Deploying", "Lunch"]
    assert await titles("friday zzz") == ["Lunch"]
    assert await titles("release", ", tag='operations'") == ["Deploying"]
    assert await titles('"release* (-') == await titles("release")
    found = await value_of(app, "notes.search(query='party')")
    assert "party is on Friday" in found["notes"][0]["excerpt"]


async def test_pages_say_how_many_there_are(app: App) -> None:
    for number in range(5):
        await value_of(
            app, f"notes.write(title='n{number}', content='word', tags=['even'] if {number} % 2 == 0 else [])"
        )

    listed = await value_of(app, "notes.list(limit=2)")
    rest = await value_of(app, "notes.list(limit=2, offset=4)")
    tagged = await value_of(app, "notes.list(tag='even')")
    found = await value_of(app, "notes.search(query='word', limit=3, offset=3)")

    assert ([n["title"] for n in listed["notes"]], listed["total"], listed["more"]) == (["n4", "n3"], 5, True)
    assert ([n["title"] for n in rest["notes"]], rest["more"]) == (["n0"], False)
    assert [n["title"] for n in tagged["notes"]] == ["n4", "n2", "n0"]
    assert (len(found["notes"]), found["total"], found["more"]) == (2, 5, False)


async def test_a_deleted_note_is_gone_for_reading_and_searching(app: App) -> None:
    written = await value_of(app, "notes.write(title='t', content='zebra')")
    deleted = await value_of(app, "notes.delete(title='t')")

    assert deleted == {key: written[key] for key in ("id", "title", "project")}
    assert (await value_of(app, "notes.search(query='zebra')"))["total"] == 0
    for call in ("notes.read(title='t')", "notes.delete(title='t')", f"notes.read(id={written['id']})"):
        assert "there is no note" in (await app.runner.run(call)).text


async def test_notes_are_the_persons_and_know_their_project(app: App, tmp_path: Path) -> None:
    await value_of(app, "notes.write(title='shared', content='from home')")
    await value_of(app, "notes.write(title='only at home', content='from home')")
    other = tmp_path / "other"
    (other / ".onetool").mkdir(parents=True)
    async with open_app(load_config(environ={}, cwd=other, home=tmp_path / "home")) as there:
        await value_of(there, "notes.write(title='shared', content='from there')")

        assert (await value_of(there, "notes.read(title='shared')"))["content"] == "from there"
        assert (await value_of(there, "notes.read(title='only at home')"))["content"] == "from home"
        assert (await value_of(there, "notes.list()"))["total"] == 3
        assert (await value_of(there, "notes.list(here=True)"))["total"] == 1
        assert (await value_of(there, "notes.search(query='from', here=True)"))["total"] == 1
        refused = await there.runner.run("notes.delete(title='only at home')")
        assert "belongs to" in refused.text
        assert (await value_of(app, "notes.read(title='shared')"))["content"] == "from home"
    third = tmp_path / "third"
    (third / ".onetool").mkdir(parents=True)
    async with open_app(load_config(environ={}, cwd=third, home=tmp_path / "home")) as there:
        ambiguous = await there.runner.run("notes.read(title='shared')")
        assert "several projects have a note 'shared'; choose one by its id: " in ambiguous.text


async def test_a_stored_result_becomes_a_note(app: App) -> None:
    answer = await app.runner.run("[{'number': n, 'text': 'x' * 50} for n in range(2000)]")
    handle = re.match(r"\{handle: (\w+), ", answer.text)
    assert handle is not None

    await value_of(app, f"notes.write(title='rows', handle={handle[1]!r})")

    assert await value_of(app, "rows = notes.read(title='rows')['content']\n(len(rows), rows[1999]['number'])") == [
        2000,
        1999,
    ]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("notes.write(title='t')", "needs content, or the handle"),
        ("notes.write(title='t', content='a', handle='abcdefghjk')", "not both"),
        ("notes.write(title='t', handle='abcdefghjk')", "no stored result"),
        ("notes.write(title='', content='a')", "a title has 1 to 200"),
        ("notes.write(title='a\\nb', content='a')", "on one line"),
        ("notes.write(title='x' * 201, content='a')", "a title has 1 to 200"),
        ("notes.write(title='t', content='x' * 1_000_001)", "more than 1,000,000"),
        ("notes.write(title='t', content={1, 2})", "text or plain data"),
        ("notes.write(title='t', content=float('nan'))", "text or plain data"),
        ("notes.write(title='t', content='\\ud800')", "an unpaired surrogate"),
        ("notes.write(title='t', content='a', tags=[''])", "at most 20 tags"),
        ("notes.write(title='t', content='a', tags=[str(n) for n in range(21)])", "at most 20 tags"),
        ("notes.search(query='!!')", "no words"),
        ("notes.list(limit=0)", "limit must be between"),
        ("notes.list(offset=-1)", "offset must not be negative"),
        ("notes.read()", "say which note"),
        ("notes.read(title='none')", "there is no note 'none'"),
    ],
)
async def test_what_cannot_be_done_is_said(shared: App, call: str, said: str) -> None:
    answer = await shared.runner.run(call)

    assert answer.is_error
    assert said in answer.text
    assert (await value_of(shared, "notes.list()"))["total"] == 0


async def test_a_note_keeps_the_marks_of_its_writer_and_gives_them_to_its_reader(app: App) -> None:
    writer, reader, lister, other = (Caller(memory=ClientMemory(number)) for number in (1, 2, 3, 4))
    writer.memory.note(["mail.inbox"])
    await app.runner.run("notes.write(title='marked', content='zebra')", caller=writer)
    await app.runner.run("notes.write(title='plain', content='okapi')", caller=other)

    await app.runner.run("notes.read(title='plain')", caller=reader)
    assert reader.memory.read == set()
    await app.runner.run("notes.read(title='marked')", caller=reader)
    assert reader.memory.read == {"mail.inbox"}
    await app.runner.run("notes.search(query='zebra')", caller=lister)
    assert lister.memory.read == {"mail.inbox"}


async def test_a_flow_rule_holds_through_a_note(tmp_path: Path) -> None:
    config = "policy:\n  flows:\n    - {from: [demo.upper], to: [demo.echo]}\n"
    async with open_engine(tmp_path, config=config) as app:
        first, second = Caller(memory=ClientMemory(1)), Caller(memory=ClientMemory(2))
        await app.runner.run("notes.write(title='t', content=demo.upper(text='secret'))", caller=first)
        before = await app.runner.run("demo.echo(value=1)", caller=second)
        await app.runner.run("notes.read(title='t')", caller=second)
        after = await app.runner.run("demo.echo(value=1)", caller=second)

    assert not before.is_error
    assert after.is_error


def write_many(folder: str, name: str, count: int) -> None:
    for number in range(count):
        with open_notes(Path(folder)) as store:
            draft = Draft("/project", f"{name} {number}", "word", plain=True, tags=[], read_before=frozenset())
            store.write(draft, replace=False)
        if name == "killed" and number == count - 1:
            os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.long
async def test_several_processes_write_at_once_and_nothing_is_lost_where_one_is_killed(
    app: App, tmp_path: Path
) -> None:
    folder = tmp_path / "home" / ".onetool" / "state" / "packs" / "notes"
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write_many, args=(str(folder), name, 10)) for name in ("a", "b", "killed")]
    for writer in writers:
        writer.start()
    for writer in writers:
        await anyio.to_thread.run_sync(writer.join, 120)

    assert [writer.exitcode for writer in writers] == [0, 0, -signal.SIGKILL]
    assert (await value_of(app, "notes.search(query='word')"))["total"] == 30


async def test_damaged_notes_are_reported_and_left_for_a_person_to_save(app: App, tmp_path: Path) -> None:
    await value_of(app, "notes.write(title='t', content='a')")
    file = tmp_path / "home" / ".onetool" / "state" / "packs" / "notes" / "notes.db"
    file.write_bytes(b"no database" * 1000)

    answer = await app.runner.run("notes.list()")

    assert answer.is_error
    assert f"{file} cannot be used" in answer.text
    assert file.read_bytes() == b"no database" * 1000


async def test_the_file_is_for_its_owner_only(app: App, tmp_path: Path) -> None:
    await value_of(app, "notes.write(title='t', content='a')")
    folder = tmp_path / "home" / ".onetool" / "state" / "packs" / "notes"

    assert folder.stat().st_mode & 0o77 == 0
    assert all(file.stat().st_mode & 0o77 == 0 for file in folder.iterdir())
    with closing(sqlite3.connect(folder / "notes.db")) as connection, connection:
        connection.execute("INSERT INTO words (words) VALUES ('integrity-check')")
    connection.close()
