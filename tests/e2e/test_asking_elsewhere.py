"""A person is asked away from a client that has no forms: in a terminal, with the official client in both eras."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from mcp import Client
from mcp.client.session import ClientRequestContext
from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult, TextContent

from tests.demo_pack import with_demo
from tests.e2e.http_server import serving_to_anybody
from tests.e2e.raw_server import WAIT, RawServer, environment_of
from tests.models.terminal import Terminal, in_terminal
from tests.preloaded import run_preloaded
from tests.real_server import connect_server

pytestmark = pytest.mark.anyio

CONFIG = "policy: {ask: [demo.foo]}\nexecution: {timeout: 20}\n"
WAITING = re.compile(r"Run (r\w+) is still running")
OpenClient = Callable[[Path, str], AbstractAsyncContextManager[Client]]


@asynccontextmanager
async def over_http(folder: Path, config: str, mode: str) -> AsyncIterator[Client]:
    with serving_to_anybody(folder, config) as url:
        async with Client(url, mode=mode) as client:
            yield client


CLIENTS: dict[str, OpenClient] = {
    "stdio": lambda folder, config: connect_server(folder, config=config, mode="auto"),
    "stdio with a handshake": lambda folder, config: connect_server(folder, config=config, mode="legacy"),
    "http": lambda folder, config: over_http(folder, config, "auto"),
    "http with a handshake": lambda folder, config: over_http(folder, config, "legacy"),
}


async def run(client: Client, command: str) -> CallToolResult:
    with anyio.fail_after(WAIT):
        result = await client.call_tool("run", {"command": command})
    assert isinstance(result, CallToolResult)
    return result


def text_of(result: CallToolResult) -> str:
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


async def begin(client: Client, command: str) -> str:
    """Begin a run that asks, and return its id."""
    text = text_of(await run(client, command))
    found = WAITING.search(text)
    assert found is not None, text
    assert f"answer with `onetool approve {found[1]}` in a terminal" in text
    return found[1]


async def wait_for(client: Client, name: str) -> CallToolResult:
    return await run(client, f"ot.wait(run={name!r}, seconds=45)")


def approve(
    folder: Path, name: str, typed: str | None, *, also: Callable[[], object] = lambda: None
) -> tuple[int, str]:
    """Type something at the prompt of `onetool approve`, after doing something else; None types nothing at all."""
    words = [sys.executable, "-m", "onetool", "approve", *([name] if name else [])]
    with in_terminal(words, cwd=folder, env=environment_of(folder)) as terminal:
        if typed is not None:
            _wait_for_prompt(terminal)
            also()
            terminal.type(typed)
        return terminal.wait_for_exit(), terminal.screen.text


def _wait_for_prompt(terminal: Terminal) -> None:
    terminal.wait_for(lambda text: "Allow it?" in text)


async def approving(folder: Path, name: str, typed: str | None, **more: Callable[[], object]) -> tuple[int, str]:
    return await anyio.to_thread.run_sync(partial(approve, folder, name, typed, **more))


@pytest.mark.parametrize("kind", CLIENTS)
async def test_a_run_of_a_client_without_forms_waits_for_an_answer_in_a_terminal(kind: str, tmp_path: Path) -> None:
    async with CLIENTS[kind](tmp_path, CONFIG) as client:
        name = await begin(client, "print('before')\ndemo.foo(text='hello')")
        status, screen = await approving(tmp_path, name, "y\n")
        answer = await wait_for(client, name)
        again, refused = await approving(tmp_path, name, None)

    assert status == 0
    assert 'text = "hello"' in screen
    assert f"Run {name} goes on." in screen
    assert "hello" in text_of(answer)
    assert again == 1
    assert f"run {name} has no open question" in refused.replace("\n", " ")


async def test_the_audit_says_where_a_call_was_allowed(tmp_path: Path) -> None:
    async with CLIENTS["http"](tmp_path, "policy: {ask: [file.write]}") as client:
        name = await begin(client, "file.write(path='a.txt', content='a')")
        await approving(tmp_path, name, "y\n")
        await wait_for(client, name)
        audited = await anyio.to_thread.run_sync(onetool, tmp_path, "audit", "--json")

    [call] = json.loads(audited.stdout)
    assert call["allowed_by"] == "consent: once, given in the terminal (policy.ask names file.write)"


def onetool(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run_preloaded(*words, cwd=folder, env=environment_of(folder))


@pytest.mark.parametrize(("key", "asked"), [("r", "in this run"), ("c", "until this client disconnects")])
async def test_a_yes_in_a_terminal_can_go_further(key: str, asked: str, tmp_path: Path) -> None:
    async with CLIENTS["stdio"](tmp_path, CONFIG) as client:
        name = await begin(client, "[demo.foo(text='a'), demo.foo(text='b')]")
        _, screen = await approving(tmp_path, name, f"{key}\n")
        answer = await wait_for(client, name)
        later = text_of(await run(client, "demo.foo(text='c')"))

    assert asked in " ".join(screen.split())
    assert not answer.is_error
    assert bool(WAITING.search(later)) is (key == "r")


async def test_the_calls_to_agree_to_are_named_by_their_numbers(tmp_path: Path) -> None:
    code = "def attempt(text):\n    try: return demo.foo(text=text)\n    except PermissionError: return 'no'\n"
    async with CLIENTS["http"](tmp_path, CONFIG) as client:
        name = await begin(client, f"{code}'-'.join([attempt('a'), attempt('b')])")
        status, screen = await approving(tmp_path, name, "2\n")
        answer = await wait_for(client, name)

    assert status == 0
    assert "Yes, once, to the calls with these numbers" in " ".join(screen.split())
    assert text_of(answer) == "no-b"


async def test_a_no_in_a_terminal_refuses_the_call(tmp_path: Path) -> None:
    async with CLIENTS["http"](tmp_path, CONFIG) as client:
        name = await begin(client, "demo.foo(text='a')")
        status, screen = await approving(tmp_path, "", "\n")
        answer = await wait_for(client, name)

    assert status == 0
    assert "the call was refused" in screen
    assert answer.is_error
    assert "the answer was no, given in the terminal" in text_of(answer)


async def test_a_question_may_stay_open(tmp_path: Path) -> None:
    async with CLIENTS["http"](tmp_path, CONFIG) as client:
        name = await begin(client, "demo.foo(text='a')")
        status, screen = await approving(tmp_path, name, "\x04")
        await approving(tmp_path, name, "yes\n")
        answer = await wait_for(client, name)

    assert status == 1
    assert "It stays open." in screen
    assert text_of(answer) == "a"


async def test_only_a_terminal_can_approve(tmp_path: Path) -> None:
    async with CLIENTS["stdio"](tmp_path, CONFIG) as client:
        name = await begin(client, "demo.foo(text='a')")
        words = [sys.executable, "-m", "onetool", "approve", name]
        piped = await anyio.run_process(words, input=b"y\n", cwd=tmp_path, env=environment_of(tmp_path), check=False)
        waiting = text_of(await run(client, f"ot.wait(run={name!r}, seconds=0.1)"))

    assert piped.returncode == 2
    assert b"stdin and stdout must be a terminal" in piped.stderr
    assert WAITING.search(waiting)


async def test_only_the_first_answer_counts(tmp_path: Path) -> None:
    async with CLIENTS["http"](tmp_path, CONFIG) as client:
        name = await begin(client, "len(demo.foo(text='a'))\ndemo.foo(text='b')")
        first = partial(approve, tmp_path, name, "y\n")
        status, screen = await approving(tmp_path, name, "n\n", also=first)
        await approving(tmp_path, name, "y\n")
        answer = await wait_for(client, name)

    assert status == 1
    assert "It was answered before: Yes, this once, given in the terminal." in " ".join(screen.split())
    assert text_of(answer) == "b"


async def test_without_an_answer_in_time_it_is_a_no(tmp_path: Path) -> None:
    async with CLIENTS["http"](tmp_path, "policy: {ask: [demo.foo], ask_timeout: 0.5}") as client:
        answer = await run(client, "demo.foo(text='a')")
        if found := WAITING.search(text_of(answer)):  # on a busy machine, the time may be over before
            answer = await wait_for(client, found[1])

    assert answer.is_error
    assert "the answer was no, since nobody answered within 0.5 s" in text_of(answer)


async def test_where_nobody_is_to_be_asked_elsewhere_nothing_begins(tmp_path: Path) -> None:
    async with CLIENTS["stdio"](tmp_path, "policy: {ask: [demo.foo], ask_timeout: off}") as client:
        answer = await run(client, "print('begun')\ndemo.foo(text='a')")

    assert answer.is_error
    assert "nobody can be asked here" in text_of(answer)
    assert "begun" not in text_of(answer).splitlines()


async def test_a_command_has_nobody_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "onetool.yaml").write_text(with_demo(CONFIG))
    done = await anyio.to_thread.run_sync(
        onetool, tmp_path, "--config", str(tmp_path / "onetool.yaml"), "run", "demo.foo(text='a')"
    )

    assert done.returncode == 1
    assert "nobody can be asked here" in done.stdout + done.stderr


async def test_a_run_goes_on_for_another_client_when_its_own_has_left(tmp_path: Path) -> None:
    with serving_to_anybody(tmp_path, CONFIG) as url:
        async with Client(url, mode="legacy") as client:
            name = await begin(client, "demo.foo(text='a')")
        status, _ = await approving(tmp_path, name, "y\n")
        async with Client(url, mode="auto") as other:
            answer = await wait_for(other, name)

    assert status == 0
    assert text_of(answer) == "a"


async def test_a_client_with_forms_that_waits_for_the_run_can_answer_instead(tmp_path: Path) -> None:
    async def agree(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        return ElicitResult(action="accept", content={"answer": "once"})

    with serving_to_anybody(tmp_path, CONFIG) as url:
        async with (
            Client(url, mode="auto") as client,
            Client(url, mode="legacy", elicitation_callback=agree) as other,
        ):
            name = await begin(client, "demo.foo(text='a')")
            answer = await wait_for(other, name)
            again, _ = await approving(tmp_path, name, None)

    assert text_of(answer) == "a"
    assert again == 1


async def test_a_run_that_is_stopped_asks_no_more(tmp_path: Path) -> None:
    async with CLIENTS["http"](tmp_path, CONFIG) as client:
        name = await begin(client, "demo.foo(text='a')")
        stopped = text_of(await run(client, f"ot.stop(run={name!r})"))
        status, screen = await approving(tmp_path, name, None)

    assert "was stopped" in stopped
    assert status == 1
    assert "has no open question" in " ".join(screen.split())


async def test_a_question_goes_with_its_server(tmp_path: Path) -> None:
    (tmp_path / "onetool.yaml").write_text(with_demo(CONFIG))
    server = RawServer(tmp_path, "--config", str(tmp_path / "onetool.yaml"), preloaded=True)
    name = await anyio.to_thread.run_sync(_begin_raw, server)
    status, screen = await approving(tmp_path, name, "y\n", also=server.end)

    assert status == 1
    assert "The run or its server has ended, so your answer had no effect." in " ".join(screen.split())


def _begin_raw(server: RawServer) -> str:
    server.initialize()
    answer = server.run("demo.foo(text='a')")
    found = WAITING.search(json.dumps(answer))
    assert found is not None
    return found[1]


async def test_the_clock_of_a_run_stands_still_while_a_person_thinks(tmp_path: Path) -> None:
    config = "policy: {ask: [demo.foo]}\nexecution: {timeout: 2}\n"
    async with CLIENTS["stdio"](tmp_path, config) as client:
        name = await begin(client, "demo.foo(text='slow')")
        await approving(tmp_path, name, "y\n", also=partial(time.sleep, 2.1))
        answer = await wait_for(client, name)

    assert text_of(answer) == "slow"


async def test_a_program_is_told_of_a_question(tmp_path: Path) -> None:
    told = tmp_path / "told"
    script = f'cat > {told}.new; echo "$ONETOOL_RUN" >> {told}.new; mv {told}.new {told}'
    config = f"policy: {{ask: [demo.foo], ask_command: [sh, -c, {json.dumps(script)}]}}"
    async with CLIENTS["http"](tmp_path, config) as client:
        name = await begin(client, "demo.foo(text='hello')")
        with anyio.fail_after(WAIT):
            while not told.exists():
                await anyio.sleep(0.02)

    text = told.read_text()
    assert 'text = "hello"' in text
    assert f"onetool approve {name}" in text
    assert text.splitlines()[-1] == name


@pytest.mark.parametrize("command", ["/no/such/program", "'false'"])
async def test_a_program_that_fails_harms_nothing(command: str, tmp_path: Path) -> None:
    async with CLIENTS["http"](tmp_path, f"policy: {{ask: [demo.foo], ask_command: [{command}]}}") as client:
        name = await begin(client, "demo.foo(text='a')")
        await approving(tmp_path, name, "y\n")
        answer = await wait_for(client, name)

    assert text_of(answer) == "a"


def test_a_project_cannot_name_the_program(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".onetool").mkdir(parents=True)
    (project / ".onetool" / "onetool.yaml").write_text("policy: {ask_command: [touch, stolen], ask_timeout: 9}")
    trusted = run_preloaded("trust", "--yes", cwd=project, env=environment_of(tmp_path))

    assert "sets policy.ask_command: ['touch', 'stolen'] (left out: only your own file," in trusted.stdout
