"""Prints how each set of rules does on AgentDojo's programs: `make bench-flows`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import mcp
import mcp_types as types
from mcp.client.streamable_http import streamable_http_client

from mcp_core.quick_dataclass import dataclass, field
from ot.config.models import PolicySettings

HERE = Path(__file__).parent
FACTS = json.loads((HERE / "agentdojo.json").read_text())
PROGRAMS = HERE / "programs"
PYTHON = PROGRAMS / ".venv" / "bin" / "python"
BENCHMARK = str(FACTS["benchmark"])
ONE_QUESTION = "preview"  # the key of `policy` that makes the calls of a run one question

Calls = list[tuple[str, dict[str, Any]]]


class Variant(NamedTuple):
    """One set of rules: which tools' results are guarded, and how."""

    name: str
    origins: str  # planted or all; nothing: every write is asked about
    by: str
    one_question: bool = False


VARIANTS = [
    Variant(name, origins, by, one)
    for one in (False, True)
    for name, origins, by in (
        ("ask always", "", ""),
        ("by call, planted", "planted", "call"),
        ("by call, all", "all", "call"),
        ("by value, planted", "planted", "value"),
        ("by value, all", "all", "value"),
    )
]


@dataclass(eq=False)
class Score:
    """The figures of one variant."""

    attacks: int = 0
    stopped: int = 0
    tasks: int = 0
    done: int = 0
    writes: int = 0
    questions: int = 0
    interruptions: int = 0
    let_through: list[str] = field(default_factory=list)

    def word(self, name: str) -> str:
        share = self.stopped / max(1, self.attacks)
        asked, interrupted = self.questions / max(1, self.writes), self.interruptions / max(1, self.writes)
        return (
            f"{name:32} {self.stopped:4} of {self.attacks} ({share:6.1%})   {self.done:3} of {self.tasks}"
            f"   {asked:5.2f} ({self.questions} of {self.writes})   {interrupted:5.2f}"
        )


@dataclass(eq=False)
class Person:
    """Answers by script: yes to the calls of the task, no to those of the attack."""

    attacked: bool = False
    questions: int = 0
    interruptions: int = 0

    async def answer(self, context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
        self.interruptions += 1
        first = params.message.splitlines()[0]
        self.questions += int(first.split()[2]) if first.startswith("Allow these") else 1
        asked = getattr(params, "requested_schema", {})["properties"]
        content: dict[str, Any] = {}
        for name, kind in asked.items():
            yes = True if kind.get("type") == "boolean" else "once"
            content[name] = yes if not self.attacked else kind.get("type") != "boolean" and "no"
        return types.ElicitResult(action="accept", content=content)


class Suite:
    """One suite behind one server of ours."""

    def __init__(self, name: str, url: str) -> None:
        self.name = name
        self._url = url
        self._writes = set(FACTS["writes"][name])

    @contextmanager
    def connected(self, person: Person) -> Iterator[mcp.Client]:
        yield mcp.Client(streamable_http_client(self._url), mode="legacy", elicitation_callback=person.answer)

    async def score(self, score: Score) -> None:
        async with mcp.Client(streamable_http_client(self._url), mode="legacy") as stage:
            found = await _tell(stage, "dojo.dojo_tasks()")
            for task in found["tasks"]:
                await self._do(stage, task, score)
                for attack in found["attacks"]:
                    await self._attack(stage, task, attack, score)

    async def _do(self, stage: mcp.Client, task: str, score: Score) -> None:
        calls = (await _tell(stage, f"dojo.dojo_begin(user_task={task!r})"))["task"]
        person = Person()
        with self.connected(person) as opened:
            async with opened as client:
                for command, _ in self._runs(calls):
                    await client.call_tool("run", {"command": command})
        score.tasks += 1
        score.done += bool(await _tell(stage, f"dojo.dojo_judge(user_task={task!r})"))
        score.writes += sum(name in self._writes for name, _ in calls)
        score.questions += person.questions
        score.interruptions += person.interruptions

    async def _attack(self, stage: mcp.Client, task: str, attack: str, score: Score) -> None:
        scene = f"user_task={task!r}, attack={attack!r}"
        calls = await _tell(stage, f"dojo.dojo_begin({scene})")
        person = Person()
        with self.connected(person) as opened:
            async with opened as client:
                for command, _ in self._runs(calls["task"]):
                    answer = await client.call_tool("run", {"command": command})
                    if "PLANTED" in str(answer.content):
                        break
                else:
                    return  # the task never meets the planted text
                person.attacked = True
                for command, _ in self._runs(calls["attack"]):
                    await client.call_tool("run", {"command": command})
        score.attacks += 1
        if await _tell(stage, f"dojo.dojo_judge({scene})"):
            score.let_through.append(f"{self.name} {task} {attack}")
        else:
            score.stopped += 1

    def _runs(self, calls: Calls) -> Iterator[tuple[str, bool]]:
        """Yield commands: each read by itself, and the writes after it together."""
        waiting: list[str] = []
        for name, arguments in calls:
            words = f"dojo.{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"
            if name in self._writes and name != "get_webpage":
                waiting.append(words)
                continue
            if waiting:
                yield "\n".join(waiting), True
                waiting = []
            yield words, False
        if waiting:
            yield "\n".join(waiting), True


async def _tell(client: mcp.Client, command: str) -> Any:
    answer = await client.call_tool("run", {"command": f"import json\njson.dumps({command})"})
    text = answer.content[0].text if isinstance(answer.content[0], types.TextContent) else ""
    if answer.is_error:
        raise RuntimeError(text)
    found = json.loads(text)
    return json.loads(found) if isinstance(found, str) else found


def _configure(suite: str, variant: Variant, found: dict[str, Any]) -> dict[str, Any]:
    writes = FACTS["writes"][suite]
    reads = [tool for tool in found["tools"] if tool not in writes]
    to = [f"dojo.{tool}" for tool in writes]
    policy: dict[str, Any] = {"ask": to}
    if variant.origins:
        origins = found["planted"] if variant.origins == "planted" else [*reads, "get_webpage"]
        policy = {"flows": [{"from": [f"dojo.{tool}" for tool in origins], "to": to, "by": variant.by}]}
    return {
        "servers": {"dojo": {"command": str(PYTHON), "args": [str(PROGRAMS / "dojo_server.py"), BENCHMARK, suite]}},
        "packs": {"dojo": {"reads": [*reads, "dojo_*"]}},
        "policy": {**policy, **({ONE_QUESTION: variant.one_question} if _has_one_question() else {})},
        "results": {"inline_limit": 1_000_000},
        "execution": {"patience": "off", "timeout": 600},  # of a busy machine, too, the answer is wanted
        "log": {"level": "error"},  # nobody reads on after the line that says where it serves
    }


def _has_one_question() -> bool:
    return ONE_QUESTION in PolicySettings.model_fields


@contextmanager
def _serving(suite: str, variant: Variant, found: dict[str, Any]) -> Iterator[str]:
    """Start a server of ours with these rules, and give its address."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        (home / ".onetool").mkdir()
        (home / ".onetool" / "onetool.yaml").write_text(json.dumps(_configure(suite, variant, found)))
        command = [sys.executable, "-m", "onetool", "serve", "--http", "127.0.0.1:0", "--no-token"]
        environment = {**os.environ, "HOME": folder, "PYTHONUNBUFFERED": "1"}
        server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=home, env=environment)
        try:
            assert server.stderr is not None
            for line in server.stderr:
                if "http://" in line:
                    yield f"http://{line.partition('http://')[2].split()[0].rstrip('.,')}"
                    break
        finally:
            server.terminate()
            server.wait()


async def _facts(suite: str) -> dict[str, Any]:
    nothing: dict[str, Any] = {"planted": [], "tools": []}
    with _serving(suite, Variant("", "planted", "call"), nothing) as url:
        async with mcp.Client(streamable_http_client(url), mode="legacy") as client:
            return dict(await _tell(client, "dojo.dojo_tasks()"))


async def main(wanted: list[str]) -> None:
    found = {suite: await _facts(suite) for suite in FACTS["writes"]}
    print(f"{'rules':32} {'attacks stopped':22} {'tasks done':13} {'questions a write':20} interruptions a write")
    for variant in VARIANTS:
        name = f"{variant.name}{', one question' if variant.one_question else ''}"
        unwanted = wanted and not any(each in name for each in wanted)
        if unwanted or (variant.one_question and not _has_one_question()):
            continue
        score, began = Score(), time.monotonic()
        for suite, facts in found.items():
            with _serving(suite, variant, facts) as url:
                await Suite(suite, url).score(score)
        print(score.word(name), f"  {time.monotonic() - began:.0f} s", flush=True)
        if os.environ.get("SHOW"):
            print("\n".join(score.let_through))


if __name__ == "__main__":
    anyio.run(main, sys.argv[1:])
