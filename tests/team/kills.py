"""Replicas that are killed at random moments under load: whatever was acknowledged is there, at the one that is left."""

from __future__ import annotations

import asyncio
import json
import random
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.to_thread

from tests.e2e.raw_server import WAIT
from tests.team.crowd import ask, build_request
from tests.team.replicas import Team

WORKERS = 4
LONGEST = 0.6  # seconds until a replica is killed


@dataclass
class Acknowledged:
    """What clients of one person were told: the last value that each kept, and the marks of commands that ended."""

    kept: dict[str, int] = field(default_factory=dict)
    marks: list[str] = field(default_factory=list)


async def send(team: Team, number: int, command: str, token: str) -> str | None:
    """The text of an answer; None if there was none, since the replica was killed or the database too busy."""
    request = build_request(command, token, host=f"127.0.0.1:{team.balancer.port}")
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", team.ports[number])
    except OSError:
        return None
    try:
        result = json.loads(await ask(reader, writer, request))["result"]
    except (OSError, asyncio.IncompleteReadError):
        return None
    finally:
        writer.close()
    text: str = result["content"][0]["text"]
    if result["isError"]:
        assert "PostgreSQL at " in text, text  # it does not answer in time, so nothing was acknowledged
        return None
    return text


async def read(team: Team, number: int, command: str, token: str) -> Any:
    """The value that a command finds at a replica that is there, however long that takes."""
    with anyio.fail_after(WAIT):
        while (text := await send(team, number, command, token)) is None or "is still running" in text:
            await anyio.sleep(0.1)
    return json.loads(text)


async def keep_on(team: Team, name: str, token: str, seen: Acknowledged, left: list[int]) -> None:
    """Keep one value after the other, at any replica, until there is only one left."""
    value = 0
    while len(left) > 1:
        value += 1
        mark = f"{name}-{value}-{random.getrandbits(32):x}"
        command = f"# {mark}\not.keep(name={name!r}, value={value})\n'kept'"
        if await send(team, random.choice(left), command, token) == "kept":
            seen.kept[name] = value
            seen.marks.append(mark)


async def check(team: Team, number: int, token: str, seen: Acknowledged) -> None:
    names = f"import json\njson.dumps({{name: ot.kept(name=name) for name in {list(seen.kept)}}})"
    runs = "import json\njson.dumps([r['command'].split()[1] for r in ot.runs(limit=5000) if r['outcome']])"
    found, ended = await read(team, number, names, token), await read(team, number, runs, token)
    for name, value in seen.kept.items():
        assert found[name] >= value, (name, value, found)
    missing = set(seen.marks) - set(ended)
    assert not missing, missing


async def kill_one(team: Team, victim: int, token: str) -> None:
    """Kill a replica while clients work, look at the other, and start it again."""
    seen, left = Acknowledged(), [0, 1]
    async with anyio.create_task_group() as tasks:
        for worker in range(WORKERS):
            tasks.start_soon(keep_on, team, f"w{worker}", token, seen, left)
        while not seen.marks:  # a busy machine acknowledges nothing for a while
            await anyio.sleep(0.01)
        await anyio.sleep(random.random() * LONGEST)
        await anyio.to_thread.run_sync(team.kill, victim)
        left.remove(victim)
    await check(team, left[0], token, seen)
    team.start(victim)
    await anyio.to_thread.run_sync(team.wait_for, victim)


async def kill_often(team: Team, times: int) -> None:
    """Kill one replica after the other, and check each time that nothing is missing."""
    for number in range(times):
        await kill_one(team, number % 2, await team.token_of(f"killed{number}"))
