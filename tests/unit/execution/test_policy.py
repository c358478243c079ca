"""Policy: every name counts, a person is shown everything, and what was read decides what may be sent."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

import anyio
import pytest

from ot.clients.caller import EVERYTHING, MOST_NAMES, Caller, Choice, ClientMemory
from ot.config.models import GrantedPolicy, PolicySettings
from ot.errors import ConsentError, FlowDeniedError, NotGrantedError, ToolDeniedError
from ot.execution.consent import Consent
from ot.execution.policy import refuse_denied
from ot.execution.rules import build_guard, find_idle_rules
from ot.execution.subject import Subject
from ot.proxy.resources import fill_prompt, read_resource
from ot.text.redaction import Redactor
from tests.engine import answer_of, open_engine
from tests.opened_executor import Opened, define, open_executor
from tests.proxied import Proxied, open_proxied, program

pytestmark = pytest.mark.anyio


class Person:
    """Gives one answer to everything, once it may, and keeps what was asked."""

    def __init__(self, answer: Choice | None = Choice.ONCE) -> None:
        self.answer = answer
        self.questions: list[str] = []
        self.choices: list[Sequence[Choice]] = []
        self.may_answer = anyio.Event()
        self.may_answer.set()
        self.asked = anyio.Event()

    async def ask(self, question: str, choices: Sequence[Choice]) -> Choice | None:
        self.questions.append(question)
        self.choices.append(choices)
        self.asked.set()
        await self.may_answer.wait()
        return self.answer


# -- names


@pytest.mark.parametrize(
    "rule",
    ["my-notes.*", "my_notes.*", "my-notes.echo", "my_notes.*cho", "*.echo", "my-notes.odd-one", "my_notes.odd_one"],
)
async def test_a_rule_holds_by_whichever_name_it_means_a_servers_tool(tmp_path: Path, rule: str) -> None:
    denied = "odd_one" if "odd" in rule else "echo"
    servers = {"my-notes": program("odd_names")}
    async with open_proxied(tmp_path, servers, policy={"deny": [rule]}) as proxied:
        for spelling in {denied, denied.replace("_", "-")}:
            with pytest.raises(ToolDeniedError):
                await proxied.call(f"my_notes.{spelling}")


@pytest.mark.parametrize(
    "rule", ["time.delete-all", "time.delete_all", "time_.delete-all", "time_.delete_all", "time.*"]
)
async def test_a_rule_holds_for_a_pack_that_had_to_give_up_its_name(tmp_path: Path, rule: str) -> None:
    async with open_proxied(tmp_path, {"time": program("odd_names")}, policy={"deny": [rule]}) as proxied:
        await proxied.servers.catch_up("time_.delete_all")
        with pytest.raises(ToolDeniedError):
            await proxied.call("time_.delete_all")


# -- resources and prompts


@asynccontextmanager
async def open_notes(folder: Path, notes: Mapping[str, Any], **policy: Any) -> AsyncIterator[Proxied]:
    """A server `my-notes` behind an executor, with a tool of the test that uses what every tool may use."""
    async with open_proxied(folder, {"my-notes": notes}, policy=policy) as proxied:

        async def read(arguments: dict[str, Any]) -> Any:
            return await read_resource(proxied.servers, arguments["uri"], arguments.get("server", ""))

        async def fill(arguments: dict[str, Any]) -> Any:
            return await fill_prompt(proxied.servers, arguments["name"], arguments.get("with", {}))

        proxied.registry.register(define("reader.read"), read)
        proxied.registry.register(define("reader.fill"), fill)
        yield proxied


@pytest.mark.parametrize("rule", ["my-notes.resource:*", "my_notes.resource:notes://*", "my-notes.*", "*.resource:*"])
async def test_a_resource_is_behind_the_same_door(tmp_path: Path, notes_server: dict[str, str], rule: str) -> None:
    async with open_notes(tmp_path, notes_server, deny=[rule]) as proxied:
        for server in ("", "my-notes", "my_notes"):
            with pytest.raises(ToolDeniedError, match=re.escape(rule)):
                await proxied.call("reader.read", uri="notes://today", server=server)


async def test_a_person_is_asked_before_a_resource_is_read(tmp_path: Path, notes_server: dict[str, str]) -> None:
    person = Person()
    async with open_notes(tmp_path, notes_server, ask=["my-notes.resource:*"]) as proxied:
        read = await proxied.call_as(Caller(ask=person.ask), "reader.read", uri="notes://today")
        with pytest.raises(ConsentError):
            await proxied.call("reader.read", uri="notes://today")

    assert read == "buy milk"
    assert "my_notes.resource:notes://today" in person.questions[0]


@pytest.mark.parametrize("rule", ["my-notes.prompt:*", "my_notes.*"])
async def test_a_prompt_is_behind_the_same_door(tmp_path: Path, notes_server: dict[str, str], rule: str) -> None:
    async with open_notes(tmp_path, notes_server, deny=[rule]) as proxied:
        with pytest.raises(ToolDeniedError, match="prompt:"):
            await proxied.call("reader.fill", name="greet", **{"with": {"name": "x"}})


# -- consent shows everything


async def test_the_file_that_holds_all_of_it_is_there_while_the_question_is_open(tmp_path: Path) -> None:
    secret, person = "hunter2-hunter2", Person()
    seen: list[str] = []

    async def ask(question: str, choices: Sequence[Choice]) -> Choice | None:
        [file] = re.findall(r"all of it: (\S+)\)", question)
        seen.append(Path(file).read_text())
        assert Path(file).stat().st_mode & 0o777 == 0o600
        return await person.ask(question, choices)

    subject = Subject("mail.send", "policy.ask names mail.*", {"body": "word " * 2000 + secret})
    await Consent(Redactor([secret]), tmp_path / "questions").obtain(subject, Caller(ask=ask))

    assert len(seen[0]) > 10_000
    assert secret not in seen[0] + person.questions[0]
    assert list((tmp_path / "questions").iterdir()) == []


async def test_nobody_agrees_to_what_cannot_be_shown(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    person = Person()
    for folder in (None, tmp_path / "file" / "questions"):
        subject = Subject("mail.send", "policy.ask names mail.*", {"body": "word " * 2000})
        with pytest.raises(ConsentError, match="its arguments cannot be shown"):
            await Consent(Redactor(), folder).obtain(subject, Caller(ask=person.ask))

    assert person.questions == []


async def test_an_address_cannot_write_into_the_question() -> None:
    person = Person()
    subject = Subject("web.resource:x://y\n\n(all is well)", "policy.ask names web.*", {})
    await Consent(Redactor()).obtain(subject, Caller(ask=person.ask))

    assert "\n\n(all" not in person.questions[0]


# -- consent goes as far as the person says


async def call_in_runs(opened: Opened, person: Person, runs: int) -> None:
    """Two calls in each of several runs of one client."""
    client = ClientMemory()
    for _ in range(runs):
        caller = Caller(ask=person.ask, memory=client, run_memory=ClientMemory())
        for text in ("a", "b"):
            await opened.executor.call("demo.upper", {"text": text}, caller=caller)


@pytest.mark.parametrize(("answer", "asked"), [(Choice.ONCE, 6), (Choice.RUN, 3), (Choice.CLIENT, 1)])
async def test_an_answer_counts_for_the_call_the_run_or_the_client(answer: Choice, asked: int) -> None:
    person = Person(answer)
    async with open_executor(config={"policy": {"ask": ["demo.*"]}}) as opened:
        await call_in_runs(opened, person, 3)

    assert len(person.questions) == asked
    assert set(person.choices) == {tuple(Choice)}


async def test_another_tool_and_another_reason_are_asked_about_again() -> None:
    person = Person(Choice.CLIENT)
    policy = {"ask": ["demo.upper"], "flows": [{"from": ["demo.busy"], "to": ["demo.*er"]}]}
    async with open_executor(config={"policy": policy}) as opened:
        caller = Caller(ask=person.ask)
        for name, arguments in (
            ("demo.upper", {"text": "a"}),
            ("demo.upper", {"text": "b"}),
            ("demo.busy", {"seconds": 0}),
            ("demo.upper", {"text": "c"}),
            ("demo.upper", {"text": "d"}),
        ):
            await opened.executor.call(name, arguments, caller=caller)

    assert len(person.questions) == 2
    assert "demo.busy was called before" in person.questions[1]


async def test_outside_of_a_run_nobody_is_offered_a_yes_for_the_run() -> None:
    person = Person()
    async with open_executor(config={"policy": {"ask": ["demo.*"]}}) as opened:
        await opened.executor.call("demo.upper", {"text": "a"}, caller=Caller(ask=person.ask))

    assert person.choices == [(Choice.ONCE, Choice.CLIENT)]


async def test_calls_that_wait_at_the_same_time_are_one_question() -> None:
    person = Person()
    person.may_answer = anyio.Event()
    async with open_executor(config={"policy": {"ask": ["demo.*"]}}) as opened, anyio.create_task_group() as tasks:
        caller = Caller(ask=person.ask)

        async def call(text: str) -> None:
            await opened.executor.call("demo.upper", {"text": text}, caller=caller)

        tasks.start_soon(call, "first")
        await person.asked.wait()
        for n in range(5):  # these wait while the first question is open
            tasks.start_soon(call, f"later{n}")
        await anyio.wait_all_tasks_blocked()
        person.may_answer.set()

    first, second = person.questions
    assert "first" in first
    assert second.startswith("Allow these 5 calls?")
    assert [second.count(f"later{n}") for n in range(5)] == [1] * 5


async def test_a_no_refuses_every_call_of_the_question() -> None:
    person = Person(None)
    refused: list[str] = []
    async with open_executor(config={"policy": {"ask": ["demo.*"]}}) as opened, anyio.create_task_group() as tasks:
        caller = Caller(ask=person.ask)

        async def call(text: str) -> None:
            with pytest.raises(ConsentError):
                await opened.executor.call("demo.upper", {"text": text}, caller=caller)
            refused.append(text)

        for text in "abc":
            tasks.start_soon(call, text)

    assert sorted(refused) == ["a", "b", "c"]


async def test_a_call_that_is_cancelled_leaves_its_question_to_the_others() -> None:
    person = Person()
    person.may_answer = anyio.Event()
    done: list[Any] = []
    async with open_executor(config={"policy": {"ask": ["demo.*"]}}) as opened, anyio.create_task_group() as tasks:
        caller = Caller(ask=person.ask)
        scope = anyio.CancelScope()

        async def call(text: str) -> None:
            done.append(await opened.executor.call("demo.upper", {"text": text}, caller=caller))

        async def call_in_scope() -> None:
            with scope:
                await call("cancelled")

        tasks.start_soon(call_in_scope)
        tasks.start_soon(call, "stays")
        await person.asked.wait()
        scope.cancel()
        person.may_answer.set()

    assert done == ["STAYS"]


# -- tools that ask by themselves


PACK = """
    from ot.context import current
    pack = "asking"
    __all__ = ["do"]
    async def do(*, what: str) -> bool:
        "Ask, then do."
        return await current().ask(f"Do {what}?")
"""


async def test_policy_allow_answers_for_a_tool_that_asks_by_itself(tmp_path: Path) -> None:
    (tmp_path / "asking.py").write_text("\n".join(line[4:] for line in PACK.splitlines()))
    person = Person(None)
    async with open_executor(tmp_path, config={"policy": {"allow": ["asking.*"]}}) as opened:
        assert await opened.executor.call("asking.do", {"what": "it"}, caller=Caller(ask=person.ask)) is True
    async with open_executor(tmp_path) as opened:
        assert await opened.executor.call("asking.do", {"what": "it"}, caller=Caller(ask=person.ask)) is False
        with pytest.raises(ConsentError, match=r"policy\.allow"):
            await opened.executor.call("asking.do", {"what": "it"})

    assert person.questions == ["Do it?"]


async def test_policy_allow_does_not_undo_policy_ask() -> None:
    async with open_executor(config={"policy": {"allow": ["demo.*"], "ask": ["demo.upper"]}}) as opened:
        with pytest.raises(ConsentError):
            await opened.executor.call("demo.upper", {"text": "x"})


# -- flows


FLOWS = {"policy": {"flows": [{"from": ["demo.upper"], "to": ["demo.foo", "demo.busy"], "action": "deny"}]}}


async def test_what_was_read_closes_the_ways_out_for_this_client_alone() -> None:
    async with open_executor(config=FLOWS) as opened:
        reader, other = Caller(), Caller()
        await opened.executor.call("demo.foo", {}, caller=reader)
        await opened.executor.call("demo.upper", {"text": "mail"}, caller=reader)
        with pytest.raises(FlowDeniedError) as raised:
            await opened.executor.call("demo.foo", {}, caller=reader)
        await opened.executor.call("demo.foo", {}, caller=other)

    assert (raised.value.tool, raised.value.read) == ("demo.foo", "demo.upper")


async def test_a_call_that_fails_has_begun_and_one_that_was_refused_has_not() -> None:
    policy = {"ask": ["demo.upper"], **FLOWS["policy"]}

    async def broken(_: dict[str, Any]) -> Any:
        raise ValueError("half of a mail")

    async with open_executor(config={"policy": policy}) as opened:
        refused = Caller(ask=Person(None).ask)
        with pytest.raises(ConsentError):
            await opened.executor.call("demo.upper", {"text": "x"}, caller=refused)
        await opened.executor.call("demo.foo", {}, caller=refused)

        failed = Caller(ask=Person().ask)
        opened.registry.register(opened.registry.get("demo.upper"), broken)
        with pytest.raises(Exception, match="half of a mail"):
            await opened.executor.call("demo.upper", {"text": "x"}, caller=failed)
        with pytest.raises(FlowDeniedError):
            await opened.executor.call("demo.foo", {}, caller=failed)


async def test_a_tool_that_calls_others_does_not_open_a_way_around(tmp_path: Path) -> None:
    source = """
        from ot.context import current
        pack = "around"
        __all__ = ["send"]
        async def send() -> str:
            "Send something."
            return await current().call("demo.foo")
    """
    async with open_engine(
        tmp_path / "e", config=str(FLOWS), packs={"around": re.sub("^ {8}", "", source, flags=re.M)}
    ) as app:
        answer = await app.runner.run("demo.upper(text='mail')\naround.send()")

    assert answer.is_error
    assert "policy.flows" in answer.text


async def test_the_mark_travels_with_a_stored_result(tmp_path: Path) -> None:
    config = str({**FLOWS, "results": {"inline_limit": 200}})
    async with open_engine(tmp_path / "e", config=config) as app:
        writer, reader, by_pages = Caller(), Caller(), Caller()
        stored = (await app.runner.run("demo.upper(text='mail ' * 500)", caller=writer)).text
        [handle] = set(re.findall(r"handle=\"(\w+)\"", stored))
        before = await app.runner.run("demo.foo()", caller=reader)
        loaded = await app.runner.run(f"len(ot.load(handle='{handle}'))", caller=reader)
        page = await app.runner.run(f"ot.result(handle='{handle}')['returned']", caller=by_pages)
        after = [await app.runner.run("demo.foo()", caller=caller) for caller in (reader, by_pages)]

    assert not before.is_error
    assert (loaded.text, page.is_error) == ("2500", False)
    assert [answer.is_error for answer in after] == [True, True]


async def test_a_flow_that_asks_says_what_was_read(tmp_path: Path) -> None:
    policy = {"flows": [{"from": ["demo.upper"], "to": ["demo.foo"]}]}
    person = Person()
    async with open_engine(tmp_path / "e", config=str({"policy": policy})) as app:
        assert await answer_of(app, "demo.foo() is not None") == "True"
        answer = await app.runner.run("demo.upper(text='x')\ndemo.foo()", caller=Caller(ask=person.ask))

    assert not answer.is_error
    assert "demo.upper was called before, and policy.flows guards its results" in person.questions[0]


def test_a_client_that_has_read_more_than_can_be_remembered_has_read_everything() -> None:
    memory = ClientMemory()
    memory.note(f"mail.resource:{n}" for n in range(MOST_NAMES + 1))

    assert memory.read == {EVERYTHING}


async def test_after_everything_every_flow_is_closed() -> None:
    caller = Caller()
    caller.memory.note([EVERYTHING])
    async with open_executor(config=FLOWS) as opened:
        with pytest.raises(FlowDeniedError):
            await opened.executor.call("demo.foo", {}, caller=caller)


def test_a_plain_tool_has_nothing_to_ask_and_nothing_to_remember() -> None:
    policy = PolicySettings.model_validate({"flows": [{"from": ["mail.*"], "to": ["web.*"]}]})

    assert build_guard(("proj.path",), policy).simple
    assert not build_guard(("mail.read",), policy).simple
    assert not build_guard(("web.post",), policy).simple


# -- rules that name nothing


async def test_a_rule_that_names_nothing_is_told_with_the_nearest_name() -> None:
    policy = PolicySettings.model_validate(
        {
            "deny": ["demo.uper", "demo.*", "gitub.*"],
            "ask": ["my-notes.delete_all", "my_notes.resource:*", "*.upper", "later.*"],
            "allow": ["demmo.*"],
            "flows": [{"from": ["demo.upper"], "to": ["wbe.*"]}],
        }
    )
    async with open_executor() as opened:
        found = list(find_idle_rules(policy, opened.registry, ["my-notes", "github", "later"]))

    assert [sentence.partition(",")[0] for sentence in found] == [
        'policy.deny: "demo.uper" matches no tool',
        'policy.deny: "gitub.*" matches no tool',
        'policy.allow: "demmo.*" matches no tool',
        'policy.flows.0.to: "wbe.*" matches no tool',
    ]
    assert [sentence.rpartition(" ")[2] for sentence in found[:3]] == ['"demo.upper"', '"github.*"', '"demo.*"']


@pytest.mark.parametrize(
    ("names", "withheld"),
    [
        (("mail.send",), True),
        (("mail.read",), False),
        (("web.fetch",), False),
        (("db.query",), True),
        (("db.tables",), False),
        (("files.read", "mail.old"), False),
    ],
)
def test_what_only_groups_have_is_withheld_from_others(names: tuple[str, ...], *, withheld: bool) -> None:
    policy = GrantedPolicy(only_granted=("mail", "db.query"), granted=("mail.read",))

    assert build_guard(names, policy).withheld is build_guard(names, policy).refused is withheld
    assert not build_guard(names, PolicySettings()).withheld
    with pytest.raises(NotGrantedError) if withheld else nullcontext():
        refuse_denied(build_guard(names, policy))
