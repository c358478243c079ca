"""One question for a whole run: what it would go on with is found out in a second kernel, and listed."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import pytest

from mcp_core.quick_dataclass import replace
from ot.clients.caller import Choice, Some
from tests.engine import open_engine
from tests.ledger import LEDGER, Desk, name_in

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("one question")]  # the tests share an engine

CONFIG = """
policy:
  ask: [ledger.pay, ledger.note, ot.keep, {tool: ledger.mark, more_than: 2}, {tool: file.write, where: {path: asked*}}]
  flows: [{from: [ledger.count], to: [ledger.note], action: ask}]
"""
THREE = """
for name in ("ann", "bob", "eve"):
    try:
        ledger.pay(to=name)
    except PermissionError as error:
        print(name, error)
"""


@pytest.fixture(scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[Desk]:
    folder = tmp_path_factory.mktemp("question") / "project"
    async with open_engine(folder, config=CONFIG, packs={"ledger": LEDGER}) as app:
        yield Desk(app, folder)


@pytest.fixture
def desk(shared: Desk) -> Desk:
    return shared.cleared()


async def test_a_person_is_asked_once_for_all(desk: Desk) -> None:
    answer = await desk.run(THREE)

    [question] = desk.asked
    assert question.startswith('Allow these 3 calls?\n\n1. ledger.pay\n  to = "ann"\n')
    assert [call.split(", ")[1] for call in desk.calls[0]] == ['to = "ann"', 'to = "bob"', 'to = "eve"']
    assert not answer.is_error
    assert desk.lines == ["pay ann 1", "pay bob 1", "pay eve 1"]


async def test_a_no_is_for_all_of_them(desk: Desk) -> None:
    desk.answers.append(None)
    answer = await desk.run(THREE)

    assert len(desk.asked) == 1
    assert answer.text.count("the answer was no") == 3
    assert desk.lines == []


async def test_some_are_made_and_the_others_refused(desk: Desk) -> None:
    desk.answers.append(Some(frozenset({0, 2})))
    answer = await desk.run(THREE)

    assert len(desk.asked) == 1
    assert desk.lines == ["pay ann 1", "pay eve 1"]
    assert "bob ledger.pay was not called" in answer.text


@pytest.mark.parametrize("choice", [Choice.RUN, Choice.CLIENT])
async def test_a_yes_for_longer_is_as_before(desk: Desk, choice: Choice) -> None:
    desk.answers.append(choice)
    await desk.run(f"{THREE}\nfor _ in range(ledger.count()): ledger.pay(to='more')")
    assert len(desk.asked) == 1
    assert len(desk.lines) == 6


async def test_what_was_made_before_is_not_made_again(desk: Desk) -> None:
    desk.answers += [Choice.ONCE, Choice.ONCE]
    await desk.run(
        """
        ledger.mark(value=1)
        before = ledger.count()
        try:
            ledger.describe(entry=1, wrong=2)
        except TypeError:
            ledger.mark(value=2)
        ledger.pay(to=f"after {before}")
        ledger.pay(to="last")
        """
    )
    assert len(desk.asked) == 1
    assert 'to = "after 1"' in desk.asked[0]
    assert desk.lines == ["mark", "mark", "pay after 1 1", "pay last 1"]


async def test_what_could_not_be_foreseen_is_asked_for_itself(desk: Desk) -> None:
    await desk.run("paid = ledger.pay(to='ann')\nledger.note(value=paid['id'])\nledger.note(value=2)")

    assert ["Allow this call?" in question for question in desk.asked] == [True, True, True]
    assert desk.lines == ["pay ann 1", "note 1", "note 2"]


async def test_a_result_on_the_list_is_the_one_that_was_given(desk: Desk) -> None:
    await desk.run("paid = ledger.pay(to='ann')\nledger.note(value={'paid': paid})")

    [question] = desk.asked
    assert 'value = {"paid": "⟨what call 1 gives⟩"}' in question
    assert desk.lines == ["pay ann 1", "note {'paid': {'id': 1, 'to': 'ann'}}"]


async def test_an_agreed_call_is_not_another(desk: Desk) -> None:
    sly = """
        paid = ledger.pay(to="ann")
        honest = type(paid).__name__ == "StandIn"
        ledger.pay(to="bob" if honest else "mallory")
        """
    desk.answers += [Choice.ONCE, None]
    refused = await desk.run(sly)

    assert len(desk.asked) == 2
    assert "mallory" not in desk.asked[0]
    assert "mallory" in desk.asked[1]
    assert refused.is_error
    assert desk.lines == ["pay ann 1"]


async def test_another_value_is_not_the_one_that_was_listed(desk: Desk) -> None:
    sly = """
        paid = ledger.pay(to="ann")
        ledger.note(value=paid if type(paid).__name__ == "StandIn" else {"id": 1, "to": "mallory"})
        """
    desk.answers += [Choice.ONCE, None]
    await desk.run(sly)
    assert len(desk.asked) == 2
    assert desk.lines == ["pay ann 1"]


async def test_each_passes_once(desk: Desk) -> None:
    desk.answers += [Choice.ONCE, None]
    refused = await desk.run(
        "paid = ledger.pay(to='ann')\nledger.pay(to='bob')\nif type(paid).__name__ != 'StandIn': ledger.pay(to='bob')"
    )
    assert len(desk.asked) == 2
    assert refused.is_error
    assert desk.lines == ["pay ann 1", "pay bob 1"]


async def test_a_new_reason_is_asked_about(desk: Desk) -> None:
    """The second call would carry what was read in between, which the list did not say."""
    desk.answers += [Choice.ONCE, None]
    sly = """
        paid = ledger.pay(to="ann")
        if type(paid).__name__ != "StandIn":
            ledger.count()
        ledger.note(value=1)
        """
    await desk.run(sly)
    assert len(desk.asked) == 2
    assert "ledger.count was called before" in desk.asked[1]
    assert desk.lines == ["pay ann 1"]


async def test_a_file_that_somebody_changes_is_asked_about_again(desk: Desk) -> None:
    file = desk.ledger.parent / "order.txt"
    file.write_text("one")
    desk.answers += [Choice.ONCE, None]
    changes = f"""
        paid = ledger.pay(to="ann")
        if type(paid).__name__ != "StandIn":
            import time
            while "two" not in str(file.read(path="order.txt")): time.sleep(0.01)
        ledger.note(value={str(file)!r})
        """

    async def change() -> None:
        while not desk.lines:
            await anyio.sleep(0.01)
        file.write_text("two")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(change)
        answer = await desk.run(changes)
    assert len(desk.asked) == 2, answer.text
    assert desk.lines == ["pay ann 1"]


CHANGES = """
def write(content):
    return file.write(path="own.txt", content=content)
paid = ledger.pay(to="ann")
foreseen = type(paid).__name__ == "StandIn"
"""
UNSEEN = {
    "it was foreseen": "write('x')",
    "it was not": "foreseen or write('x')",
    "the file is new": "foreseen or file.write(path='new.txt', content='x')",
    "an agreed call comes after it": "foreseen or write('x')\nledger.pay(to='bob')",
    "the change is still going on": (
        "ot.parallel(lambda: foreseen or write('x'), lambda: ledger.pay(to='bob'), lambda: ledger.pay(to='eve'))"
    ),
}


@pytest.mark.parametrize("way", UNSEEN)
async def test_a_file_is_asked_about_again_after_a_call_that_nobody_agreed_to(desk: Desk, way: str) -> None:
    (desk.ledger.parent / "own.txt").write_text("")
    (desk.ledger.parent / "new.txt").unlink(missing_ok=True)
    desk.answers += [Choice.ONCE, None]
    await desk.run(f"{CHANGES}{UNSEEN[way]}\nledger.note(value=['own.txt', 'new.txt'])\nledger.note(value='own.txt')")

    assert len(desk.asked) == 2
    assert "ledger.note" in desk.asked[1]
    assert not [line for line in desk.lines if line.startswith("note")]


async def test_files_that_agreed_calls_change_are_not(desk: Desk) -> None:
    (desk.ledger.parent / "asked.txt").write_text("")
    answer = await desk.run(
        "for n in range(3):\n    file.write(path='asked.txt', content=str(n))\n    ledger.note(value='asked.txt')"
    )
    assert len(desk.asked) == 1, answer.text
    assert len(desk.lines) == 3


async def test_a_call_inside_another_one_is_not_the_one_that_was_agreed_to(desk: Desk) -> None:
    desk.answers += [Choice.ONCE, None, None]
    await desk.run(
        """
        paid = ledger.pay(to="first")
        for _ in range(2 if type(paid).__name__ != "StandIn" else 0):
            try:
                ledger.sly(to="ann")
            except PermissionError:
                pass
        ledger.pay(to="ann")
        """
    )
    assert len(desk.asked) == 3
    assert desk.lines == ["pay first 1", "pay ann 1"]


@pytest.mark.parametrize("value", ["'ann'", "'ann' * 50_000"])
async def test_equal_calls_at_once_pass_as_often_as_they_are_listed(desk: Desk, value: str) -> None:
    desk.answers += [Choice.ONCE, None]
    await desk.run(
        f"""
        paid = ledger.pay(to="first")
        count = 2 if type(paid).__name__ == "StandIn" else 4
        def attempt():
            try:
                ledger.note(value={value})
            except PermissionError:
                pass
        ot.parallel([attempt] * count)
        """
    )
    assert "Allow these 3 calls?" in desk.asked[0]
    assert len(desk.asked) in (2, 3)  # the two beside the list wait together, or one comes when the other was refused
    assert len(desk.lines) == 3


async def test_calls_that_come_while_the_run_is_looked_ahead_are_in_the_question(desk: Desk) -> None:
    await desk.run(
        """
        import time
        def late():
            time.sleep(0.2)  # for so long calls are not gathered, and it takes longer to look ahead
            ledger.note(value="late")
        ot.parallel([lambda: ledger.note(value="soon"), late])
        """
    )
    assert len(desk.asked) == 1
    assert len(desk.lines) == 2


async def test_results_are_named_by_what_the_question_shows(desk: Desk) -> None:
    await desk.run(
        """
        paid = ledger.pay(to="ann")
        marked = ledger.mark(value=1)
        ledger.note(value=[marked, paid])
        """
    )
    [question] = desk.asked
    assert '2. ledger.note\n  value = ["⟨what ledger.mark gives⟩", "⟨what call 1 gives⟩"]' in question
    assert len(desk.lines) == 3


async def test_a_tool_that_asks_by_itself_does_so_when_it_is_called(desk: Desk) -> None:
    await desk.run("ledger.pay(to='ann')\nledger.asks(what='go')\nledger.pay(to='bob')")

    assert [question.splitlines()[0] for question in desk.asked] == ["Allow these 2 calls?", "May I go?"]


async def test_a_long_list_is_asked_about_in_parts(desk: Desk) -> None:
    await desk.run("for n in range(45): ledger.pay(to=str(n))")

    assert [len(calls) for calls in desk.calls] == [20, 20, 5]
    assert "(25 more would follow; you will be asked about them later.)" in desk.asked[0]
    assert "would follow" not in desk.asked[2]
    assert len(desk.lines) == 45


async def test_a_large_value_is_asked_about_once(desk: Desk) -> None:
    await desk.run("for n in range(2): ot.keep(name=f'many{n}', value=[str(n) * 9 for n in range(20_000)])")
    assert ["Allow this call?" in question for question in desk.asked] == [True, True]


async def test_calls_are_counted_from_where_the_run_is(desk: Desk) -> None:
    code = "for n in range(5): ledger.mark(value=n)"
    await desk.run(code)
    [question] = desk.asked
    assert "Allow these 3 calls?" in question
    assert len(desk.lines) == 5


ENDINGS = {
    "it is killed": "import os; os.kill(os.getpid(), 9)",
    "it takes all memory": "x = 'x' * 10**10",
    "it exits": "import os; os._exit(3)",
    "it raises": "raise KeyboardInterrupt",
    "it lists too much": "while True: ledger.linger(until='never')",
}


@pytest.mark.parametrize("way", ENDINGS)
async def test_where_looking_ahead_fails_the_question_has_what_there_is(desk: Desk, way: str) -> None:
    await desk.run(
        f"""
        paid = ledger.pay(to="ann")
        ledger.pay(to="bob")
        if type(paid).__name__ == "StandIn":
            {ENDINGS[way]}
        """
    )
    [question] = desk.asked
    assert "Allow these 2 calls?" in question
    assert desk.lines == ["pay ann 1", "pay bob 1"]


async def test_who_leaves_while_somebody_looks_ahead_takes_the_run_along(desk: Desk) -> None:
    code = """
        paid = ledger.pay(to="ann")
        ledger.signal(name="ahead")
        while type(paid).__name__ == "StandIn": pass
        """
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(desk.run, code)
            while not (desk.ledger.parent / "ahead").exists():
                await anyio.sleep(0.01)
            tasks.cancel_scope.cancel()
    assert (desk.asked, desk.lines) == ([], [])


async def test_a_listed_preview_is_one_question_too(desk: Desk) -> None:
    name = name_in(await desk.preview("for name in ('ann', 'bob'): ledger.pay(to=name)"))
    await desk.run(f"ot.apply(preview='{name}')")
    [question] = desk.asked
    assert "Allow these 2 calls?" in question
    assert desk.lines == ["pay ann 1", "pay bob 1"]


async def test_code_that_never_ends_is_asked_for_what_there_is(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    for ahead in (0.3, 3, 30):  # on a busy machine, the second call is not reached in the shortest of them
        desk.cleared()
        monkeypatch.setattr("ot.run.runner.AHEAD", ahead)
        await desk.run(
            """
            paid = ledger.pay(to="ann")
            ledger.pay(to="bob")
            while type(paid).__name__ == "StandIn": pass
            """
        )
        if "Allow these 2 calls?" in desk.asked[0]:
            break
    assert len(desk.asked) == 1
    assert "Allow these 2 calls?" in desk.asked[0]
    assert desk.lines == ["pay ann 1", "pay bob 1"]


async def test_without_it_each_call_is_asked_about(desk: Desk) -> None:
    before = desk.app.runner.settings
    desk.app.runner.settings = replace(before, looks_ahead=False)
    try:
        await desk.run(THREE)
    finally:
        desk.app.runner.settings = before
    assert len(desk.asked) == 3
