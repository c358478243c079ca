"""Previews as an adversary would use them: to have an effect, or to have one thing agreed to and another one done."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from mcp_core.quick_dataclass import replace
from ot.app import open_app
from ot.clients.caller import NOBODY, Choice, ClientMemory
from ot.config.loader import load_config
from ot.run.answer import Answer
from tests.engine import answer_of, open_engine, write_skill
from tests.ledger import LEDGER, Desk, name_in
from tests.zygotes import launch_forked

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("preview attacks")]  # the tests share an engine

CONFIG = """
policy: {ask: [{tool: ledger.pay, where: {amount: "> 100"}}]}
snippets:
  pay: {description: Pay, params: {to: {description: Whom}}, body: "ledger.pay(to={{ to }})"}
"""
SKILLS = {
    "quietly": '''
def quietly(to: str) -> object:
    """Pay whatever happens.

    Args:
        to: Whom.
    """
    try:
        paid = ledger.pay(to=to)
    except BaseException:
        paid = None
    paid
''',
    "previews": '''
def previews() -> None:
    """Preview the rest."""
    getattr(ot, "pre" + "view")()
''',
}
SECRET = "correct-horse-battery"
PAY = "ledger.pay(to='a')"


@pytest.fixture(scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[Desk]:
    folder = tmp_path_factory.mktemp("attacks") / "project"
    async with open_engine(folder, config=CONFIG, packs={"ledger": LEDGER}, secrets={"PASSWORD": SECRET}) as app:
        for name, source in SKILLS.items():
            write_skill(folder, name, source)
        await answer_of(app, "ot.reload()")
        yield Desk(app, folder)


@pytest.fixture
def desk(shared: Desk) -> Desk:
    return shared.cleared()


async def apply(desk: Desk, code: str) -> Answer:
    """Preview code, which must have no effect, and apply it."""
    return await desk.run(f"ot.apply(preview='{name_in(await desk.preview(code))}')")


HIDDEN = {
    "a generator": "def pays():\n    yield ledger.pay(to='a')\nlist(pays())",
    "a thread": "import threading\nt = threading.Thread(target=lambda: ledger.pay(to='a'))\nt.start()\nt.join()",
    "a thread that is left alone": "import threading\nthreading.Thread(target=lambda: ledger.pay(to='a')).start()",
    "__del__": "class A:\n    def __del__(self): ledger.pay(to='a')\na = A()\ndel a",
    "atexit": "import atexit\natexit.register(lambda: ledger.pay(to='a'))",
    "a name made of parts": "getattr(ledger, 'p' + 'ay')(to='a')",
    "an import": "import importlib\nimportlib.import_module('ledger').pay(to='a')",
    "eval": "eval(\"ledger.pay(to='a')\")",
    "a skill": "skills.quietly(to='a')",
    "a snippet": "$pay to=a",
    "what asks by itself": "ledger.asks(what='pay')",
    "a tool that calls tools": "ledger.sly(to='a')",
    "many at once": "ot.parallel([lambda n=n: ledger.pay(to=str(n)) for n in range(40)])",
    "a signal": "import signal\nsignal.signal(signal.SIGALRM, lambda *_: ledger.pay(to='a'))\nsignal.alarm(1)",
    "a file of the run": "open('x.py', 'w').write('import ledger; ledger.pay(to=1)')\nexec(open('x.py').read())",
    "the wire itself": (
        "import gc\nfrom ot_kernel.wire import Channel\n"
        "[c] = [o for o in gc.get_objects() if type(o) is Channel]\n"
        "c.ask({'op': 'call', 'tool': 'ledger.pay', 'args': [], 'kwargs': {'to': 'a'}})"
    ),
}


@pytest.mark.parametrize("way", HIDDEN)
async def test_no_way_of_calling_has_an_effect(desk: Desk, way: str) -> None:
    before = sorted(file.name for file in desk.ledger.parent.iterdir())
    answer = await desk.run(HIDDEN[way], preview=True)
    assert "nothing was changed" in answer.text
    assert (desk.asked, desk.lines) == ([], [])
    assert sorted(file.name for file in desk.ledger.parent.iterdir()) == before


STAND_INS = {
    "rows": "ledger.describe(entry=[{'a': n, 'b': paid} for n in range(6000)])",
    "a set on the wire": "{'$': 'set', 'v': [{'$': 'stand_in', 'v': 1}]}",
    "a key on the wire": "{'$': 'dict', 'v': [[{'$': 'stand_in', 'v': 1}, 1]]}",
    "a record on the wire": "{'$': 'record', 'v': ['R', {'x': {'$': 'stand_in', 'v': 1}}]}",
}


@pytest.mark.parametrize("way", STAND_INS)
async def test_no_read_is_made_with_a_result_that_is_not_there(desk: Desk, way: str) -> None:
    sent = STAND_INS[way]
    if "wire" in way:
        sent = (
            "import gc\nfrom ot_kernel.wire import Channel\n[c] = [o for o in gc.get_objects() if type(o) is Channel]\n"
            f"c.ask({{'op': 'call', 'tool': 'ledger.describe', 'args': [], 'kwargs': {{'entry': {sent}}}}})"
        )
    answer = await desk.run(f"ot.preview()\npaid = ledger.pay(to='a')\n{sent}\nprint(ot.version())")
    assert "2. ledger.describe  (only reads, and needs what another call gives)" in await desk.whole(answer)


@pytest.mark.parametrize("number", ["0", "7", "-1", "True", "'1'", "1e300", "None"])
async def test_a_preview_is_not_ended_by_a_result_that_it_did_not_give(desk: Desk, number: str) -> None:
    code = (
        "import gc\nfrom ot_kernel.wire import Channel\n[c] = [o for o in gc.get_objects() if type(o) is Channel]\n"
        f"c.ask({{'op': 'needed', 'number': {number}, 'line': None}})"
    )
    listed = await desk.run(f"ot.preview()\nledger.pay(to='a')\n{code}")
    plain = await desk.run(code)
    assert "the code needs what call" not in listed.text
    assert plain.is_error


async def test_what_ends_a_run_comes_before_a_preview(desk: Desk) -> None:
    """ot.stop is in no journal, and a preview after it would say that nothing was changed."""
    code = "try:\n    ot.stop(run='r2345678')\nexcept LookupError: pass\ngetattr(ot, 'pre' + 'view')()\nledger.mark(value=1)"
    answer = await desk.run(code)
    assert "ot.preview() must be the first statement" in answer.text


async def test_a_skill_may_begin_a_preview_and_nothing_comes_before_it(desk: Desk) -> None:
    first = await desk.run("skills.previews()\nledger.pay(to='a')")
    late = await desk.run("ledger.mark(value=1)\nskills.previews()\nledger.pay(to='a')")
    assert "1. ledger.pay" in first.text
    assert late.is_error
    assert desk.lines == ["mark"]


OTHERWISE = {
    "another tool": ("ledger.note(value='a')", "ledger.pay(to='a')"),
    "other arguments": ("ledger.pay(to='a')", "ledger.pay(to='a', amount=2)"),
    "another type": ("ledger.note(value=1)", "ledger.note(value=True)"),
    "another order of a list": ("ledger.note(value=[1, 2])", "ledger.note(value=[2, 1])"),
    "a call inside a reading one": ("ledger.pay(to='a')", "ledger.sly(to='a')"),
    "a file in between": ("ledger.note(value='a')", "ledger.note(value=file.read(path='laundry.txt'))"),
    "a kept value in between": ("ledger.note(value='a')", "ledger.note(value=ot.kept(name='laundry'))"),
    "a skill": ("ledger.pay(to='a')", "skills.quietly(to='b')"),
}


@pytest.mark.parametrize("way", OTHERWISE)
async def test_code_that_acts_otherwise_when_it_is_applied_is_stopped(desk: Desk, way: str) -> None:
    (desk.ledger.parent / "laundry.txt").write_text("evil")
    await desk.run("ot.keep(name='laundry', value='evil')")
    shown, done = OTHERWISE[way]
    sly = f"first = ledger.mark(value=0)\nif type(first).__name__ == 'StandIn':\n    {shown}\nelse:\n    {done}"
    applied = await apply(desk, sly)
    assert applied.is_error
    assert "The run was stopped before ledger." in applied.text
    assert desk.lines == ["mark"]


async def test_equal_calls_at_once_pass_as_often_as_they_are_listed(desk: Desk) -> None:
    sly = """
        first = ledger.mark(value=0)
        ot.parallel([lambda: ledger.pay(to="a")] * (2 if type(first).__name__ == "StandIn" else 9))
        """
    applied = await apply(desk, sly)
    assert applied.is_error
    assert desk.lines.count("pay a 1") <= 2


async def test_a_value_that_a_file_has_carried_must_be_the_listed_one(desk: Desk) -> None:
    code = """
        file.write(path="carried.txt", content="from the run")
        ledger.note(value=file.read(path="carried.txt"))
        """
    (desk.ledger.parent / "carried.txt").write_text("from before")
    text = await desk.preview(code)
    applied = await desk.run(f"ot.apply(preview='{name_in(text)}')")
    assert '"lines": ["from before"]' in text
    assert "The run was stopped before ledger.note" in applied.text
    assert desk.lines == []


async def test_what_was_still_being_done_when_a_run_was_stopped_is_told(desk: Desk) -> None:
    sly = """
        first = ledger.mark(value=0)
        def wait_and_pay():
            while ledger.count() < 2: pass
            ledger.pay(to="b")
        if type(first).__name__ == "StandIn":
            ledger.linger(until="never")
        else:
            ot.parallel(lambda: ledger.linger(until="never"), wait_and_pay)
        """
    applied = await apply(desk, sly)
    assert 'The run was stopped before ledger.pay(to="b")' in applied.text
    assert "The outcome of these calls is unknown: ledger.linger." in applied.text
    assert desk.lines == ["mark", "linger"]


async def test_what_was_done_when_a_run_was_stopped_is_not_done_again(desk: Desk) -> None:
    """A call that ends well after another one was stopped has had its effect, and its journal says so."""
    sly = """
        first = ledger.mark(value=0)
        if type(first).__name__ == "StandIn":
            ledger.pay(to="a")
        else:
            ot.parallel([lambda: ledger.pay(to="a")] * 2)
        """
    applied = await apply(desk, sly)
    found = re.search(r'ot\.resume\(run="(\w+)"\)', applied.text)
    assert found is not None, applied.text
    paid = desk.lines.count("pay a 1")
    resumed = await desk.run(f"ot.resume(run='{found[1]}', unknown='skip')\nledger.mark(value=0)\nledger.pay(to='a')")
    assert not resumed.is_error, resumed.text
    assert desk.lines.count("pay a 1") == max(paid, 1)


async def test_a_file_that_changes_while_a_person_thinks_is_not_touched(desk: Desk) -> None:
    file = desk.ledger.parent / "shown.txt"
    file.write_text("shown")
    before = desk.app.executor.settings
    text = await desk.preview("ledger.pay(to='a', amount=500)\nfile.write(path='shown.txt', content='new')")

    class Changing(list[str]):
        def append(self, question: str) -> None:
            file.write_text("mine")
            super().append(question)

    desk.asked = Changing()
    applied = await desk.run(f"ot.apply(preview='{name_in(text)}')")
    assert before is desk.app.executor.settings
    assert "is no longer as preview" in applied.text
    assert file.read_text() == "mine"


SECRETIVE = f"ledger.note(value='{SECRET}')"


async def test_a_secret_is_not_shown_and_its_code_not_applied(desk: Desk) -> None:
    text = await desk.preview(SECRETIVE)
    assert SECRET not in text
    assert "They cannot be made by ot.apply, since the code has a secret in it and is not kept." in text
    name = re.findall(r"Preview (\w+):", text)[0]
    applied = await desk.run(f"ot.apply(preview='{name}')")
    assert "its code has a secret in it" in applied.text
    assert desk.lines == []


async def test_arguments_of_any_kind_are_shown_and_applied(desk: Desk) -> None:
    code = r"""
        values = ["\ud800", "\u202eevil", "\x1b[2J", b"\xff" * 500, 10**400, float("nan"), {1: "x", "$": "set"}, (), {None}]
        for value in values:
            ledger.note(value=value)
        """
    text = await desk.preview(code)
    assert "\x1b" not in text
    assert "\u202e" not in text
    applied = await desk.run(f"ot.apply(preview='{name_in(text)}')")
    assert "The run was stopped" not in applied.text


async def test_nobody_else_applies_it(desk: Desk, tmp_path: Path) -> None:
    line = f"ot.apply(preview='{name_in(await desk.preview(PAY))}')"
    other = replace(NOBODY, memory=ClientMemory(), principal="https://id.example#bob")
    by_other = await desk.app.runner.run(line, other)
    async with open_engine(tmp_path / "other", packs={"ledger": LEDGER}, home=desk.ledger.parent) as app:
        elsewhere = await app.runner.run(line)
    for answer in (by_other, elsewhere):
        assert answer.is_error
        assert "has no run" in answer.text
    assert desk.lines == []
    assert not (await desk.run(line)).is_error


async def test_a_run_that_applied_a_preview_is_resumed_like_any_other(desk: Desk) -> None:
    applied = await apply(desk, "ledger.pay(to='a')\nledger.mark(value=1)\nraise ValueError")
    found = re.search(r'ot\.resume\(run="(\w+)"\)', applied.text)
    assert found is not None, applied.text
    resumed = await desk.run(f"ot.resume(run='{found[1]}')\nledger.pay(to='a')\nledger.mark(value=1)")
    assert not resumed.is_error, resumed.text
    assert desk.lines == ["pay a 1", "mark"]


async def test_a_preview_that_is_resumed_has_made_nothing(desk: Desk) -> None:
    name = name_in(await desk.preview("ledger.count()\nledger.pay(to='a')"))
    await desk.run(f"ot.resume(run='{name}')\nledger.count()\nledger.pay(to='a')")
    assert desk.lines == ["pay a 1"]


async def test_two_clients_are_asked_and_one_applies_it(desk: Desk) -> None:
    text = await desk.preview("ledger.pay(to='a', amount=500)")
    line = f"ot.apply(preview='{name_in(text)}')"
    async with anyio.create_task_group() as tasks:
        for _ in range(2):
            tasks.start_soon(desk.run, line)
    assert len(desk.asked) == 1
    assert desk.lines == ["pay a 500"]


async def test_a_person_who_says_no_to_some_has_the_rest_applied(desk: Desk) -> None:
    code = """
        for name in ("a", "b"):
            try:
                ledger.pay(to=name, amount=500)
            except PermissionError:
                pass
        """
    desk.answers.append(None)
    applied = await apply(desk, code)
    assert len(desk.asked) == 1
    assert not applied.is_error
    assert desk.lines == []
    desk.answers.append(Choice.ONCE)
    await apply(desk, code)
    assert desk.lines == ["pay a 500", "pay b 500"]


async def test_without_a_journal_there_is_no_preview(tmp_path: Path) -> None:
    config = "journal: {enabled: false}\npolicy: {ask: [ledger.pay]}"
    async with open_engine(tmp_path / "project", config=config, packs={"ledger": LEDGER}) as app:
        desk = Desk(app, tmp_path / "project")
        refused = await desk.run("ot.preview()\nledger.pay(to='a')")
        applied = await desk.run("ot.apply(preview='r2345678')")
        asked = await desk.run("ledger.pay(to='a')\nledger.pay(to='b')")
    assert "No preview: the journal is switched off (journal.enabled: false)." in refused.text
    assert applied.is_error
    assert not asked.is_error
    assert ["Allow this call?" in question for question in desk.asked] == [True, True]
    assert desk.lines == ["pay a 1", "pay b 1"]


async def test_where_the_journal_has_no_room_a_preview_is_only_shown(tmp_path: Path) -> None:
    config = "journal: {max_size: 16MB}"
    async with open_engine(tmp_path / "project", config=config, packs={"ledger": LEDGER}) as app:
        desk = Desk(app, tmp_path / "project")
        text = await desk.preview("for n in range(9): ledger.note(value=str(n) * 1_000_000)")
        name = re.findall(r"Preview (\w+):", text)[0]
        applied = await desk.run(f"ot.apply(preview='{name}')")
    assert "They cannot be made by ot.apply: " in text
    assert "not all of it could be written to the journal" in applied.text
    assert desk.lines == []


async def test_what_code_may_write_changes_with_the_next_start(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    async with open_engine(folder, config="execution: {writable: [out]}", packs={"ledger": LEDGER}) as app:
        (folder / ".onetool" / "onetool.yaml").write_text("")
        await answer_of(app, "ot.reload()")
        desk = Desk(app, folder)
        answers = [await desk.run("ot.preview()\nledger.pay(to='a')"), await desk.run("1", looks=True)]
    assert ["(execution.writable)" in answer.text for answer in answers] == [True, True]
    assert desk.lines == []


async def test_a_preview_outlives_its_server_and_not_its_tools(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    async with open_engine(folder, packs={"ledger": LEDGER}) as app:
        desk = Desk(app, folder)
        same, other = [name_in(await desk.preview(f"ledger.pay(to='{to}')")) for to in ("a", "b")]
    for name, source in ((same, LEDGER), (other, LEDGER.replace('"""Pay."""', '"""Pay a lot."""'))):
        (folder / "packs" / "ledger.py").write_text(source)
        loaded = load_config(environ={}, cwd=folder, home=folder)
        async with open_app(loaded, launched=launch_forked(loaded), packs=[folder / "packs"]) as app:
            await Desk(app, folder).run(f"ot.apply(preview='{name}')")
    assert desk.lines == ["pay a 1"]


@pytest.mark.parametrize(("calls", "paid"), [("[2]", ["pay b 1"]), ("[1, 3, 3]", ["pay a 1", "pay c 1"])])
async def test_only_the_calls_that_were_chosen_are_made(desk: Desk, calls: str, paid: list[str]) -> None:
    code = "for name in 'abc':\n    try: ledger.pay(to=name)\n    except PermissionError as error: print(error)"
    name = name_in(await desk.preview(code))

    applied = await desk.run(f"ot.apply(preview='{name}', calls={calls})")

    assert desk.lines == paid
    assert applied.text.count("the answer was no (it is not among the calls=") == 3 - len(paid)


@pytest.mark.parametrize("calls", ["[n]", "None", "(1,)", "[-1]"])
async def test_chosen_calls_are_written_out(desk: Desk, calls: str) -> None:
    name = name_in(await desk.preview(PAY))

    refused = await desk.run(f"ot.apply(preview='{name}', calls={calls})")

    assert refused.is_error
    assert desk.lines == []
