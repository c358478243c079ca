"""Calls that become tasks of their server, in the form of 2025 and in that of the extension of 2026."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import pytest

from ot.clients.caller import Caller
from ot.clients.front import Abilities, Front
from ot.errors import CallError, ServerUnavailableError, ToolError, ToolTimeoutError
from tests.proxied import Proxied, open_proxied, program

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["2025", "extension"])
async def proxied(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Proxied]:
    servers = {"shop": program("with_tasks", tmp_path, request.param, timeout=20)}
    async with open_proxied(tmp_path, servers) as found:
        yield found


@pytest.fixture
def form(request: pytest.FixtureRequest) -> str:
    found: str = request.node.callspec.params["proxied"]
    return found


def requests_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "log").read_text().splitlines()]


def methods_of(folder: Path) -> list[str]:
    return [str(each["method"]) for each in requests_of(folder)]


class Person:
    """A client whose person answers every question."""

    def __init__(self, *, able: bool = True) -> None:
        self.asked: list[str] = []
        self.told: list[str] = []
        front = Front(self, Abilities(can_elicit=able), self._answer)
        self.caller = Caller(front=front, progress=self._hear)

    async def _answer(self, method: str, params: Mapping[str, Any], key: str) -> dict[str, Any]:
        self.asked.append(params["message"])
        return {"action": "accept", "content": {"name": "Ada"}}

    async def _hear(self, done: float, total: float | None, message: str) -> None:
        self.told.append(message)


async def test_a_call_that_becomes_a_task_gives_its_result(proxied: Proxied, tmp_path: Path) -> None:
    (tmp_path / "go").touch()

    assert await proxied.call("shop.wait", text="a") == "wait done"
    assert methods_of(tmp_path)[0] == "tools/call"
    assert "tasks/cancel" not in methods_of(tmp_path)


async def test_a_task_is_looked_at_no_faster_than_its_server_says(proxied: Proxied, tmp_path: Path) -> None:
    with pytest.raises(ToolTimeoutError):
        await proxied.call_as(Caller(timeout=1.0), "shop.endless")

    looks = [each["time"] for each in requests_of(tmp_path) if each["method"] == "tasks/get"]
    assert all(later - earlier >= 0.06 for earlier, later in pairwise(looks))


async def test_a_question_reaches_the_person_once(proxied: Proxied, tmp_path: Path) -> None:
    person = Person()

    answer = json.loads(await proxied.call_as(person.caller, "shop.question"))

    assert person.asked == ["[shop] Name?"]
    assert answer.get("q", answer) == {"action": "accept", "content": {"name": "Ada"}}


@pytest.mark.parametrize("proxied", ["extension"], indirect=True)
async def test_a_question_that_nobody_can_be_asked_ends_the_task(proxied: Proxied, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="an answer from the person was requested"):
        await proxied.call_as(Person(able=False).caller, "shop.refused")

    assert methods_of(tmp_path)[-1] == "tasks/cancel"


@pytest.mark.parametrize("proxied", ["extension"], indirect=True)
async def test_a_task_that_asks_for_ever_is_ended(proxied: Proxied, tmp_path: Path) -> None:
    person = Person()

    with pytest.raises(ServerUnavailableError) as caught:
        await proxied.call_as(person.caller, "shop.questions")

    assert "more than 10 times" in caught.value.reason
    assert len(person.asked) == 10
    assert methods_of(tmp_path)[-1] == "tasks/cancel"


async def test_a_call_that_is_cancelled_cancels_its_task(proxied: Proxied, tmp_path: Path) -> None:
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(proxied.call, "shop.endless")
            while not (tmp_path / "log").exists() or methods_of(tmp_path).count("tasks/get") < 2:
                await anyio.sleep(0.02)
            tasks.cancel_scope.cancel()

    assert "tasks/cancel" in methods_of(tmp_path)


async def test_the_limit_of_a_call_ends_a_task_that_never_ends(proxied: Proxied, tmp_path: Path) -> None:
    with pytest.raises(ToolTimeoutError):
        await proxied.call_as(Caller(timeout=1.0), "shop.endless")

    assert "tasks/cancel" in methods_of(tmp_path)


async def test_what_a_task_says_is_progress_in_one_short_visible_line(proxied: Proxied) -> None:
    person = Person()

    assert await proxied.call_as(person.caller, "shop.odd") == "odd done"
    [message] = {told for told in person.told if "x" in told}
    assert len(message) < 600
    assert message.isprintable()


@pytest.mark.parametrize(
    ("tool", "reason"),
    [
        ("stranger", "the state of another task"),
        ("unstable", "in an unknown state"),
        ("unnamed", "without a usable id"),
        ("gone", "no longer knows the task"),
    ],
)
async def test_a_task_that_makes_no_sense_leaves_open_what_the_call_did(
    proxied: Proxied, tool: str, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(ServerUnavailableError) as caught:
        await proxied.call(f"shop.{tool}")

    assert reason in caught.value.reason
    assert caught.value.begun
    assert methods_of(tmp_path).count("tools/call") == 1


async def test_the_result_of_another_task_is_refused(proxied: Proxied, form: str) -> None:
    for tool in ("related", "nested") if form == "extension" else ("related",):
        with pytest.raises(ServerUnavailableError) as caught:
            await proxied.call(f"shop.{tool}")

        assert "result" in caught.value.reason


async def test_a_task_that_was_cancelled_there_is_an_error_with_its_words(proxied: Proxied) -> None:
    with pytest.raises(ToolError, match=r"cancelled the call.*by an administrator"):
        await proxied.call("shop.cancelled")


@pytest.mark.parametrize("proxied", ["extension"], indirect=True)
async def test_a_task_that_failed_is_an_error_with_its_words(proxied: Proxied) -> None:
    with pytest.raises(ToolError, match="The oven is cold"):
        await proxied.call("shop.fails")


async def test_a_second_answer_is_nobodys(proxied: Proxied) -> None:
    assert await proxied.call("shop.twice") == "twice done"
    assert await proxied.call("shop.plain") == "plain"


async def test_a_task_is_looked_at_again_by_the_next_connection(proxied: Proxied, tmp_path: Path) -> None:
    with pytest.raises(CallError):
        await proxied.call("shop.vanishes")

    looks = [each for each in requests_of(tmp_path) if each["method"] == "tasks/get"]
    assert len(looks) > 1
    assert {each["task"] for each in looks} == {"vanishes-1"}
    assert methods_of(tmp_path).count("tools/call") == 1
