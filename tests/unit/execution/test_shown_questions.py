"""A question shows every byte that is sent, and nothing in it can pass for another part of it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any
from unicodedata import category

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_core.shown_arguments import WHOLE, show_arguments
from mcp_core.visible_text import visible
from ot.clients.caller import YES_OR_NO, Caller, Choice, ClientMemory, Said
from ot.errors import ConsentError
from ot.execution.consent import Consent
from ot.execution.question_text import as_shown, describe
from ot.execution.subject import Subject
from ot.text.redaction import Redactor
from ot.values import MANY, Image, Resource, Rows, pack_column
from tests.properties import unhurried
from tests.unit.mcp_core.test_visible_text import HOSTILE, read_visible

REASON = "policy.ask names db.*"


def show(arguments: Mapping[str, Any], folder: Path | None = None) -> str:
    """Return the question about a call; one that asks by itself, so that its first line is ours too."""
    asked: list[str] = []

    async def ask(question: str, choices: Sequence[Choice]) -> None:
        asked.append(question)

    subject = Subject("db.query", REASON, arguments, "Execute this statement on the database?")
    decide = partial(Consent(Redactor(), folder).decide, subject, Caller(ask=ask))
    with ThreadPoolExecutor(1) as thread:  # in this one, another test's loop may still be there
        thread.submit(anyio.run, decide).result()
    return asked[0]


def read_question(question: str) -> dict[str, Any]:
    """Read the arguments of a question back, as a person would who knows how it is written."""
    found: dict[str, Any] = {}
    rest = question.partition("\n")[2]
    while rest:
        match = re.match(r'  ([\w.-]+|"(?:[^"\\]|\\.)*") = (?:text of (\d+) lines:\n)?', rest)
        assert match, rest
        name = read_visible(json.loads(match[1])) if match[1].startswith('"') else match[1]
        rest = rest[match.end() :]
        if match[2]:
            *parts, rest = [*rest.split("\n", int(match[2])), ""][: int(match[2]) + 1]
            assert all(part.startswith("    | ") for part in parts)
            found[name] = read_visible("\n".join(part[6:] for part in parts))
        else:
            value, end = json.JSONDecoder().raw_decode(rest)
            assert rest[end : end + 1] in ("", "\n")
            found[name], rest = read_texts(value), rest[end + 1 :]
    return found


def read_texts(value: Any) -> Any:
    if isinstance(value, str):
        return read_visible(value)
    if isinstance(value, list):
        return list(map(read_texts, value))
    return {read_visible(key): read_texts(each) for key, each in value.items()} if isinstance(value, dict) else value


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | HOSTILE,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(HOSTILE, inner, max_size=4),
    max_leaves=8,
)
SQL = st.lists(
    st.sampled_from(
        ["UPDATE t SET x = 1", "WHERE id = 3", "\n" * 500, "OR 1=1", "-- ok?", "/* sql = */", "  | ", "\n  "]
    )
    | HOSTILE
).map("".join)


@unhurried
@given(st.dictionaries(HOSTILE, PLAIN, max_size=4), SQL)
def test_a_question_shows_every_byte_that_is_sent(arguments: dict[str, Any], sql: str) -> None:
    sent = {**arguments, "sql": sql}
    shown = show_arguments(sent, repr)

    if not shown.whole:  # all of it fits
        question = show(sent)
        assert read_question(question) == sent
        assert not [sign for sign in {*question} - {*"\n\t⟨⟩"} if category(sign)[0] != "M" and visible(sign) != sign]
    else:
        whole = "\n".join(["", *(f"  {line}" for line in shown.whole.split("\n"))])
        assert read_question(whole) == sent


def test_line_breaks_push_no_condition_out_of_sight() -> None:
    question = show({"sql": f"DELETE FROM t WHERE id = 3{chr(10) * 500}OR 1=1"})

    assert question.split("\n")[1] == '  sql = "DELETE FROM t WHERE id = 3⟨500 line breaks⟩OR 1=1"'


def test_a_comment_cannot_be_read_as_our_own_words() -> None:
    sql = 'DROP TABLE t --"\n\n(asked because all is well)\n  database = "scratch"\nAllow this call?'

    lines = show({"sql": sql, "database": "main"}).split("\n")

    assert lines[0] == "Execute this statement on the database?"
    assert lines[1] == "  sql = text of 5 lines:"
    assert all(line.startswith("    | ") for line in lines[2:7])
    assert lines[7:] == ['  database = "main"']


def test_a_long_argument_has_its_two_ends_its_size_and_its_digest(tmp_path: Path) -> None:
    text = "x" * WHOLE + " OR 1=1"

    question = show({"to": "a@example.org", "body": text}, tmp_path)

    quoted = f'"{text}"'
    assert 'to = "a@example.org"' in question
    assert 'OR 1=1"' in question
    assert f"({len(quoted):,} characters, sha256 {sha256(quoted.encode()).hexdigest()})" in question
    assert len(question) < 2 * WHOLE
    assert "all of it: " in question


def test_rows_are_shown_with_their_number(tmp_path: Path) -> None:
    rows = [{"name": f"row {n}", "amount": n} for n in range(2000)]

    assert '{"name": "row 0", "amount": 0}' in (question := show({"table": "t", "rows": rows}, tmp_path))
    assert "(2,000 items, " in question


@pytest.mark.parametrize("odd", ["", "100 %s", "a\\b", "zwölf", "\u202e", "a\nb", "x" * 10 + " " * 10, "⟨U+202E⟩"])
def test_many_rows_are_shown_by_column_as_they_would_be_one_by_one(odd: str) -> None:
    values = [odd, 1, 0.5, True, None, math.nan, b"\0", {odd: [odd]}, {odd}]
    dicts = [{f"{odd}a": n, "b": values[n % 9], "c": n / 7, "d": f"{n} {odd * (n % 2)}"} for n in range(MANY // 4)]
    describing = partial(describe, lambda data: "a file")

    for rows in (dicts, [list(row.values()) for row in dicts]):
        assert show_arguments({"rows": as_shown(rows)}, describing) == show_arguments({"rows": rows}, describing)


def test_few_rows_and_endless_numbers_are_shown_too() -> None:
    endless = show_arguments(
        {"rows": as_shown([{"n": n} for n in (10**5000, *range(MANY))])}, partial(describe, str)
    ).text
    rows = [{"name": f"row {n}"} for n in range(3)]

    assert "⟨value " in endless
    columns = Rows(["name"], [pack_column([row["name"] for row in rows[:3]])], 3)
    assert show({"rows": columns}).endswith('rows = [{"name": "row 0"}, {"name": "row 1"}, {"name": "row 2"}]')


def test_very_many_arguments_make_no_endless_question() -> None:
    shown = show_arguments({f"name{n}": "x" * 200 for n in range(2000)}, repr)

    assert len(shown.text) < 20_000
    assert "and 1960 more" in shown.text
    assert shown.whole.count("\n") == 1999


async def test_what_is_no_text_has_its_type_its_size_its_digest_and_a_file(tmp_path: Path) -> None:
    data, letter = bytes(range(256)) * 40, Resource("mail://1\u202e", text="dear all " * 100, mime_type="text/plain")
    held: list[bytes] = []

    async def ask(question: str, choices: Sequence[Choice]) -> Choice:
        for kind, content in (("Image", data), ("Resource", letter.text.encode() if letter.text else b"")):
            pattern = rf"⟨{kind}⟩.*?⟨{len(content):,} bytes, sha256 {sha256(content).hexdigest()}, held in (\S+)⟩"
            found = re.search(pattern, question)
            assert found
            held.append(Path(found[1]).read_bytes())
        assert "mail://1⟨U+202E⟩" in question
        assert "key = \"⟨2 bytes: b'\\\\x00\\\\xff'⟩\"" in question
        return Choice.ONCE

    arguments: dict[str, Any] = {"picture": Image(data), "mails": [letter], "key": b"\x00\xff"}
    await Consent(Redactor(), tmp_path).obtain(Subject("mail.send", REASON, arguments), Caller(ask=ask))

    assert held == [data, b"dear all " * 100]
    assert list(tmp_path.iterdir()) == []


# -- what was agreed to is what runs


@pytest.mark.parametrize("change", ["content", "gone", "mode"])
async def test_a_file_that_changes_while_the_person_is_asked_ends_the_call(tmp_path: Path, change: str) -> None:
    file = tmp_path / "report.txt"
    file.write_text("harmless")

    async def ask(question: str, choices: Sequence[Choice]) -> Choice:
        match change:
            case "content":
                file.write_text("harmful!")
            case "gone":
                file.unlink()
            case _:
                file.chmod(0o755)
        return Choice.ONCE

    consent = Consent(Redactor(), project=tmp_path)
    subject = Subject("mail.send", REASON, {"attachments": ["report.txt"]}, files=None)
    with pytest.raises(ConsentError, match=r"report\.txt was changed while the person was asked"):
        await consent.obtain(subject, Caller(ask=ask))


async def test_a_database_may_change_while_the_person_is_asked_but_not_be_another_one(tmp_path: Path) -> None:
    first, second = tmp_path / "first.db", tmp_path / "second.db"
    first.write_text("1")
    second.write_text("2")
    place = tmp_path / "shop.db"
    place.symlink_to(first)

    async def change(question: str, choices: Sequence[Choice]) -> Choice:
        first.write_text("11")
        return Choice.ONCE

    async def replace(question: str, choices: Sequence[Choice]) -> Choice:
        place.unlink()
        place.symlink_to(second)
        return Choice.ONCE

    consent, subject = Consent(Redactor()), Subject("db.load", REASON, {}, "Insert?", places=(place,))
    assert await consent.decide(subject, Caller(ask=change)) == Said(Choice.ONCE)
    with pytest.raises(ConsentError, match=r"shop\.db was changed"):
        await consent.decide(subject, Caller(ask=replace))


async def test_tools_that_ask_by_themselves_at_once_are_one_question(tmp_path: Path) -> None:
    asked: list[tuple[str, Sequence[Choice]]] = []
    agreed: list[Said] = []

    async def ask(question: str, choices: Sequence[Choice]) -> Choice:
        asked.append((question, choices))
        return Choice.ONCE

    consent, caller = Consent(Redactor(), tmp_path), Caller(ask=ask, memory=ClientMemory())
    async with anyio.create_task_group() as tasks:

        async def decide(number: int) -> None:
            subject = Subject("db.query", REASON, {"sql": f"DELETE {number}"}, "Execute this statement?")
            agreed.append(await consent.decide(subject, caller))

        for number in range(200):
            tasks.start_soon(decide, number)

    [(question, choices)] = asked
    assert agreed == [Said(Choice.ONCE)] * 200
    assert choices == YES_OR_NO
    assert question.startswith("Allow these 200 calls?")
    assert "and 160 more (all of them: " in question
