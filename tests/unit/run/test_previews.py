"""Previews: what code would do is listed and not done; what is applied is what was listed, or nothing."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ot.run.answer import Answer
from tests.engine import answer_of, open_engine, write_skill
from tests.ledger import LEDGER, Desk, name_in
from tests.longer import long_after

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("previews")]  # the tests share an engine

CONFIG = """
policy:
  ask: ["ledger.describe", {tool: "ledger.pay", where: {amount: "> 100"}}, {tool: ledger.mark, more_than: 2, per: hour}]
  deny: [{tool: "ledger.pay", where: {to: mallory}}]
"""
SKILL = '''
def pay_twice(to: str) -> list:
    """Pay twice.

    Args:
        to: Whom.
    """
    [ledger.pay(to=to), ledger.pay(to=to)]
'''


@pytest.fixture(scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[Desk]:
    folder = tmp_path_factory.mktemp("previews") / "project"
    async with open_engine(folder, config=CONFIG, packs={"ledger": LEDGER}) as app:
        write_skill(folder, "pay_twice", SKILL)
        await answer_of(app, "ot.reload()")
        yield Desk(app, folder)


@pytest.fixture
def desk(shared: Desk) -> Desk:
    return shared.cleared()


async def test_calls_are_listed_with_their_arguments_and_reads_are_made(desk: Desk) -> None:
    desk.ledger.write_text("pay eve 1\n")
    text = await desk.preview(
        """
        before = ledger.count()
        first = ledger.pay(to="ann", amount=before)
        ledger.note(value=[{"paid": first}])
        {"before": before, "first": first}
        """
    )
    first, *rest = text.splitlines()
    assert "nothing was changed. 2 calls would be made. To make them, and nothing else: ot.apply(" in first
    assert rest[0] == "1. ledger.pay"
    assert 'to = "ann"\n   amount = 1\n' in text
    assert '2. ledger.note\n   value = [{"paid": "⟨what call 1 gives⟩"}]\n' in text
    assert "before: 1" in text
    name_in(text)


async def test_what_a_listed_call_may_change_is_not_told_for_certain(desk: Desk) -> None:
    after = await desk.preview("ledger.pay(to='ann')\nledger.count()")
    failed = await desk.preview("ledger.pay(to='ann')\nledger.count()\n1 / 0")
    alone = await desk.preview("ledger.count() / 0")
    only_read = await desk.preview("ledger.count()")

    assert "With the calls above not made yet, it returns: 0" in after
    assert "With the calls above not made yet, the code ends with an error:\nZeroDivisionError" in failed
    assert "The code would end with an error:\nZeroDivisionError" in alone
    assert "It would return: 0" in only_read


@pytest.mark.parametrize("calls", ["[]", "[3]", "[0]", "[1, 99]", "[999999999999]"])
async def test_a_number_that_is_not_on_the_list_does_not_use_the_preview_up(desk: Desk, calls: str) -> None:
    name = name_in(await desk.preview("ledger.pay(to='ann')\nledger.pay(to='bob')"))
    refused = await desk.run(f"ot.apply(preview='{name}', calls={calls})")
    await desk.run(f"ot.apply(preview='{name}', calls=[1])")

    assert f"The preview '{name}' was not applied: calls must name calls of its list, which has 2." in refused.text
    assert desk.lines == ["pay ann 1"]


async def test_what_was_listed_is_done_once(desk: Desk) -> None:
    name = name_in(await desk.preview("paid = ledger.pay(to='ann')\nledger.note(value={'paid': paid})"))
    applied = await desk.run(f"ot.apply(preview='{name}')")
    again = await desk.run(f"ot.apply(preview='{name}')")

    assert not applied.is_error, applied.text
    assert desk.lines == ["pay ann 1", "note {'paid': {'id': 1, 'to': 'ann'}}"]
    assert again.is_error
    assert "was not applied: it was applied before" in again.text


async def test_two_that_apply_at_once_do_it_once(desk: Desk) -> None:
    name = name_in(await desk.preview("ledger.pay(to='ann')"))
    answers: list[Answer] = []

    async def apply() -> None:
        answers.append(await desk.run(f"ot.apply(preview='{name}')"))

    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(apply)
    assert sorted(answer.is_error for answer in answers) == [False, True, True, True]
    assert desk.lines == ["pay ann 1"]


NEEDS = {
    "a branch": "if paid: ledger.pay(to='b')",
    "an index": "paid['id']",
    "an attribute": "paid.id",
    "text": "f'{paid}'",
    "print": "print(paid)",
    "a comparison": "paid == 1",
    "a key": "{paid: 1}",
    "a loop": "for each in paid: ledger.pay(to='b')",
    "its length": "len(paid)",
    "a sum": "'x' + paid",
    "isinstance": "isinstance(paid, dict)",
    "JSON": "import json; json.dumps({'x': paid})",
    "except": "try:\n    paid['id']\nexcept BaseException:\n    ledger.pay(to='b')",
    "finally": "try:\n    paid['id']\nfinally:\n    ledger.pay(to='b')",
    "a thread": "ot.parallel(lambda: paid['id'])",
    "__del__": "class A:\n    def __del__(self): paid['id']\na = A()\ndel a\nledger.pay(to='b')",
    "a coroutine": "import asyncio\nasync def f():\n    return paid['id']\nasyncio.run(f())",
}


@pytest.mark.parametrize("need", NEEDS)
async def test_a_preview_ends_where_code_needs_a_result(desk: Desk, need: str) -> None:
    text = await desk.preview(f"paid = ledger.pay(to='ann')\n{NEEDS[need]}\nledger.pay(to='last')")
    assert "1 call would be made" in text
    assert re.search(r"The preview ended at line \d+: the code needs what call 1 gives", text), text


async def test_text_made_by_the_library_ends_it_too(desk: Desk) -> None:
    text = await desk.preview("paid = ledger.pay(to='ann')\n', '.join([paid])\nledger.pay(to='last')")
    assert "The preview ended: the code needs what a call gives" in text
    assert "1 call would be made" in text


async def test_stand_ins_are_handed_on(desk: Desk) -> None:
    text = await desk.preview(
        """
        import asyncio, copy
        paid = await ledger.pay(to="ann")
        both = asyncio.run(asyncio.wait_for(ledger.pay(to="bob"), 1)) if False else ledger.pay(to="bob")
        kept = copy.deepcopy({"all": [paid, (both,)]})
        first, *_ = kept["all"]
        ot.parallel(lambda: ledger.note(value=first), lambda: ledger.note(value=kept))
        """
    )
    assert "4 calls would be made" in text


async def test_a_read_that_needs_a_result_is_not_made(desk: Desk) -> None:
    text = await desk.preview("paid = ledger.pay(to='ann')\nx = ot.kept(name=paid)\nledger.note(value=x)")
    assert "2. ot.kept  (only reads, and needs what another call gives)" in text
    assert "⟨what call 2 gives⟩" in text


async def test_fates_are_told_and_nothing_is_counted(desk: Desk) -> None:
    code = """
        ledger.pay(to="ann", amount=500)
        ledger.describe(entry=1)
        for value in (1, 2, 3):
            ledger.mark(value=value)
        try:
            ledger.pay(**{"to": "mallory"})
        except PermissionError as error:
            print("caught", error)
        """
    for _ in range(2):
        text = await desk.preview(code)
        assert "1. ledger.pay  (a person is asked: policy.ask names ledger.pay with amount > 100)" in text
        assert "2. ledger.describe  (a person is asked: policy.ask names ledger.describe)" in text
        assert "4. ledger.mark\n" in text
        assert "5. ledger.mark  (a person is asked: policy.ask names ledger.mark, more than 2 per hour)" in text
        assert "6. ledger.pay  (refused: ledger.pay is not allowed here" in text
        assert text.startswith("caught")
    assert not desk.asked


async def test_calls_inside_calls_have_no_effect(desk: Desk) -> None:
    text = await desk.preview("ledger.sly(to='ann')\nledger.asks(what='go')\nledger.pay(to='last')")
    assert "1. ledger.sly  (a person is asked: it asks, or calls what may have an effect, by itself)" in text
    assert "2. ledger.asks" in text
    assert "3. ledger.pay" in text


async def test_an_effect_inside_a_reading_call_is_not_applied(desk: Desk) -> None:
    name = name_in(await desk.preview("ledger.sly(to='ann')\nledger.pay(to='last')"))
    applied = await desk.run(f"ot.apply(preview='{name}')")
    assert applied.is_error
    assert 'The run was stopped before ledger.pay(to="ann"): preview' in applied.text
    assert desk.lines == []


DIFFERENT = {
    "another": ("ledger.count() or ledger.pay(to='ann')\nledger.count() and ledger.note(value=1)", ["pay ann 1"]),
    "twice": ("ledger.pay(to='ann')\nledger.count() and ledger.pay(to='ann')", ["pay ann 1"]),
    "other arguments": ("ledger.pay(to='ann')\nledger.pay(to='bob', amount=ledger.count() + 1)", ["pay ann 1"]),
}


@pytest.mark.parametrize("way", DIFFERENT)
async def test_what_differs_stops_before_it_happens(desk: Desk, way: str) -> None:
    code, done = DIFFERENT[way]
    name = name_in(await desk.preview(code))
    applied = await desk.run(f"ot.apply(preview='{name}')")
    assert applied.is_error
    assert "The run was stopped before ledger." in applied.text
    assert "Calls that succeeded:" in applied.text
    assert desk.lines == done


async def test_code_that_knows_of_the_preview_gains_nothing(desk: Desk) -> None:
    sly = """
        paid = ledger.pay(to="ann")
        if type(paid).__name__ == "StandIn":
            ledger.note(value="harmless")
        else:
            try:
                ledger.pay(to="mallory's friend")
            except BaseException:
                pass
            ledger.note(value="harmless")
        """
    text = await desk.preview(sly)
    applied = await desk.run(f"ot.apply(preview='{name_in(text)}')")
    assert "mallory" not in text
    assert applied.is_error
    assert 'ledger.pay(to="mallory\'s friend")' in applied.text
    assert desk.lines == ["pay ann 1"]


async def test_a_result_is_only_the_one_that_was_given(desk: Desk) -> None:
    sly = """
        paid = ledger.pay(to="ann")
        ledger.note(value=paid if type(paid).__name__ == "StandIn" else {"id": 7})
        """
    applied = await desk.run(f"ot.apply(preview='{name_in(await desk.preview(sly))}')")
    assert applied.is_error
    assert desk.lines == ["pay ann 1"]


FORGED = "from ot_kernel.stand_in import StandIn\nledger.note(value=StandIn({}, print))"


@pytest.mark.parametrize("number", ["7", "0", "True", "'1'", "None"])
async def test_a_forged_stand_in_ends_the_run(desk: Desk, number: str) -> None:
    listed = await desk.run(f"ot.preview()\nledger.pay(to='ann')\n{FORGED.format(number)}")
    plain = await desk.run(FORGED.format(number))
    assert "a stand-in that the preview did not give" in listed.text
    assert plain.is_error
    assert desk.lines == []


async def test_the_calls_of_a_skill_are_listed(desk: Desk) -> None:
    text = await desk.preview("skills.pay_twice(to='ann')")
    assert "2 calls would be made." in text
    applied = await desk.run(f"ot.apply(preview='{name_in(text)}')")
    assert not applied.is_error, applied.text
    assert desk.lines == ["pay ann 1", "pay ann 1"]


async def test_a_person_is_asked_when_it_is_applied(desk: Desk) -> None:
    name = name_in(await desk.preview("ledger.pay(to='ann', amount=500)"))
    desk.answers.append(None)
    refused = await desk.run(f"ot.apply(preview='{name}')")
    assert len(desk.asked) == 1
    assert refused.is_error
    assert desk.lines == []


async def test_looking_may_preview_and_not_apply(desk: Desk) -> None:
    answer = await desk.run("ot.preview()\nledger.pay(to='ann')", looks=True)
    assert not answer.is_error, answer.text
    refused = await desk.run(f"ot.apply(preview='{name_in(answer.text)}')", looks=True)
    assert "only reads" in refused.text
    assert desk.lines == []
    assert not (await desk.run(f"ot.apply(preview='{name_in(answer.text)}')")).is_error


async def test_a_preview_for_code_that_does_not_say_so(desk: Desk) -> None:
    answer = await desk.run("from __future__ import annotations\nledger.pay(to='ann')", preview=True)
    assert "1. ledger.pay" in answer.text
    assert desk.lines == []
    assert not (await desk.run(f"ot.apply(preview='{name_in(answer.text)}')")).is_error
    assert desk.lines == ["pay ann 1"]


async def test_what_is_applied_is_never_applied_by_a_preview(desk: Desk) -> None:
    name = name_in(await desk.preview("ledger.pay(to='ann')"))
    answer = await desk.run(f"ot.apply(preview='{name}')", preview=True)
    assert "must be alone in its command" in answer.text
    assert desk.lines == []


async def test_where_nobody_could_be_asked_it_is_listed(desk: Desk) -> None:
    answer = await desk.app.runner.run("ledger.describe(entry=1)", preview=True)
    assert "1. ledger.describe  (a person is asked" in answer.text


async def test_a_value_that_is_too_large_to_show_is_listed(desk: Desk) -> None:
    text = await desk.preview("ot.keep(name='many', value=[str(n) * 9 for n in range(20_000)])")
    assert "1. ot.keep  (too large to be compared: ot.apply would stop before it)" in text
    assert 'value = "<a list, too large to show>"' in text


async def test_the_way_to_apply_it_is_in_what_is_left_of_a_long_answer(desk: Desk) -> None:
    answer = await desk.run("ot.preview()\nfor n in range(30): ledger.note(value=[str(n)] * 3000)")
    assert "Read on: ot.result(" in answer.text
    name_in(answer.text)


LIMITS = {
    "calls": "for n in range(501): ledger.mark(value=n)",
    "bytes": "for n in range(9): ledger.note(value=chr(65 + n) * 8_000_000)",
}


@pytest.mark.parametrize("limit", long_after(1, LIMITS))
async def test_a_list_has_a_limit(desk: Desk, limit: str) -> None:
    answer = await desk.run(f"ot.preview()\n{LIMITS[limit]}")
    whole = await desk.whole(answer)
    assert "The preview ended: it lists at most 500 calls, with 64 MB of arguments. What follows is not known." in whole
    assert desk.lines == []


REFUSED = {
    "ledger.pay(to='a')\not.preview()": "ot.preview() must be the first statement",
    "ledger.count()\ngetattr(ot, 'pre' + 'view')()\nledger.pay(to='a')": "ot.preview() must be the first statement",
    "try:\n    ledger.count()\n    getattr(ot, 'pre' + 'view')()\nexcept BaseException: ledger.pay(to='a')": "must be",
    "ot.apply(preview='r234')\nledger.pay(to='a')": "must be alone in its command",
    "x = ot.apply(preview='r234')": "must be alone in its command",
    "getattr(ot, 'apply')(preview='r234')": "must be alone in its command",
    "ot.apply(preview='r2345678')": "has no run 'r2345678'",
    "ot.preview()\ngetattr(ot, 'resume')(run='r234')": "ot.resume(...) must be the first statement",
}


@pytest.mark.parametrize("code", REFUSED)
async def test_neither_comes_anywhere_else(desk: Desk, code: str) -> None:
    answer = await desk.run(code)
    assert REFUSED[code] in answer.text
    assert desk.lines == []


async def test_a_run_that_was_no_preview_is_not_applied(desk: Desk) -> None:
    await desk.run("ledger.pay(to='ann')")
    found = json.loads((await desk.run("import json\njson.dumps(ot.runs(limit=1)[0]['run'])")).text)
    refused = await desk.run(f"ot.apply(preview='{found}')")
    assert "that run was no preview" in refused.text or "still running" in refused.text
    assert desk.lines == ["pay ann 1"]


_NAMES = st.sampled_from(["a", "b"])
_STEPS: tuple[Callable[[str, str], str], ...] = (
    lambda a, b: f"{a} = ledger.pay(to={b!r})",
    lambda a, b: f"{a} = ledger.note(value={b})",
    lambda a, b: f"{a} = ledger.note(value=[{a}, {{'x': {b}}}])",
    lambda a, b: f"{a} = ledger.count()",
    lambda a, b: f"{a} = ({a}, {b})",
    lambda a, b: f"ledger.count() and ledger.note(value={b})",
    lambda a, b: f"if {a}: ledger.pay(to={b!r})",
    lambda a, b: f"try:\n    {a}['id']\nexcept Exception:\n    {b} = ledger.pay(to='e')",
    lambda a, b: f"ot.parallel(lambda: ledger.note(value={a}), lambda: ledger.pay(to={b!r}))",
    lambda a, b: f"type({a}).__name__ == 'StandIn' or ledger.pay(to='knows')",
    lambda a, b: f"ledger.sly(to={b!r})",
)
PROGRAMS = st.lists(st.builds(lambda step, a, b: step(a, b), st.sampled_from(_STEPS), _NAMES, _NAMES), max_size=6)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(program=PROGRAMS)
async def test_what_is_applied_is_what_was_listed(desk: Desk, program: list[str]) -> None:
    desk.ledger.unlink(missing_ok=True)
    text = await desk.preview("\n".join(["a = b = None", *program]))
    listed = [line.split()[1] for line in text.splitlines() if re.match(r"\d+\. ledger", line)]
    if "ot.apply" not in text:
        assert not listed
        return
    await desk.run(f"ot.apply(preview='{name_in(text)}')")
    made = ["ledger." + line.split()[0] for line in desk.lines]
    for tool in made:
        assert tool in listed
        listed.remove(tool)
