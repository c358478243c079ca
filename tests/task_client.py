"""The tasks of a server, looked at with the official client, which takes them and leaves the rest to the test."""

from __future__ import annotations

from typing import Any, Literal

import anyio
import mcp_types as types
from mcp import Client
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim

TASKS = "io.modelcontextprotocol/tasks"
WAIT = 60.0  # seconds: a bound for a machine that is busy


class Begun(types.Result):
    result_type: Literal["task"] = "task"
    task_id: str
    status: str
    status_message: str | None = None
    poll_interval_ms: int
    ttl_ms: int


class TakesTasks(ClientExtension):
    identifier = TASKS

    def claims(self) -> list[ResultClaim[Begun]]:
        async def resolve(begun: Begun, context: ClaimContext) -> types.CallToolResult:
            raise AssertionError("the test takes the task itself")

        return [ResultClaim(result_type="task", model=Begun, resolve=resolve)]


class Told(types.Result, extra="allow"):
    """Whatever a server answers about a task."""


class TaskRequest(types.Request[dict[str, Any], str]):
    name_param = "taskId"


async def begin(client: Client, command: str) -> Begun:
    result = await client.session.call_tool("run", {"command": command}, allow_claimed=True, allow_input_required=True)
    assert isinstance(result, Begun), result
    return result


async def ask(client: Client, method: str, task: str, **more: Any) -> dict[str, Any]:
    request = TaskRequest(method=method, params={"taskId": task, **more})
    return (await client.session.send_request(request, Told)).model_dump(by_alias=True, mode="json")


async def until(client: Client, task: str, status: str) -> dict[str, Any]:
    with anyio.fail_after(WAIT):
        while True:
            state = await ask(client, "tasks/get", task)
            if state["status"] == status:
                return state
            assert state["status"] in ("working", "input_required"), state
            await anyio.sleep(0.05)
