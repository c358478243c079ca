"""Tasks on a folder of files: errors in a week of logs, and a licence line that some modules lack."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

from bench.tasks.task import HOME, DirectCalls, Runs, Task

_SERVICES = ("billing", "catalogue", "checkout", "mailer", "search")
_DAYS = tuple(f"2026-11-{day:02}" for day in range(2, 9))
_MESSAGES = {
    "INFO": ("request handled in {} ms", "cache refreshed, {} entries", "job {} finished"),
    "WARNING": ("slow query: {} ms", "retry {} of upstream call", "queue holds {} messages"),
    "ERROR": ("connection to database lost after {} ms", "unhandled response {}", "could not deliver message {}"),
}
_LICENCE = "# SPDX-License-Identifier: MIT"
_MODULES = tuple(
    f"{noun}_{verb}.py"
    for noun in ("account", "basket", "invoice", "parcel", "price", "voucher")
    for verb in ("check", "load", "rules", "store")
)
_LICENSED = _MODULES[::4]


def prepare(folder: Path) -> None:
    (folder / "logs").mkdir()
    for day in _DAYS:
        (folder / "logs" / f"{day}.log").write_text(_LOGS[day])
    (folder / "shop").mkdir()
    for module in _MODULES:
        (folder / "shop" / module).write_text(_module_text(module, licensed=module in _LICENSED))


def _make_log(day: str) -> str:
    chance = random.Random(day)
    moments = sorted(chance.sample(range(86_400), 90))
    lines = []
    for moment in moments:
        [level] = chance.choices(list(_MESSAGES), weights=(75, 15, 10))
        service = chance.choice(_SERVICES)
        message = chance.choice(_MESSAGES[level]).format(chance.randrange(10, 5000))
        time = f"{moment // 3600:02}:{moment // 60 % 60:02}:{moment % 60:02}"
        lines.append(f"{day}T{time}Z {level} {service}: {message}")
    return "\n".join(lines) + "\n"


_LOGS = {day: _make_log(day) for day in _DAYS}


def _module_text(module: str, *, licensed: bool) -> str:
    noun, verb = module.removesuffix(".py").split("_")
    title = f'"""What a shop needs to {verb} a {noun}."""'
    body = f"def {verb}({noun}: dict[str, object]) -> bool:\n    return bool({noun}.get({verb!r}))"
    return "\n".join(
        [*([_LICENCE] if licensed else []), title, "", "from __future__ import annotations", "", "", body, ""]
    )


def _count_errors(text: str) -> str:
    found = Counter(re.findall(r"Z ERROR (\w+):", text))
    return ", ".join(f"{service} {count}" for service, count in sorted(found.items()))


async def _errors_directly(servers: DirectCalls) -> str:
    [listing] = await servers.call(("filesystem", "list_directory", {"path": f"{HOME}/logs"}))
    paths = [f"{HOME}/logs/{name}" for name in re.findall(r"\[FILE\] (\S+)", listing)]
    [text] = await servers.call(("filesystem", "read_multiple_files", {"paths": paths}))
    return _count_errors(text)


async def _errors_through_run(onetool: Runs) -> str:
    await onetool.run('ot.help(query="list a directory and read several files of it")')
    await onetool.fail(f'filesystem.read_multiple_files(paths="{HOME}/logs/*.log")')
    return await onetool.run(
        rf"""import re
from collections import Counter
folder = "{HOME}/logs"
names = re.findall(r"\[FILE\] (\S+)", filesystem.list_directory(path=folder)["content"])
text = filesystem.read_multiple_files(paths=[f"{{folder}}/{{name}}" for name in names])["content"]
found = Counter(re.findall(r"Z ERROR (\w+):", text))
", ".join(f"{{service}} {{count}}" for service, count in sorted(found.items()))"""
    )


async def _licence_directly(servers: DirectCalls) -> str:
    [listing] = await servers.call(("filesystem", "list_directory", {"path": f"{HOME}/shop"}))
    paths = [f"{HOME}/shop/{name}" for name in re.findall(r"\[FILE\] (\S+)", listing)]
    heads = await servers.call(*(("filesystem", "read_text_file", {"path": path, "head": 1}) for path in paths))
    lacking = {path: head.strip() for path, head in zip(paths, heads, strict=True) if "SPDX" not in head}
    await servers.call(
        *(
            ("filesystem", "edit_file", {"path": path, "edits": [{"oldText": head, "newText": f"{_LICENCE}\n{head}"}]})
            for path, head in lacking.items()
        )
    )
    return f"{len(lacking)} of {len(paths)} changed"


async def _licence_through_run(onetool: Runs) -> str:
    await onetool.run('ot.tools(pattern="filesystem")')
    await onetool.fail(f'[name for name in filesystem.list_directory("{HOME}/shop") if name.endswith(".py")][0]')
    return await onetool.run(
        rf"""import re
names = re.findall(r"\[FILE\] (\S+)", filesystem.list_directory("{HOME}/shop")["content"])
changed = 0
for name in names:
    path = f"{HOME}/shop/{{name}}"
    text = filesystem.read_text_file(path)["content"]
    if "SPDX" not in text.splitlines()[0]:
        filesystem.write_file(path, "{_LICENCE}\n" + text)
        changed += 1
f'{{changed}} of {{len(names)}} changed'"""
    )


TASKS = (
    Task(
        name="files: errors in a week of logs",
        question=f"Count the errors of each service in the logs in {HOME}/logs.",
        servers=("filesystem",),
        expected=_count_errors("".join(_LOGS.values())),
        direct=_errors_directly,
        through_run=_errors_through_run,
    ),
    Task(
        name="files: a licence line where it is missing",
        question=f"Put the line `{_LICENCE}` first in each module in {HOME}/shop that lacks it. How many did?",
        servers=("filesystem",),
        expected=f"{len(_MODULES) - len(_LICENSED)} of {len(_MODULES)} changed",
        direct=_licence_directly,
        through_run=_licence_through_run,
        left=lambda folder: {file.name: file.read_text() for file in (folder / "shop").iterdir()},
        expected_left={module: _module_text(module, licensed=True) for module in _MODULES},
    ),
)
