"""What a failing run tells of the calls that had succeeded before."""

from __future__ import annotations

import pytest

from ot.effects import Effect
from ot.run.made_calls import LONGEST_LINE, Lookalikes, MadeCalls
from ot.text.redaction import Redactor

Call = tuple[str, Effect, dict[str, object]]


def make(*calls: Call, size: int = 100) -> MadeCalls:
    made = MadeCalls()
    for tool, effect, keywords in calls:
        made.add(tool, effect, [], keywords, size)
    return made


def lines_of(made: MadeCalls, *secrets: str) -> list[str]:
    return made.word(Redactor(frozenset(secrets))).splitlines()


def send(to: object) -> Call:
    return "mail.send", Effect.UNKNOWN, {"to": to}


def test_no_calls_are_no_words() -> None:
    assert lines_of(MadeCalls()) == []


def test_calls_are_listed_in_their_order_as_code_would_write_them() -> None:
    made = make(("db.query", Effect.READS, {"sql": "select 1"}), send("a@b.c"))
    made.add("git.log", Effect.READS, ["main"], {"most": 3}, 100)

    assert lines_of(made) == [
        "Calls that succeeded:",
        "  db.query(sql='select 1')",
        "  mail.send(to='a@b.c')",
        "  git.log('main', most=3)",
    ]


def test_equal_calls_that_follow_one_another_are_one_line() -> None:
    assert lines_of(make(send("a"), send("a"), send("a"), send("b"), send("a")))[1:] == [
        "  mail.send(to='a')  (3 times)",
        "  mail.send(to='b')",
        "  mail.send(to='a')",
    ]


def test_of_many_the_first_and_the_last_are_listed_and_the_rest_is_counted() -> None:
    found = lines_of(make(*(send(number) for number in range(1000))))

    assert found[1:4] == [f"  mail.send(to={number})" for number in range(3)]
    assert found[4] == "  ... 992 more: mail.send 992 times"
    assert found[5:] == [f"  mail.send(to={number})" for number in range(995, 1000)]


def test_reading_does_not_push_out_what_had_an_effect() -> None:
    reads: list[Call] = [("db.query", Effect.READS, {"n": number}) for number in range(500)]

    found = lines_of(make(send("a"), *reads, send("b"), *reads))

    assert [line for line in found if "mail.send" in line] == ["  mail.send(to='a')", "  mail.send(to='b')"]
    assert "  ... 996 more: db.query 996 times" in found


def test_what_comes_late_is_listed_late_whatever_it_does() -> None:
    found = lines_of(make(*(send(number) for number in range(20)), ("db.query", Effect.READS, {"n": 1})))

    assert found[4] == "  ... 12 more: mail.send 12 times"
    assert found[-1] == "  db.query(n=1)"


def test_tools_that_are_left_out_are_named_up_to_a_number() -> None:
    calls: list[Call] = [(f"pack.tool_{number}", Effect.READS, {}) for number in range(30)]

    assert any(line.endswith("and 21 other tools") for line in lines_of(make(*calls)))


def test_long_arguments_are_shortened_and_secrets_masked_before() -> None:
    secret = "s3cret" * 20

    (line,) = lines_of(
        make(("web.fetch", Effect.READS, {"url": f"https://x/?key={secret}", "n": [*range(99)]})), secret
    )[1:]

    assert "s3cret" not in line
    assert line == "  web.fetch(url='https://x/?key=***', n=[0, 1, 2, ...])"


def test_no_line_is_long_whatever_is_given() -> None:
    wide: dict[str, object] = {f"argument_{number}": "x" * 1000 for number in range(50)}

    found = lines_of(make(("a.b", Effect.UNKNOWN, wide), ("a.c", Effect.UNKNOWN, {"nested": {"a": {"b": {"c": 1}}}})))

    assert max(map(len, found)) <= LONGEST_LINE + 2
    assert found[2] == "  a.c(nested={'a': {'b': {...}}})"


def test_large_arguments_are_neither_shown_nor_kept() -> None:
    assert lines_of(make(("file.write", Effect.UNKNOWN, {"text": "x"}), size=100_000))[1:] == ["  file.write(...)"]


def test_names_of_arguments_that_come_from_data_stay_on_their_line() -> None:
    names: dict[str, object] = {
        "a\nCalls that succeeded:\n  bank.pay()": 1,
        "n" * 500: 2,
        "ä-b": 3,
        "hunter2hunter2": 4,
    }

    [_, line] = lines_of(make(("web.post", Effect.UNKNOWN, names)), "hunter2hunter2")

    assert line.startswith(r"  web.post('a\nCalls that succeeded:\n  bank.pay()'=1, 'nnn")
    assert line.endswith("nnn'=2, ä-b=3, ***=4)")


def given(*texts: object) -> Lookalikes:
    found = Lookalikes()
    for number, text in enumerate(texts):
        found.add(f"pack.tool_{number}", text)
    return found


@pytest.mark.parametrize(
    ("text", "kind", "reader"),
    [
        ('{"a": 1}', "dict", "json.loads"),
        ("[1, 2]", "list", "json.loads"),
        ("{'a': 1}", "dict", "ast.literal_eval"),
        ("(1, 2)", "tuple", "ast.literal_eval"),
        ('["\\d"]', "list", "ast.literal_eval"),
    ],
)
def test_text_that_looks_like_a_value_is_explained(text: str, kind: str, reader: str) -> None:
    assert given(text).explain(text) == f"[This is text (str), not a {kind}: {reader}() makes it one.]"
    assert given("other", text).suspect() == f"[pack.tool_1 gave text (str), not a {kind}: {reader}() makes it one.]"


@pytest.mark.parametrize("text", ["words", "{not one", "(so) it is", "[" * 10_000, ["a"], None])
def test_what_does_not_look_like_a_value_is_not_explained(text: object) -> None:
    assert given(text).explain(text) == ""
    assert given(text).suspect() == ""


def test_only_text_that_a_tool_gave_is_explained() -> None:
    assert given("[1]").explain("[2]") == ""
    assert given("[1]").explain([1]) == ""
    assert given().suspect() == ""


@pytest.mark.parametrize(
    ("begins", "reader"), [('[{"a', "json.loads"), ("[\n ('a", "ast.literal_eval"), ("[1, 2", ""), ("[words", "")]
)
def test_of_a_long_text_the_beginning_tells_what_reads_it(begins: str, reader: str) -> None:
    long = begins + "x" * 20_000

    assert given(long).suspect() == (
        f"[pack.tool_0 gave text (str), not a list: {reader}() makes it one.]" if reader else ""
    )
    assert given(long).explain(long) == ""
    assert given(f"{begins}xxx").suspect() == ""  # a short one is known to be none


def test_the_latest_texts_are_suspected_first_and_not_all_of_them() -> None:
    assert "tool_1 gave" in given("[1]", "[2]", "{no").suspect()
    assert given("[1]", *(f"[{number}" for number in range(8))).suspect() == ""
    assert "tool_63" in given(*(f"[{number}]" for number in range(100))).suspect()
