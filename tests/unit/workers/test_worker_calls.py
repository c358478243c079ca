"""Calls of extension tools as they really come: through the executor, with its time, its context and its errors."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

import anyio
import pytest
import yaml
from anyio import fail_after

from ot.clients.caller import Caller
from ot.context import current
from ot.errors import (
    ServiceUnavailableError,
    ToolArgumentError,
    ToolError,
    ToolFailedError,
    ToolTimeoutError,
)
from ot.execution.wording import builtin_kind, word_error
from ot.values import Image
from tests.engine import open_engine as open_whole_engine
from tests.opened_executor import define, wait_until
from tests.worker_pool import open_engine, program, write_extension

pytestmark = pytest.mark.anyio


async def upper(arguments: dict[str, Any]) -> Any:
    return arguments["text"].upper()


async def test_a_tool_error_reaches_the_caller_as_it_was_written(tmp_path: Path) -> None:
    async with open_engine(tmp_path, program("failing")) as engine:
        with fail_after(60), pytest.raises(ToolError) as caught:
            await engine.executor.call("failing.tool_error", {"text": "no such city"})

    assert word_error(caught.value) == "failing.tool_error: no such city"


async def test_a_tool_error_can_be_caught_as_what_it_was_made_of(tmp_path: Path) -> None:
    async with open_engine(tmp_path, program("failing")) as engine:
        with fail_after(60), pytest.raises(ToolError) as caught:
            await engine.executor.call("failing.translated", {})

    assert builtin_kind(caught.value) == "ValueError"


async def test_another_exception_is_an_incident_whose_traceback_is_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_engine(tmp_path, program("failing")) as engine:
        with fail_after(60), pytest.raises(ToolFailedError) as caught:
            await engine.executor.call("failing.key_error", {})

    assert (caught.value.kind, caught.value.message) == ("KeyError", "'absent'")
    incident = next(record for record in caplog.records if caught.value.incident in str(record.msg))
    assert 'failing.py", line' in str(incident.msg)
    assert re.fullmatch(r"failing\.py, line \d+, in \w+", caught.value.place)


@pytest.mark.parametrize(
    ("tool", "error"),
    [("refused", ServiceUnavailableError), ("leave", ToolFailedError), ("group", ToolFailedError)],
)
async def test_an_exception_is_told_by_its_kind(tmp_path: Path, tool: str, error: type[Exception]) -> None:
    async with open_engine(tmp_path, program("failing")) as engine:
        with fail_after(60), pytest.raises(error):
            await engine.executor.call(f"failing.{tool}", {})
        with fail_after(60):
            assert await engine.executor.call("failing.words", {}, positional=["still", "here"]) == "still here!"


async def test_arguments_are_checked_before_a_worker_is_started(tmp_path: Path) -> None:
    async with open_engine(tmp_path, program("failing")) as engine:
        with pytest.raises(ToolArgumentError):
            await engine.executor.call("failing.tool_error", {"txt": 1})

        assert engine.pool.status() == []


async def test_an_argument_without_a_form_is_named(tmp_path: Path) -> None:
    unsupported: Any = [print]
    async with open_engine(tmp_path, program("values")) as engine:
        with fail_after(60), pytest.raises(ToolError) as caught:
            await engine.executor.call("values.echo", {"value": {"inner": unsupported}})
        with fail_after(60):
            assert await engine.executor.call("values.echo", {"value": {"inner": (1, b"x")}}) == {"inner": (1, b"x")}

    words = "the argument value['inner'][0]: a value of type builtin_function_or_method cannot be passed"
    assert words in word_error(caught.value)


async def test_what_a_tool_asks_of_another_comes_as_it_is(tmp_path: Path) -> None:
    async def picture(arguments: dict[str, Any]) -> Any:
        return Image(arguments["value"])

    async with open_engine(tmp_path, program("values")) as engine:
        engine.registry.register(define("host.picture"), picture)
        with fail_after(60):
            assert await engine.executor.call("values.ask", {"tool": "host.picture", "value": b"x"}) == "Image"


async def test_the_time_limit_of_a_call_ends_it_and_its_worker(tmp_path: Path) -> None:
    async with open_engine(tmp_path, program("hanging"), timeout=0.3) as engine:
        with fail_after(60), pytest.raises(ToolTimeoutError) as caught:
            await engine.executor.call("hanging.sleep", {"started": str(tmp_path / "started")})

        assert "It was stopped." in word_error(caught.value)
        assert engine.pool.status()[0].state == "failed"


async def test_the_clocks_stand_still_while_a_worker_starts(tmp_path: Path) -> None:
    held: list[str] = []

    class Hold:
        def __enter__(self) -> None:
            held.append("held")

        def __exit__(self, *_: object) -> None:
            held.append("released")

    async with open_engine(tmp_path, program("slow_import"), timeout=1.0) as engine:
        with fail_after(60):
            answer = await engine.executor.call("slow_import.answer", {}, caller=Caller(hold=Hold))

    assert answer == 42
    assert held == ["held", "released"]


async def test_the_clock_of_an_outer_call_stands_still_too(tmp_path: Path) -> None:
    async def ask(_: dict[str, Any]) -> Any:
        return await current().call("slow_import.answer")

    async with open_engine(tmp_path, program("slow_import"), program("talking"), timeout=1.2) as engine:
        engine.registry.register(define("host.ask", timeout=1.2), ask)
        with fail_after(60):
            assert await engine.executor.call("talking.shout", {"tool": "host.ask", "text": ""}) == 42


async def test_whoever_waits_for_a_start_is_told_what_is_done(tmp_path: Path) -> None:
    told: list[str] = []

    async def progress(done: float, total: float | None, message: str) -> None:
        told.append(message)

    async with open_engine(tmp_path, program("slow_import")) as engine:
        with fail_after(60):
            await engine.executor.call("slow_import.answer", {}, caller=Caller(progress=progress))

    assert told[0] == "slow_import: importing its file"


@pytest.mark.parametrize("tool", ["shout", "shout_later"])
async def test_a_tool_can_call_other_tools(tmp_path: Path, tool: str) -> None:
    async with open_engine(tmp_path, program("talking")) as engine:
        engine.registry.register(define("host.upper"), upper)
        with fail_after(60):
            assert await engine.executor.call(f"talking.{tool}", {"tool": "host.upper", "text": "abc"}) == "ABC"


async def test_a_tool_can_call_a_tool_of_its_own_extension(tmp_path: Path) -> None:
    extension = write_extension(
        tmp_path,
        """
        import ot_sdk
        def down(*, n: int) -> int:
            return n if n == 0 else ot_sdk.call("sample.down", n=n - 1) + 1
        """,
    )

    async with open_engine(tmp_path, extension) as engine:
        with fail_after(60):
            assert await engine.executor.call("sample.down", {"n": 10}) == 10


async def test_an_argument_may_be_called_name(tmp_path: Path) -> None:
    async def take(arguments: dict[str, Any]) -> Any:
        return arguments["name"]

    async with open_engine(tmp_path, program("talking")) as engine:
        engine.registry.register(define("host.take"), take)
        with fail_after(60):
            assert await engine.executor.call("talking.named", {"tool": "host.take", "name": "Ada"}) == "Ada"


async def test_a_failure_of_another_tool_is_a_tool_error_in_the_extension(tmp_path: Path) -> None:
    async with open_engine(tmp_path, program("talking")) as engine:
        with fail_after(60), pytest.raises(ToolError) as caught:
            await engine.executor.call("talking.give_up", {"tool": "talking.absent", "text": "x"})

    assert caught.value.message.startswith("told: The pack talking has no tool 'absent'. Tools of talking: ")


async def test_a_value_that_cannot_enter_an_extension_is_named_there(tmp_path: Path) -> None:
    async def take(arguments: dict[str, Any]) -> Any:
        return {"data": [print]}

    async with open_engine(tmp_path, program("talking")) as engine:
        engine.registry.register(define("host.take"), take)
        with fail_after(60), pytest.raises(ToolError, match=r"the result of host.take\['data'\]\[0\]: a value of type"):
            await engine.executor.call("talking.pass_on", {"value": 1})


async def test_a_call_that_is_cancelled_takes_the_calls_it_made_along(tmp_path: Path) -> None:
    running: list[str] = []

    async def wait(_: dict[str, Any]) -> Any:
        running.append("begun")
        try:
            await anyio.sleep_forever()
        finally:
            running.append("ended")

    async with open_engine(tmp_path, program("talking")) as engine:
        engine.registry.register(define("host.wait"), wait)
        with fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(engine.executor.call, "talking.shout", {"tool": "host.wait", "text": ""})
                await wait_until(lambda: running == ["begun"])
                tasks.cancel_scope.cancel()
        assert running == ["begun", "ended"]
        assert engine.pool.status()[0].state == "idle"  # the tool was let go, so its worker could stay


async def test_an_inner_call_has_what_is_left_of_the_outer_one(tmp_path: Path) -> None:
    async def left(_: dict[str, Any]) -> Any:
        return current().remaining()

    async with open_engine(tmp_path, program("talking"), timeout=5.0) as engine:
        engine.registry.register(define("host.left"), left)
        with fail_after(60):
            remaining: Any = await engine.executor.call("talking.shout", {"tool": "host.left", "text": ""})

    assert 0 < remaining <= 5.0


async def test_progress_reaches_the_caller_and_the_last_of_it_always(tmp_path: Path) -> None:
    told: list[tuple[float, float | None, str]] = []

    async def progress(done: float, total: float | None, message: str) -> None:
        told.append((done, total, message))

    async with open_engine(tmp_path, program("talking")) as engine:
        with fail_after(60):
            await engine.executor.call("talking.count", {"to": 3}, caller=Caller(progress=progress))

    assert told[-1] == (3, 3, "step 3")


async def test_a_worker_gets_the_configuration_of_its_pack_only(tmp_path: Path) -> None:
    config = {"packs": {"talking": {"timeout": 20, "unit": "celsius"}, "other": {"key": 1}}}

    async with open_engine(tmp_path, program("talking"), config=config) as engine:
        with fail_after(60):
            seen = await engine.executor.call("talking.configured", {})

    assert seen == [{"unit": "celsius"}, {"unit": "celsius"}]


async def test_a_worker_gets_the_secrets_that_its_file_declares(tmp_path: Path) -> None:
    secrets = {"WEATHER_KEY": "abcdefgh", "OTHER_KEY": "ijklmnop"}

    async with open_engine(tmp_path, program("talking"), secrets=secrets) as engine:
        with fail_after(60):
            shown = await engine.executor.call("talking.secret", {"name": "WEATHER_KEY"})
            with pytest.raises(ToolError) as undeclared:
                await engine.executor.call("talking.secret", {"name": "OTHER_KEY"})
            with pytest.raises(ToolError) as unset:
                await engine.executor.call("talking.secret", {"name": "UNSET_KEY"})

    assert shown == "***"  # it arrived in the worker, and is hidden on its way out
    assert 'does not declare the secret OTHER_KEY: add secrets = ("OTHER_KEY",)' in undeclared.value.message
    assert "the secret UNSET_KEY is not set" in unset.value.message


async def test_what_an_extension_logs_is_in_the_servers_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with open_engine(tmp_path, program("talking")) as engine:
        with fail_after(60), caplog.at_level(logging.INFO, "ot"):
            await engine.executor.call("talking.say", {"text": "hello"})

    assert any("talking.log" in str(record.msg) and "it says hello" in str(record.msg) for record in caplog.records)


async def test_a_run_does_not_lose_time_while_a_worker_starts(tmp_path: Path) -> None:
    source = program("slow_import").file.read_text()

    async with open_whole_engine(tmp_path, config="execution: {timeout: 1.2}", extensions={"slow": source}) as app:
        with fail_after(60):
            answer = await app.runner.run("slow.answer()", caller=Caller())

    assert (answer.text, answer.is_error) == ("42", False)


async def test_a_large_result_reaches_the_code_that_asked_for_it(tmp_path: Path) -> None:
    source = program("large").file.read_text()

    async with open_whole_engine(tmp_path, extensions={"large": source}) as app:
        with fail_after(60):
            answer = await app.runner.run("len(large.text(size=50_000_000))", caller=Caller())

    assert answer.text == "50000000"


async def test_a_hundred_calls_from_four_runs_get_their_own_answers(tmp_path: Path) -> None:
    source = program("many").file.read_text()
    code = """
calls = [(many.echo if n % 2 else many.later) for n in range({start}, {start} + 25)]
ot.parallel(*[(lambda n=n, call=call: call(value=n)) for n, call in enumerate(calls, {start})])
"""
    answers: dict[int, str] = {}

    async with open_whole_engine(tmp_path, extensions={"many": source}) as app:

        async def run(start: int) -> None:
            answers[start] = (await app.runner.run(code.format(start=start), caller=Caller())).text

        with fail_after(60):
            async with anyio.create_task_group() as runs:
                for start in range(0, 100, 25):
                    runs.start_soon(run, start)

    assert {start: yaml.safe_load(text) for start, text in answers.items()} == {
        start: list(range(start, start + 25)) for start in range(0, 100, 25)
    }
