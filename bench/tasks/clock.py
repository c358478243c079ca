"""The smallest task: one call of a server that has two tools."""

from __future__ import annotations

import json

from bench.tasks.task import DirectCalls, Runs, Task

_CALL = {"source_timezone": "Asia/Tokyo", "time": "09:00", "target_timezone": "Asia/Kolkata"}


async def _directly(servers: DirectCalls) -> str:
    [text] = await servers.call(("time", "convert_time", _CALL))
    moment: str = json.loads(text)["target"]["datetime"]
    return moment[11:16]


async def _through_run(onetool: Runs) -> str:
    await onetool.run('ot.help(query="convert a time to another time zone")')
    await onetool.fail(
        'time_.convert_time(source_timezone="Asia/Tokyo", time="09:00", target_timezone="Asia/Kolkata")["target"]'
    )
    return await onetool.run(
        """import json
answer = time_.convert_time(source_timezone="Asia/Tokyo", time="09:00", target_timezone="Asia/Kolkata")
json.loads(answer)["target"]["datetime"][11:16]"""
    )


TASKS = (
    Task(
        name="clock: one time in another zone",
        question="When it is 09:00 in Tokyo, what time is it in Kolkata?",
        servers=("time",),
        expected="05:30",
        direct=_directly,
        through_run=_through_run,
    ),
)
