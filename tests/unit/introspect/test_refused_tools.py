"""What the policy refuses, and what a mistake has switched off: found before anything is executed, and marked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from ot.app import App
from ot.clients.caller import NOBODY, Caller, Choice
from tests.engine import open_engine

pytestmark = pytest.mark.anyio

CONFIG = """
policy: {deny: [demo.fail], ask: [demo.upper]}
aliases: {away: nosuch.tool, mistyped: demo.uper, wrong: 3, right: demo.upper}
servers: {bad: {comand: nothing}}
"""
NOBODY_THERE = "a person must agree first, and nobody can be asked here (policy.ask names demo.upper)."


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    async with open_engine(tmp_path_factory.mktemp("engine") / "project", config=CONFIG, tolerant=True) as opened:
        yield opened


async def run(app: App, code: str, caller: Caller = NOBODY) -> list[str]:
    return (await app.runner.run(code, caller=caller)).text.splitlines()


async def agree(question: str, choices: Sequence[Choice]) -> Choice:
    return Choice.ONCE


async def test_what_the_policy_refuses_is_found_before_anything_is_executed(app: App) -> None:
    code = "print('begun')\ndemo.upper(text='a')\nif False:\n    demo.fail(message='a')"

    assert await run(app, code) == [
        "Nothing was executed.",
        f"line 2: demo.upper was not called: {NOBODY_THERE}",
        "line 4: demo.fail is not allowed here: the configuration denies 'demo.fail' (policy.deny).",
    ]


async def test_where_somebody_can_be_asked_only_what_is_denied_is_refused(app: App) -> None:
    asked = Caller(ask=agree)

    assert await run(app, "demo.upper(text='a')", asked) == ["A"]
    assert (await run(app, "demo.fail(message='a')", asked))[0] == "Nothing was executed."
    [upper] = await run(app, "[tool['description'] for tool in ot.tools('demo.upper')]", asked)
    assert "policy" not in upper


async def test_code_that_expects_the_refusal_is_executed(app: App) -> None:
    code = "try:\n    demo.fail(message='a')\nexcept PermissionError:\n    answer = 'refused'\nanswer"

    assert await run(app, code) == ["refused"]


@pytest.mark.parametrize("info", ["min", "full"])
async def test_descriptions_begin_with_what_is_refused(app: App, info: str) -> None:
    listed: Any = await app.executor.call("ot.tools", {"pattern": "demo.", "info": info})
    described = {tool["name"]: tool["description"] for tool in listed}

    assert described["demo.fail"].startswith("(Denied here by policy.deny.) ")
    assert described["demo.upper"].startswith("(Cannot be called here: policy.ask names it, and nobody can be asked.) ")
    assert described["demo.upper"].count("(Cannot") == 1
    assert not described["demo.sleep"].startswith("(")


async def test_help_and_names_tell_what_is_refused(app: App) -> None:
    for query in ("demo.fail", "demo", "fail on purpose"):
        assert any("(Denied here by policy.deny.)" in line for line in await run(app, f"ot.help({query!r})")), query

    names = await run(app, 'len(ot.tools("demo.", "list")) > 2')

    assert names == ["True", "[Refused here by the policy: demo.fail, demo.upper.]"]


async def test_an_alias_that_cannot_be_used_is_told_where_code_names_it(app: App) -> None:
    [_, away, *_] = await run(app, "away(a=1)")
    [_, mistyped, *_] = await run(app, "mistyped(text='a')")
    wrong = await run(app, "wrong(text='a')")
    [_, server, *_] = await run(app, "bad.tool()")
    asked = "\n".join(await run(app, "ot.help('wrong')"))

    assert away.startswith(
        "line 1: The alias away refers to nosuch.tool (aliases.away in the configuration). There is no pack"
    )
    assert mistyped.startswith(
        "line 1: The alias mistyped refers to demo.uper (aliases.mistyped in the configuration). The"
    )
    assert wrong[-1].startswith("The alias wrong is off, because its settings are wrong: ")
    assert "The alias wrong is off" in asked
    assert server.startswith("line 1: The pack bad is off, because its settings are wrong: ")
