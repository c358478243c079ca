"""The one door: what comes back from a call, and what never does."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from ot.clients.caller import YES_OR_NO, Caller, Choice
from ot.config.models import Config
from ot.config.paths import PackFolders
from ot.config.secrets import Secrets
from ot.context import current, current_or_none
from ot.errors import (
    CallError,
    ConfigError,
    ConsentError,
    FlowDeniedError,
    ServiceUnavailableError,
    ToolArgumentError,
    ToolDeniedError,
    ToolError,
    ToolFailedError,
    UnknownToolError,
)
from ot.execution.wording import builtin_kind, word_error
from ot.registry.definitions import Cancellation
from tests.opened_executor import BUILT_IN, add_tool, open_executor, write_pack
from tests.unit.results.stores import files_of, open_store

SECRET = "s3cr3t-value"


async def test_a_call_gives_the_native_value() -> None:
    value: Any = {"a": (1, 2), 3: {b"x"}}

    async with open_executor() as opened:
        assert await opened.executor.call("demo.echo", {"value": value}) == value
        assert await opened.executor.call("demo.upper", {}, positional=["a"]) == "A"


async def test_a_tool_that_is_registered_again_is_the_one_that_is_called() -> None:
    async def first(arguments: dict[str, Any]) -> str:
        return "first"

    async def second(arguments: dict[str, Any]) -> str:
        return "second"

    async with open_executor() as opened:
        add_tool(opened, "x.tool", first)
        assert await opened.executor.call("x.tool", {"a": 1}) == "first"
        add_tool(opened, "x.tool", second, parameters={"additionalProperties": False})

        assert await opened.executor.call("x.tool", {}) == "second"
        with pytest.raises(ToolArgumentError):
            await opened.executor.call("x.tool", {"a": 1})


class _OwnError(LookupError):
    pass


class _MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (ValueError("bad"), "ValueError", "bad"),
        (_OwnError("x"), "LookupError", "x"),
        (KeyError(), "KeyError", "KeyError"),
        (SystemExit(2), "RuntimeError", "2"),
        (asyncio.CancelledError(), "RuntimeError", "CancelledError"),
        (ExceptionGroup("g", [ZeroDivisionError("z")]), "ZeroDivisionError", "z"),
        (RecursionError("deep"), "RecursionError", "deep"),
        (_MuteError(), "Exception", "<a _MuteError whose message cannot be shown>"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
async def test_whatever_a_tool_raises_is_told_with_its_kind_and_the_traceback_stays_in_the_log(
    caplog: pytest.LogCaptureFixture, error: BaseException, kind: str, message: str
) -> None:
    async def tool(arguments: dict[str, Any]) -> None:
        raise error

    async with open_executor() as opened:
        add_tool(opened, "x.tool", tool)
        with pytest.raises(ToolFailedError) as raised:
            await opened.executor.call("x.tool", {})

    assert (raised.value.tool, raised.value.kind, raised.value.message) == ("x.tool", kind, message)
    logged = [r.getMessage() for r in caplog.records if raised.value.incident in r.getMessage()]
    assert any("Traceback" in text and "raise error" in text for text in logged)
    assert "Traceback" not in word_error(raised.value)


@pytest.mark.parametrize(
    "error",
    [ConnectionRefusedError("refused"), httpx2.ConnectTimeout("slow"), ExceptionGroup("g", [BrokenPipeError("gone")])],
    ids=lambda error: type(error).__name__,
)
async def test_a_network_failure_is_a_service_that_is_unavailable(error: Exception) -> None:
    async def tool(arguments: dict[str, Any]) -> None:
        raise error

    async with open_executor() as opened:
        add_tool(opened, "x.tool", tool)
        with pytest.raises(ServiceUnavailableError):
            await opened.executor.call("x.tool", {})


async def test_an_error_of_ours_inside_a_tool_is_told_in_its_own_words() -> None:
    error = ConfigError("is not a number", key="packs.x.limit")

    async def tool(arguments: dict[str, Any]) -> None:
        raise error

    async with open_executor() as opened:
        add_tool(opened, "x.tool", tool)
        with pytest.raises(ToolFailedError) as raised:
            await opened.executor.call("x.tool", {})

    assert raised.value.message == word_error(error)


async def test_a_packs_own_error_learns_the_name_of_its_tool() -> None:
    async with open_executor() as opened:
        with pytest.raises(ToolError) as raised:
            await opened.executor.call("demo.fail", {"message": "no such table", "kind": "ToolError"})

    assert (raised.value.tool, raised.value.message) == ("demo.fail", "no such table")


async def test_a_packs_own_error_keeps_the_cause_that_it_named() -> None:
    async def tool(arguments: dict[str, Any]) -> Any:
        raise ToolError("no such note") from FileNotFoundError("notes.txt")

    async with open_executor() as opened:
        add_tool(opened, "test.tool", tool)
        with pytest.raises(ToolError) as caught:
            await opened.executor.call("test.tool", {})

    assert builtin_kind(caught.value) == "FileNotFoundError"


async def test_a_part_that_is_lent_is_found_by_its_type() -> None:
    class Almanac:
        """Something that packs may use."""

    async def tool(arguments: dict[str, Any]) -> Any:
        return current().part(Almanac) is almanac

    almanac = Almanac()
    async with open_executor() as opened:
        add_tool(opened, "test.tool", tool)
        with pytest.raises(ToolError, match="Almanac is not available here"):
            await opened.executor.call("test.tool", {})
        opened.executor.lend(almanac)

        assert await opened.executor.call("test.tool", {}) is True


async def test_denied_tools_are_refused_before_anything_else() -> None:
    async with open_executor(config={"policy": {"deny": ["demo.u*", "proj.*"]}}) as opened:
        with pytest.raises(ToolDeniedError) as raised:
            await opened.executor.call("demo.upper", {"nonsense": 1})

        assert raised.value.rule == "demo.u*"
        assert await opened.executor.call("demo.foo", {}) == "foo"


async def test_a_denied_tool_stays_denied_under_another_name() -> None:
    async def tool(arguments: dict[str, Any]) -> Any:
        return "done"

    async with open_executor(config={"policy": {"deny": ["shell.*"]}}) as opened:
        add_tool(opened, "shell_builtin.run", tool, moved_from="shell.run")
        with pytest.raises(ToolDeniedError):
            await opened.executor.call("shell_builtin.run", {})


async def test_a_person_is_asked_once_the_arguments_are_right() -> None:
    questions: list[str] = []

    async def agree(question: str, choices: Sequence[Choice]) -> Choice:
        questions.append(question)
        return Choice.ONCE

    async with open_executor(config={"policy": {"ask": ["demo.upper"]}}, secrets={"KEY": SECRET}) as opened:
        caller = Caller(ask=agree)
        with pytest.raises(ToolArgumentError):
            await opened.executor.call("demo.upper", {}, caller=caller)
        assert questions == []

        assert await opened.executor.call("demo.upper", {"text": f"x {SECRET}"}, caller=caller) == "X S3CR3T-VALUE"

    assert questions == [
        'Allow this call?\n\ndemo.upper\n  text = "x ***"\n  (asked because policy.ask names demo.upper)'
    ]


async def refuse(question: str, choices: Sequence[Choice]) -> None:
    return None


@pytest.mark.parametrize(
    ("caller", "reason"),
    [(Caller(), "nobody can be asked here"), (Caller(ask=refuse), "the answer was no")],
    ids=["nobody", "no"],
)
async def test_without_consent_there_is_no_call(caller: Caller, reason: str) -> None:
    async with open_executor(config={"policy": {"ask": ["demo.*"]}}) as opened:
        with pytest.raises(ConsentError) as raised:
            await opened.executor.call("demo.upper", {"text": "x"}, caller=caller)

    assert raised.value.reason == reason
    assert reason in word_error(raised.value)


async def test_secrets_leave_neither_in_results_nor_in_errors_nor_in_text() -> None:
    async with open_executor(secrets={"KEY": SECRET}) as opened:
        call = opened.executor.call
        assert await call("demo.echo", {"value": {SECRET: [SECRET]}}) == {"***": ["***"]}
        assert await opened.executor.execute("demo.echo", {"value": f"is {SECRET}"}) == "is ***"
        for kind in ("ToolError", "ValueError", "ConnectionError"):
            with pytest.raises(CallError) as raised:
                await call("demo.fail", {"message": f"bad key {SECRET}", "kind": kind})
            assert SECRET not in word_error(raised.value) + repr(raised.value.args)
            assert "bad key ***" in word_error(raised.value)


PACK = '''
    """A pack that uses its context."""
    from ot.context import current
    from ot.isolate import isolated

    secrets = ("API_KEY", "UNSET_KEY")

    async def key(*, name: str = "API_KEY") -> str:
        return "key: " + current().secret(name)

    async def config() -> dict:
        return dict(current().config)

    async def whoami() -> list:
        return [current().tool, str(current().project)]

    async def nested(*, tool: str, arguments: dict = {}) -> object:
        return await current().call(tool, **arguments)

    async def step() -> None:
        await current().progress(1, 2, "half of " + current().secret("API_KEY"))

    async def ask() -> bool:
        return await current().ask("Really?")

    def plain() -> str:
        return current().tool

    @isolated
    def away(*, name: str = "API_KEY") -> list:
        context = current()
        return [context.tool, dict(context.config), str(context.project), len(context.secret(name))]
'''


@pytest.mark.parametrize(
    ("cancellation", "place", "found"),
    [
        (Cancellation.ASYNC, ".onetool/tools/x.py", "person, environment"),
        (Cancellation.WORKER, ".onetool/tools/x.py", "project, none"),
        (Cancellation.WORKER, "elsewhere/x.py", "person, none"),
        (Cancellation.WORKER, None, "person, none"),
    ],
)
async def test_an_extension_gets_the_secret_beside_it_and_none_of_the_environment(
    tmp_path: Path, cancellation: Cancellation, place: str | None, found: str
) -> None:
    def letters(name: str) -> str:
        try:
            return " ".join(current().secret(name))  # so that it is not taken for the secret
        except ToolError:
            return "n o n e"

    async def show(arguments: dict[str, Any]) -> str:
        return f"{letters('KEY')} ,   {letters('VARIABLE')}"

    secrets = Secrets({"KEY": "person"}, project={"KEY": "project"}, environ={"VARIABLE": "environment"})
    async with open_executor(tmp_path) as opened:
        opened.executor.apply(Config(), secrets)
        file = None if place is None else tmp_path / place
        add_tool(opened, "x.tool", show, secrets=("KEY", "VARIABLE"), cancellation=cancellation, file=file)

        assert await opened.executor.call("x.tool", {}) == " ".join(found)


async def test_what_nobody_in_particular_has_read_counts_in_one_engine_only() -> None:
    flows = {"policy": {"flows": [{"from": ["demo.bar"], "to": ["demo.echo"], "action": "deny"}]}}
    async with open_executor(config=flows) as one, open_executor(config=flows) as other:
        await one.executor.call("demo.bar", {})

        with pytest.raises(FlowDeniedError):
            await one.executor.call("demo.echo", {"value": 1})
        assert await other.executor.call("demo.echo", {"value": 1}) == 1


async def test_what_is_prepared_before_a_call_has_the_context_of_one(tmp_path: Path) -> None:
    async with open_executor(tmp_path, config={"packs": {"x": {"colour": "red"}}}) as opened:
        context = opened.executor.context_for("x.tool")

        assert (context.tool, dict(context.config), context.project) == ("x.tool", {"colour": "red"}, tmp_path)


async def test_a_pack_keeps_what_it_needs_in_a_folder_of_its_own(tmp_path: Path) -> None:
    async def show(arguments: dict[str, Any]) -> str:
        return str(current().state)

    async with open_executor() as opened:
        add_tool(opened, "x.tool", show)
        with pytest.raises(ToolError, match="is not available here"):
            await opened.executor.call("x.tool", {})
        opened.executor.lend(PackFolders(tmp_path))

        assert await opened.executor.call("x.tool", {}) == str(tmp_path / "packs" / "x")


async def test_a_pack_reads_its_own_configuration_and_place(tmp_path: Path) -> None:
    write_pack(tmp_path, PACK)

    async with open_executor(tmp_path, config={"packs": {"sample": {"timeout": 20, "colour": "red"}}}) as opened:
        call = opened.executor.call
        assert await call("sample.config", {}) == {"colour": "red"}
        assert await call("sample.whoami", {}) == ["sample.whoami", str(tmp_path)]
        assert await call("sample.plain", {}) == "sample.plain"
        assert current_or_none() is None


async def test_an_isolated_tool_has_its_context_too(tmp_path: Path) -> None:
    write_pack(tmp_path, PACK)
    config = {"packs": {"sample": {"colour": "red"}}}

    async with open_executor(tmp_path, config=config, secrets={"API_KEY": SECRET, "OTHER": "other-secret"}) as opened:
        found = await opened.executor.call("sample.away", {})
        with pytest.raises(ToolError, match="OTHER is not set, or not declared"):
            await opened.executor.call("sample.away", {"name": "OTHER"})

    assert found == ["sample.away", {"colour": "red"}, str(tmp_path), len(SECRET)]


async def test_a_secret_must_be_declared_and_set_and_is_redacted_from_its_first_use(tmp_path: Path) -> None:
    write_pack(tmp_path, PACK)

    async with open_executor(tmp_path, environ={"API_KEY": SECRET, "HOME": "/home/somebody"}) as opened:
        call = opened.executor.call
        assert await call("sample.key", {}) == "key: ***"
        with pytest.raises(ToolError, match="does not declare the secret HOME"):
            await call("sample.key", {"name": "HOME"})
        with pytest.raises(ToolError, match="UNSET_KEY is not set"):
            await call("sample.key", {"name": "UNSET_KEY"})


async def test_a_tools_own_calls_go_through_the_same_door(tmp_path: Path) -> None:
    write_pack(tmp_path, PACK)
    write_pack(tmp_path, "async def tool(): return 1\n", "hidden")

    async with open_executor(tmp_path, config={"policy": {"deny": ["hidden.*"]}}) as opened:
        call = opened.executor.call
        assert await call("sample.nested", {"tool": "sample.plain"}) == "sample.plain"
        with pytest.raises(ToolDeniedError):
            await call("sample.nested", {"tool": "hidden.tool"})
        with pytest.raises(UnknownToolError):
            await call("sample.nested", {"tool": "sample.nothing"})


async def test_calls_inside_calls_come_to_an_end() -> None:
    depths = []

    async def again(arguments: dict[str, Any]) -> Any:
        depths.append(current().depth)
        return await current().call("x.again")

    async with open_executor() as opened:
        add_tool(opened, "x.again", again)
        with pytest.raises(ToolFailedError) as raised:
            await opened.executor.call("x.again", {})

    assert raised.value.kind == "RecursionError"
    assert depths == list(range(33))


async def test_progress_reaches_the_caller_without_secrets_also_from_a_nested_call(tmp_path: Path) -> None:
    write_pack(tmp_path, PACK)
    told: list[tuple[float, float | None, str]] = []

    async def listen(done: float, total: float | None, message: str) -> None:
        told.append((done, total, message))

    async with open_executor(tmp_path, secrets={"API_KEY": SECRET}) as opened:
        caller = Caller(progress=listen)
        await opened.executor.call("sample.step", {}, caller=caller)
        await opened.executor.call("sample.nested", {"tool": "sample.step"}, caller=caller)
        await opened.executor.call("sample.step", {})

    assert told == [(1, 2, "half of ***")] * 2


async def test_a_tool_may_ask_a_person_where_there_is_one(tmp_path: Path) -> None:
    write_pack(tmp_path, PACK)

    async def agree(question: str, choices: Sequence[Choice]) -> Choice | None:
        return Choice.ONCE if (question, choices) == ("Really?", YES_OR_NO) else None

    async with open_executor(tmp_path) as opened:
        assert await opened.executor.call("sample.ask", {}, caller=Caller(ask=agree)) is True
        with pytest.raises(ConsentError):
            await opened.executor.call("sample.ask", {})


async def test_calls_at_the_same_time_have_contexts_of_their_own() -> None:
    found: list[str] = []

    async def tool(arguments: dict[str, Any]) -> None:
        await anyio.sleep(0)
        found.append(current().tool)

    async with open_executor() as opened:
        names = [f"x.tool{n}" for n in range(10)]
        async with anyio.create_task_group() as tasks:
            for name in names:
                add_tool(opened, name, tool)
                tasks.start_soon(opened.executor.call, name, {})

    assert sorted(found) == sorted(names)


@pytest.mark.parametrize(
    ("value", "text"),
    [("plain text", "plain text"), (None, "None"), ([1, "two"], "[1, two]"), ({"a": {"b": 1.5}}, "{a: {b: 1.5}}")],
    ids=["text", "none", "list", "dict"],
)
async def test_execute_gives_the_text_of_the_value(value: Any, text: str) -> None:
    async with open_executor() as opened:
        assert await opened.executor.execute("demo.echo", {"value": value}) == text


async def test_execute_says_where_a_long_text_was_cut() -> None:
    async with open_executor(config={"results": {"inline_limit": 1000}}) as opened:
        text = await opened.executor.execute("demo.echo", {"value": "x" * 5000})

    assert text.startswith("xxx")
    assert text.endswith("(cut after 1000 characters)")
    assert len(text) < 1100


async def test_a_long_value_is_answered_with_where_it_is_kept(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    async with open_executor(config={"results": {"inline_limit": 1000}}, results=store) as opened:
        text = await opened.executor.execute("demo.echo", {"value": "x" * 5000})

    [handle] = set(re.findall(r'handle="([^"]+)"', text))
    assert any(file.startswith(handle) for file in files_of(tmp_path))


async def test_an_answer_tells_whether_the_call_went_well() -> None:
    async with open_executor() as opened:
        assert (await opened.executor.answer("demo.upper", {"text": "a"})).ok
        assert not (await opened.executor.answer("demo.upper", {})).ok


@pytest.mark.parametrize("arguments", [None, [1], "text"], ids=repr)
async def test_execute_answers_nonsense_with_a_sentence(arguments: Any) -> None:
    async with open_executor() as opened:
        assert "must be an object" in await opened.executor.execute("demo.upper", arguments)


async def test_the_log_line_of_a_call_is_bounded(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="ot"):
        async with open_executor() as opened:
            await opened.executor.call("demo.echo", {"value": ["x" * 100_000] * 1000})

    [line] = [r.getMessage() for r in caplog.records if r.getMessage().startswith("demo.echo")]
    assert len(line) < 5000


async def test_built_in_packs_are_found_without_problems() -> None:
    async with open_executor(BUILT_IN) as opened:
        assert opened.registry.problems == []
