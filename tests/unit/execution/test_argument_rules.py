"""Rules on arguments and on the number of calls: what fits is denied or asked about, and nothing else is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from ot.clients.caller import Caller, Choice, ClientMemory
from ot.errors import CallError, ConsentError, FlowDeniedError, ToolDeniedError
from ot.store.quotas import EmbeddedQuotas
from tests.engine import open_engine
from tests.opened_executor import Opened, add_tool, open_executor

pytestmark = pytest.mark.anyio

ANY_ARGUMENTS = {"type": "object", "additionalProperties": True}


async def _sent(arguments: dict[str, Any]) -> str:
    return "sent"


def with_mail(opened: Opened) -> Opened:
    add_tool(opened, "mail.send", _sent, parameters=ANY_ARGUMENTS)
    add_tool(opened, "web.read", _sent, parameters=ANY_ARGUMENTS)
    return opened


async def outcome(rule: object, arguments: dict[str, Any], *, key: str = "deny") -> str:
    async with open_executor(config={"policy": {key: [rule]}}) as opened:
        try:
            return str(await with_mail(opened).executor.call("mail.send", arguments))
        except CallError as error:
            return type(error).__name__


DENIED, SENT = "ToolDeniedError", "sent"


@pytest.mark.parametrize(
    ("where", "arguments", "expected"),
    [
        ({"to": "not *@ours.example"}, {"to": "ann@ours.example"}, SENT),
        ({"to": "not *@ours.example"}, {"to": "Ann@OURS.example"}, SENT),
        ({"to": "not *@ours.example"}, {"to": "eve@evil.example"}, DENIED),
        ({"to": "not *@ours.example"}, {"to": ["ann@ours.example", "bob@ours.example"]}, SENT),
        ({"to": "not *@ours.example"}, {"to": ["ann@ours.example", "eve@evil.example"]}, DENIED),
        ({"to": "not *@ours.example"}, {"to": [["eve@evil.example"]]}, DENIED),
        ({"to": "not *@ours.example"}, {"to": "ann@ours.example, bob@ours.example"}, SENT),
        ({"to": "not *@ours.example"}, {"to": "eve@evil.example,ann@ours.example"}, DENIED),
        ({"to": "not *@ours.example"}, {"to": "eve@evil.example ann@ours.example"}, DENIED),
        ({"to": "not *@ours.example"}, {"to": "eve@evil.example\nann@ours.example"}, DENIED),
        ({"to": "not *@ours.example"}, {"to": "eve@evil.example;ann@ours.example"}, DENIED),
        ({"to": "not *@ours.example"}, {"to": "eve@evil.example@ours.example"}, DENIED),
        ({"to": "not *@ours.example"}, {"to": '"Lovelace, Ada" <ada@ours.example>'}, SENT),
        ({"to": "not *@ours.example"}, {"to": "ada@ours.example <eve@evil.example>"}, DENIED),
        ({"to": "not *@ours.example"}, {"to": "eve, ann@ours.example"}, DENIED),
        ({"to": "not *@ours.example"}, {"to": []}, SENT),
        ({"to": "not *@ours.example"}, {"to": {"address": "ann@ours.example"}}, DENIED),
        ({"to": "not *@ours.example"}, {"to": None}, DENIED),
        ({"to": "not *@ours.example"}, {}, DENIED),
        ({"to": "*@evil.example"}, {"to": ["ann@ours.example", "eve@evil.example"]}, DENIED),
        ({"to": "*@evil.example"}, {"to": "ann@ours.example"}, SENT),
        ({"path": "/etc/*"}, {"path": "/etc/passwd, really"}, DENIED),
        ({"path": "/etc/*"}, {"path": "/home/ann"}, SENT),
        ({"path": "/etc/*"}, {"path": "/home/../etc/passwd"}, DENIED),
        ({"path": "/etc/*"}, {"path": "//etc/passwd"}, DENIED),
        ({"path": "not notes/*"}, {"path": "notes/today.md"}, SENT),
        ({"path": "not notes/*"}, {"path": "notes/../secret"}, DENIED),
        ({"path": "not notes/*"}, {"path": "notes/.."}, DENIED),
        ({"path": "not notes/*"}, {"path": "notes/..hidden..md"}, SENT),
        ({"url": "not https://ours.example/*"}, {"url": "https://ours.example/a//b"}, DENIED),
        ({"url": "not https://ours.example/*"}, {"url": "https://ours.example/a"}, SENT),
        ({"amount": "> 100"}, {"amount": 100}, SENT),
        ({"amount": "> 100"}, {"amount": 100.5}, DENIED),
        ({"amount": "> 100"}, {"amount": "250"}, DENIED),
        ({"amount": "> 100"}, {"amount": "1e3"}, DENIED),
        ({"amount": ">= 100"}, {"amount": 100}, DENIED),
        ({"amount": "< 0"}, {"amount": -1}, DENIED),
        ({"amount": "<= 0"}, {"amount": 1}, SENT),
        ({"amount": "= 5"}, {"amount": 5.0}, DENIED),
        ({"amount": "!= 5"}, {"amount": 5}, SENT),
        ({"amount": "> 100"}, {"amount": [1, 2, 101]}, DENIED),
        ({"amount": "> 100"}, {"amount": "a lot"}, DENIED),
        ({"amount": "> 100"}, {"amount": True}, DENIED),
        ({"amount": "> 100"}, {"amount": float("nan")}, DENIED),
        ({"amount": "> 100"}, {"amount": b"\xff"}, DENIED),
        ({"amount": 5}, {"amount": 5}, DENIED),
        ({"amount": 5}, {"amount": 6}, SENT),
        ({"to": "*@ours.example", "amount": "> 100"}, {"to": "ann@ours.example", "amount": 101}, DENIED),
        ({"to": "*@ours.example", "amount": "> 100"}, {"to": "ann@ours.example", "amount": 99}, SENT),
        ({"reply-to": "not *@ours.example"}, {"reply-to": "eve@evil.example"}, DENIED),
        ({"reply_to": "not *@ours.example"}, {"reply-to": "ann@ours.example"}, SENT),
        (
            {"reply_to": "not *@ours.example"},
            {"reply_to": "ann@ours.example", "reply-to": "eve@evil.example"},
            DENIED,
        ),
    ],
)
async def test_a_rule_acts_on_what_fits_its_conditions(where: object, arguments: dict[str, Any], expected: str) -> None:
    assert await outcome({"tool": "mail.*", "where": where}, arguments) == expected


async def test_a_bare_pattern_and_a_mapping_with_a_tool_alone_mean_the_same() -> None:
    assert await outcome({"tool": "mail.*"}, {}) == await outcome("mail.*", {}) == DENIED


async def test_the_rule_is_worded_in_the_answer_and_code_can_catch_it(tmp_path: Path) -> None:
    config = "policy: {deny: [{tool: demo.echo, where: {value: '> 100'}}]}"
    async with open_engine(tmp_path / "project", config=config) as app:
        refused = await app.runner.run("demo.echo(value=250)")
        caught = await app.runner.run(
            "try:\n    demo.echo(value=250)\nexcept PermissionError:\n    x = demo.echo(value=100)\nx"
        )

    assert refused.is_error
    assert "demo.echo is not allowed here: the configuration denies 'demo.echo with value > 100' (policy.deny)." in (
        refused.text
    )
    assert caught.text == "100"


async def test_a_person_is_asked_only_for_what_fits_and_is_told_the_rule() -> None:
    questions = []

    async def ask(question: str, choices: Sequence[Choice]) -> Choice | None:
        questions.append(question)
        return Choice.ONCE

    rule = {"tool": "mail.send", "where": {"to": "not *@ours.example"}}
    async with open_executor(config={"policy": {"ask": [rule]}}) as opened:
        executor = with_mail(opened).executor
        for to in ("ann@ours.example", "eve@evil.example"):
            await executor.call("mail.send", {"to": to}, caller=Caller(ask=ask))
        with pytest.raises(ConsentError):
            await executor.call("mail.send", {"to": "eve@evil.example"}, caller=Caller())

    assert len(questions) == 1
    assert "eve@evil.example" in questions[0]
    assert "(asked because policy.ask names mail.send with to not *@ours.example)" in questions[0]


async def test_a_flow_may_end_only_where_the_arguments_fit() -> None:
    flow = {"from": ["web.*"], "to": [{"tool": "mail.send", "where": {"to": "not *@ours.example"}}], "action": "deny"}
    async with open_executor(config={"policy": {"flows": [flow]}}) as opened:
        executor, caller = with_mail(opened).executor, Caller()
        await executor.call("mail.send", {"to": "eve@evil.example"}, caller=caller)
        await executor.call("web.read", {}, caller=caller)
        await executor.call("mail.send", {"to": "ann@ours.example"}, caller=caller)
        with pytest.raises(FlowDeniedError):
            await executor.call("mail.send", {"to": "eve@evil.example"}, caller=caller)


# -- numbers of calls


async def test_calls_beyond_a_number_are_denied_in_each_run(tmp_path: Path) -> None:
    config = "policy: {deny: [{tool: demo.echo, more_than: 2}]}"
    async with open_engine(tmp_path / "project", config=config) as app:
        answers = [await app.runner.run("[demo.echo(value=n) for n in range(2)]") for _ in range(2)]
        refused = await app.runner.run("for n in range(3):\n    print(demo.echo(value=n))")

    assert [answer.text for answer in answers] == ["[0, 1]"] * 2
    assert refused.is_error
    assert "'demo.echo, more than 2 per run'" in refused.text
    assert "line 2" in refused.text


async def test_calls_at_once_are_counted_one_by_one() -> None:
    caller = Caller(run_memory=ClientMemory())
    made, refused = [], []
    async with open_executor(config={"policy": {"deny": [{"tool": "mail.*", "more_than": 5}]}}) as opened:
        executor = with_mail(opened).executor

        async def send() -> None:
            try:
                made.append(await executor.call("mail.send", {}, caller=caller))
            except ToolDeniedError as error:
                refused.append(error.rule)

        async with anyio.create_task_group() as tasks:
            for _ in range(12):
                tasks.start_soon(send)

    assert (len(made), len(refused)) == (5, 7)


async def test_only_calls_that_fit_are_counted() -> None:
    rule = {"tool": "mail.send", "where": {"to": "not *@ours.example"}, "more_than": 1}
    async with open_executor(config={"policy": {"deny": [rule]}}) as opened:
        executor, caller = with_mail(opened).executor, Caller(run_memory=ClientMemory())
        for to in ("ann@ours.example", "eve@evil.example", "ann@ours.example", "ann@ours.example"):
            await executor.call("mail.send", {"to": to}, caller=caller)
        with pytest.raises(ToolDeniedError):
            await executor.call("mail.send", {"to": "eve@evil.example"}, caller=caller)


async def test_calls_of_an_hour_are_counted_over_runs_and_servers(tmp_path: Path) -> None:
    now = 36_000.0
    config = {"policy": {"deny": [{"tool": "mail.*", "more_than": 2, "per": "hour"}]}}

    async def send() -> str:
        quotas = EmbeddedQuotas(tmp_path, clock=lambda: now)
        async with open_executor(config=config, quotas=quotas) as opened:
            return str(await with_mail(opened).executor.call("mail.send", {}, caller=Caller()))

    assert [await send() for _ in range(2)] == ["sent"] * 2
    with pytest.raises(ToolDeniedError, match="more than 2 per hour"):
        await send()
    now += 3600
    assert await send() == "sent"


async def test_calls_that_cannot_be_counted_are_too_many(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("no folder")
    config = {"policy": {"deny": [{"tool": "mail.*", "more_than": 2, "per": "hour"}]}}
    async with open_executor(config=config, quotas=EmbeddedQuotas(tmp_path / "state")) as opened:
        with pytest.raises(ToolDeniedError, match="the calls cannot be counted now"):
            await with_mail(opened).executor.call("mail.send", {}, caller=Caller())
