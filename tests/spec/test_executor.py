"""The executor's specified scenarios, by their names."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ot.context import current
from ot.logs import configure_logging
from ot.registry.registry import ToolRegistry
from tests.opened_executor import add_tool, define, open_executor, write_pack


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Path]:
    """The log file of the process, as it is written in service."""
    root = logging.getLogger()
    handlers = list(root.handlers)
    file = tmp_path / "onetool.log"
    configure_logging("info", file, redact=str)
    yield file
    for handler in set(root.handlers) - set(handlers):
        root.removeHandler(handler)
        handler.close()


class Clock:
    """Seconds that pass as the test says."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.scenario("executor/centralized-tool-execution/execute-tool-by-name")
async def test_a_tool_is_executed_by_its_name() -> None:
    async with open_executor() as opened:
        assert await opened.executor.execute("demo.upper", {"text": "hello"}) == "HELLO"


@pytest.mark.scenario("executor/centralized-tool-execution/log-tool-execution")
async def test_a_call_is_logged_with_name_arguments_time_and_result(log: Path) -> None:
    async with open_executor() as opened:
        await opened.executor.execute("demo.upper", {"text": "hello you"})

    [line] = log.read_text().splitlines()
    assert " INFO    demo.upper status=ok ms=" in line
    assert "arguments={'text': 'hello you'} result=<9 characters>" in line


@pytest.mark.scenario("executor/centralized-tool-execution/log-tool-execution")
async def test_content_of_arguments_and_results_is_logged_at_debug_only(log: Path) -> None:
    diary = "Dear diary, " + "nobody is to read this " * 3
    async with open_executor() as opened:
        await opened.executor.execute("demo.upper", {"text": diary})
        quiet = log.read_text()
        logging.getLogger("ot").setLevel(logging.DEBUG)
        await opened.executor.execute("demo.upper", {"text": diary})
        logging.getLogger("ot").setLevel(logging.NOTSET)

    assert "nobody" not in quiet.lower()
    assert f"arguments={{'text': <{len(diary)} characters>}} result=<{len(diary)} characters>" in quiet
    assert "result='DEAR DIARY, NOBODY IS" in log.read_text()


@pytest.mark.scenario("executor/centralized-tool-execution/handle-unknown-tool")
async def test_an_unknown_tool_is_a_warning_and_a_sentence(log: Path) -> None:
    async with open_executor() as opened:
        answer = await opened.executor.execute("demo.uper", {})
        other = await opened.executor.execute("dmo.upper", {})

    assert answer.startswith("The pack demo has no tool 'uper'. Tools of demo: upper, ")
    assert other.startswith("There is no pack 'dmo'. Packs: demo, ")
    assert [" WARNING " in line for line in log.read_text().splitlines()] == [True, True]
    assert "executor.unknown_tool tool='demo.uper'" in log.read_text()


@pytest.mark.scenario("executor/centralized-tool-execution/handle-tool-execution-error")
async def test_a_failing_tool_is_logged_with_context_and_answered_in_words(log: Path) -> None:
    async with open_executor() as opened:
        answer = await opened.executor.execute("demo.fail", {"message": "no such thing"})

    assert answer.startswith("demo.fail failed: ValueError: no such thing (incident ")
    assert "Traceback" not in answer
    incident = answer.split("incident ")[1].split(";")[0]
    assert f"executor.failure tool='demo.fail' incident='{incident}'".replace("'", "") in log.read_text().replace(
        "'", ""
    )
    assert "Traceback (most recent call last)" in log.read_text()
    assert "WARNING demo.fail status=ToolFailedError" in log.read_text()
    assert "arguments={'message': 'no such thing'}" in log.read_text()


@pytest.mark.scenario("executor/tool-registry/register-tool-at-startup")
async def test_every_tool_is_registered_at_the_start() -> None:
    async with open_executor() as opened:
        names = {tool.name for tool in opened.registry.definitions()}

        assert names >= {"demo.upper", "demo.sleep", "ot.tools", "proj.path"}
        for name in names:
            assert opened.registry.get(name).parameters["type"] == "object"
            assert callable(opened.registry.executor(name))


@pytest.mark.scenario("executor/tool-registry/get-tool-definition")
async def test_an_ai_client_gets_every_definition() -> None:
    async with open_executor() as opened:
        tools = opened.registry.model_tools()

    assert {
        "name": "demo.upper",
        "description": "Write a text in capital letters.",
        "parameters": {
            "type": "object",
            "properties": {"text": {"type": "string", "description": "Any text."}},
            "required": ["text"],
            "additionalProperties": False,
        },
    } in tools
    assert len(tools) == len(opened.registry.definitions())


@pytest.mark.scenario("executor/tool-registry/get-tool-executor-function")
async def test_the_registry_gives_the_function_of_a_tool() -> None:
    async with open_executor() as opened:
        assert await opened.registry.executor("demo.foo")({"text": "x"}) == "x"


@pytest.mark.scenario("executor/tool-definition-format/validate-tool-definition")
async def test_every_definition_has_a_unique_name_a_description_and_a_schema() -> None:
    async with open_executor() as opened:
        tools: list[Any] = [*opened.registry.model_tools()]

    assert len({tool["name"] for tool in tools}) == len(tools)
    for tool in tools:
        assert tool["description"].strip()
        assert tool["parameters"]["type"] == "object"
        assert isinstance(tool["parameters"]["properties"], dict)


@pytest.mark.scenario("executor/tool-definition-format/ensure-tool-uniqueness")
async def test_a_second_registration_overwrites_the_first_with_a_warning(log: Path) -> None:
    async def first(arguments: dict[str, Any]) -> str:
        return "first"

    async def second(arguments: dict[str, Any]) -> str:
        return "second"

    registry = ToolRegistry()
    registry.register(define("x.tool"), first)
    assert log.read_text() == ""

    registry.register(define("x.tool", description="Another one."), second)

    assert await registry.executor("x.tool")({}) == "second"
    assert [tool["description"] for tool in registry.model_tools()] == ["Another one."]
    assert "WARNING registry.register tool='x.tool'" in log.read_text()


@pytest.mark.scenario("executor/tool-executor-interface/tool-executor-signature")
@pytest.mark.parametrize("kind", ["async def", "def", "@isolated\ndef"])
async def test_a_function_receives_one_object_of_arguments(tmp_path: Path, kind: str) -> None:
    write_pack(
        tmp_path, f"from ot.isolate import isolated\n{kind} tool(*, a: int, b: str = 'x'): return dict(a=a, b=b)\n"
    )

    async with open_executor(tmp_path) as opened:
        function = opened.registry.executor("sample.tool")

        assert len(inspect.signature(function).parameters) == 1
        assert await function({"a": 1, "b": "y"}) == {"a": 1, "b": "y"}


@pytest.mark.scenario("executor/tool-executor-interface/tool-executor-return-value")
@pytest.mark.parametrize(
    ("value", "text"), [("done", "done"), ({"id": 7}, "{id: 7}"), (None, "None"), (2.5, "2.5")], ids=repr
)
async def test_a_finished_call_is_a_text_for_the_client(value: Any, text: str) -> None:
    async with open_executor() as opened:
        assert await opened.executor.execute("demo.echo", {"value": value}) == text


@pytest.mark.scenario("executor/tool-executor-interface/tool-executor-error-handling")
async def test_a_tools_own_words_reach_the_user() -> None:
    async with open_executor() as opened:
        answer = await opened.executor.execute("demo.fail", {"message": "no such table: people", "kind": "ToolError"})

    assert answer == "demo.fail: no such table: people"


@pytest.mark.scenario("executor/performance-monitoring/measure-tool-execution-time")
async def test_the_time_of_a_call_is_measured_from_start_to_end(log: Path) -> None:
    clock = Clock()

    async def tool(arguments: dict[str, Any]) -> str:
        clock.now += 0.75
        return "done"

    async with open_executor(clock=clock) as opened:
        add_tool(opened, "x.tool", tool)
        await opened.executor.execute("x.tool", {})

    assert " INFO    x.tool status=ok ms=750.0 " in log.read_text()


@pytest.mark.scenario("executor/performance-monitoring/log-slow-tools")
@pytest.mark.parametrize(
    ("seconds", "start"),
    [(1.5, " WARNING x.tool status=ok ms=1500.0 "), (0.999, " INFO    x.tool status=ok ms=999.0 ")],
)
async def test_a_slow_tool_is_a_warning_with_its_name_and_duration(log: Path, seconds: float, start: str) -> None:
    clock = Clock()

    async def tool(arguments: dict[str, Any]) -> str:
        clock.now += seconds
        return "done"

    async with open_executor(clock=clock) as opened:
        add_tool(opened, "x.tool", tool)
        await opened.executor.execute("x.tool", {})

    [line] = [line for line in log.read_text().splitlines() if "x.tool" in line]
    assert start in line
    assert ("slow=True" in line) == ("WARNING" in start)


@pytest.mark.scenario("executor/error-recovery/network-error")
@pytest.mark.parametrize("kind", ["ConnectionError", "ConnectionRefusedError", "ConnectionResetError"])
async def test_a_network_failure_says_that_the_service_is_unavailable(kind: str) -> None:
    async with open_executor() as opened:
        answer = await opened.executor.execute("demo.fail", {"message": "refused", "kind": kind})

    assert answer == "demo.fail: the service is unavailable (refused). Try again later, or check the network."


@pytest.mark.scenario("executor/error-recovery/invalid-arguments")
async def test_wrong_arguments_are_answered_with_the_parameters_that_are_needed() -> None:
    async with open_executor() as opened:
        missing = await opened.executor.execute("demo.upper", {})
        wrong = await opened.executor.execute("demo.block", {"seconds": "long", "pth": "x"})

    assert missing == "demo.upper: text is missing. Expected: demo.upper(*, text: str) -> str"
    assert wrong == (
        "demo.block: pth is not a parameter; seconds must be float, not str. "
        "Expected: demo.block(*, seconds: float, path: str | None = None) -> str"
    )


@pytest.mark.scenario("executor/error-recovery/timeout")
async def test_a_tool_past_its_time_is_cancelled_and_answered(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    config = {"packs": {"demo": {"timeout": 0.3}}}

    async with open_executor(config=config, project=tmp_path) as opened:
        answer = await opened.executor.execute("demo.block", {"seconds": 60, "path": str(marker)})

        assert answer == (
            "demo.block took longer than 0.3 s. It was stopped. Its limit is packs.demo.timeout in the configuration."
        )
        assert opened.isolate.idle_pids() == []
        assert not marker.exists()


@pytest.mark.scenario("executor/error-recovery/timeout")
async def test_without_configuration_the_time_is_thirty_seconds() -> None:
    async def left(arguments: dict[str, Any]) -> float:
        return current().remaining()

    async with open_executor() as opened:
        add_tool(opened, "x.left", left)

        assert await opened.executor.call("x.left", {}) == pytest.approx(30, abs=1)
