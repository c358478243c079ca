"""What the door writes into the audit log: who called what, what allowed or refused it, and how it ended."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from ot.clients.caller import Caller, Choice, ClientMemory
from ot.context import current
from ot.effects import Effect
from ot.errors import CallError, ToolError
from ot.proxy.resources import fill_prompt, read_resource
from tests.demo_pack import give_demo
from tests.engine import answer_of, open_engine, write_extension, write_skill
from tests.opened_executor import Opened, add_tool, define, open_executor
from tests.proxied import open_proxied, program
from tests.unit.audit.logs import build_log, entries_of, problems_of

pytestmark = pytest.mark.anyio

Lines = list[dict[str, Any]]


async def _send(arguments: dict[str, Any]) -> str:
    return "sent"


@asynccontextmanager
async def open_audited(folder: Path, *, policy: dict[str, Any] | None = None) -> AsyncIterator[Opened]:
    """An executor with an audit log, and tools of the test."""
    log = build_log(folder)
    async with open_executor(config={"policy": policy or {}}, audit=log) as opened:
        add_tool(opened, "mail.send", _send)
        add_tool(opened, "mail.list", _send, declared=Effect.READS)
        yield opened
    log.close()
    assert problems_of(folder) == []


def calls_in(folder: Path) -> Lines:
    """The lines about calls."""
    return [entry for entry in entries_of(folder) if entry["event"] not in ("start", "close")]


def person(answer: Choice | None, **fields: Any) -> Caller:
    async def ask(question: str, choices: object) -> Choice | None:
        return answer

    return Caller(ask=ask, **fields)


async def refused(opened: Opened, name: str, caller: Caller | None = None, /, **arguments: Any) -> None:
    with pytest.raises(CallError):
        await opened.executor.call(name, arguments, caller=caller or Caller())


# -- what is logged


async def test_a_call_with_effect_is_logged_when_it_begins_and_when_it_has_ended(tmp_path: Path) -> None:
    async with open_audited(tmp_path) as opened:
        seen: Lines = []

        async def look(arguments: dict[str, Any]) -> None:
            seen.extend(calls_in(tmp_path))

        add_tool(opened, "mail.look", look)
        await opened.executor.call("mail.look", {"to": "ann"}, caller=Caller(client="editor", run=4))

    assert [entry["event"] for entry in seen] == ["begin"]
    begun, ended = calls_in(tmp_path)
    assert (begun["tool"], begun["client"], begun["run"], begun["effect"]) == ("mail.look", "editor", 4, "unknown")
    assert begun["arguments"] == {"to": 5}
    assert "allowed_by" not in begun
    assert (ended["call"], ended["outcome"]) == (begun["n"], "ok")


async def test_calls_that_only_read_leave_no_trace_and_make_no_file(tmp_path: Path) -> None:
    async with open_audited(tmp_path / "audit") as opened:
        await opened.executor.call("mail.list", {})
        await opened.executor.call("demo.upper", {"text": "a"})
        await refused(opened, "demo.upper", text=1)

    assert list(tmp_path.iterdir()) == []


async def test_an_error_is_logged_by_its_kind_and_never_by_its_words(tmp_path: Path) -> None:
    async def fail(arguments: dict[str, Any]) -> None:
        raise arguments["error"]

    async with open_audited(tmp_path) as opened:
        add_tool(opened, "mail.fail", fail)
        for error in (ToolError("no such box"), ZeroDivisionError("no such box")):
            await refused(opened, "mail.fail", error=error)

    assert [entry["outcome"] for entry in calls_in(tmp_path) if entry["event"] == "end"] == [
        "ToolError",
        "ZeroDivisionError",
    ]
    assert "no such box" not in next(tmp_path.iterdir()).read_text()


async def test_what_a_tool_was_refused_is_logged_as_a_call_inside_of_it(tmp_path: Path) -> None:
    async def fetch(arguments: dict[str, Any]) -> None:
        await current().admit(("box.secret",), {})

    async with open_audited(tmp_path, policy={"deny": ["box.secret"]}) as opened:
        add_tool(opened, "mail.fetch", fetch)
        await refused(opened, "mail.fetch")

    [entry] = [entry for entry in calls_in(tmp_path) if entry["event"] == "refused"]
    assert (entry["tool"], entry["depth"]) == ("box.secret", 1)


async def test_a_call_that_is_cancelled_has_an_end(tmp_path: Path) -> None:
    async with open_audited(tmp_path) as opened:
        began = anyio.Event()

        async def wait(arguments: dict[str, Any]) -> None:
            began.set()
            await anyio.sleep_forever()

        add_tool(opened, "mail.wait", wait)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(opened.executor.call, "mail.wait", {})
            await began.wait()
            tasks.cancel_scope.cancel()

    assert [entry.get("outcome") for entry in calls_in(tmp_path)] == [None, "CancelledError"]


async def test_a_call_inside_a_call_is_logged_with_its_depth(tmp_path: Path) -> None:
    async def outer(arguments: dict[str, Any]) -> Any:
        return await current().call("mail.send", to="ann")

    async with open_audited(tmp_path) as opened:
        add_tool(opened, "list.outer", outer, declared=Effect.READS)
        await opened.executor.call("list.outer", {}, caller=Caller(client="editor"))

    begun, _ = calls_in(tmp_path)
    assert (begun["tool"], begun["depth"], begun["client"]) == ("mail.send", 1, "editor")


async def test_only_the_person_can_keep_a_servers_calls_out_of_the_log(tmp_path: Path) -> None:
    async with open_audited(tmp_path) as opened:
        opened.registry.trust_reads({"notes": ["known"]})
        for name in ("notes.hinted", "notes.known"):
            add_tool(opened, name, _send, declared=Effect.READS, source="proxy:notes")
            await opened.executor.call(name, {})

    assert [entry["tool"] for entry in calls_in(tmp_path) if "tool" in entry] == ["notes.hinted"]


async def test_large_arguments_are_logged_too(tmp_path: Path) -> None:
    async with open_audited(tmp_path) as opened:
        await opened.executor.call("mail.send", {"numbers": list(range(20_000))}, sent=b"x" * 100_000)

    assert calls_in(tmp_path)[0]["arguments"]["numbers"] == len(",".join(map(str, range(20_000)))) + 2


# -- what allowed or refused it


@pytest.mark.parametrize(("answer", "words"), [(Choice.ONCE, "once"), (Choice.RUN, "run"), (Choice.CLIENT, "client")])
async def test_a_persons_consent_is_logged_with_its_reason(tmp_path: Path, answer: Choice, words: str) -> None:
    async with open_audited(tmp_path, policy={"ask": ["mail.*"]}) as opened:
        caller = person(answer, run_memory=ClientMemory())
        await opened.executor.call("mail.send", {}, caller=caller)
        await opened.executor.call("mail.send", {}, caller=caller)

    begun = [entry["allowed_by"] for entry in calls_in(tmp_path) if entry["event"] == "begin"]
    assert begun == [f"consent: {words} (policy.ask names mail.*)"] * 2


async def test_consent_to_a_flow_names_what_was_read(tmp_path: Path) -> None:
    policy = {"flows": [{"from": ["mail.list"], "to": ["mail.send"]}]}
    async with open_audited(tmp_path, policy=policy) as opened:
        caller = person(Choice.ONCE)
        await opened.executor.call("mail.list", {}, caller=caller)
        await opened.executor.call("mail.send", {}, caller=caller)

    assert "mail.list was called before" in calls_in(tmp_path)[0]["allowed_by"]


@pytest.mark.parametrize(
    ("policy", "caller", "words"),
    [
        ({"deny": ["mail.*"]}, Caller(), "policy.deny names mail.*"),
        ({"ask": ["mail.*"]}, Caller(), "nobody can be asked here (policy.ask names mail.*)"),
        ({"ask": ["mail.*"]}, person(None), "the answer was no (policy.ask names mail.*)"),
    ],
    ids=["denied", "nobody", "no"],
)
async def test_a_refused_call_is_one_line_even_if_it_would_only_read(
    tmp_path: Path, policy: dict[str, Any], caller: Caller, words: str
) -> None:
    async with open_audited(tmp_path, policy=policy) as opened:
        await refused(opened, "mail.send", caller, to="ann")
        await refused(opened, "mail.list", caller, to="ann")

    lines = calls_in(tmp_path)
    assert [(entry["event"], entry["tool"]) for entry in lines] == [("refused", "mail.send"), ("refused", "mail.list")]
    assert {entry["refused_by"] for entry in lines} == {words}
    assert lines[0]["arguments"] == {"to": 5}


async def test_a_flow_that_is_denied_is_logged(tmp_path: Path) -> None:
    policy = {"flows": [{"from": ["mail.list"], "to": ["mail.send"], "action": "deny"}]}
    async with open_audited(tmp_path, policy=policy) as opened:
        caller = Caller()
        await opened.executor.call("mail.list", {}, caller=caller)
        await refused(opened, "mail.send", caller)

    assert calls_in(tmp_path)[0]["refused_by"] == "policy.flows: mail.list was called before"


async def test_positional_arguments_of_a_refused_call_count(tmp_path: Path) -> None:
    async with open_audited(tmp_path, policy={"deny": ["mail.*"]}) as opened:
        with pytest.raises(CallError):
            await opened.executor.call("mail.send", {"to": "ann"}, positional=["x", "yy"])

    assert calls_in(tmp_path)[0]["arguments"] == {"*": len('["x","yy"]'), "to": 5}


async def test_what_nobody_has_trusted_is_logged_as_refused(tmp_path: Path) -> None:
    home, project = give_demo(tmp_path / "home"), tmp_path / "project"
    async with open_engine(project, home=home, config="snippets: {mine: {body: '1'}}") as app:
        write_extension(project, "letters", "def f(*, to: str = '') -> str: ...\n")
        write_skill(project, "theirs", 'def theirs():\n    """T."""\n    1\n')
        next((home / ".onetool" / "state" / "trust").glob("*/record.json")).unlink()
        await app.runner.run("ot.reload()")
        with pytest.raises(CallError):
            await app.executor.call("letters.f", {"to": "ann"}, caller=Caller(client="editor"))
        for code in (
            "letters.f()\nletters.f()",
            "getattr(letters, 'g')()",
            "$mine",
            "skills.theirs()",
            "getattr(skills, 'theirs')",
        ):
            assert (await app.runner.run(code)).is_error

    lines = [entry for entry in calls_in(home / ".onetool" / "state" / "audit") if entry["event"] == "refused"]
    assert [entry["tool"] for entry in lines] == [
        "letters.f",
        "letters.f",
        "letters.g",
        "$mine",
        *["skills.theirs"] * 2,
    ]
    assert {entry["refused_by"] for entry in lines} == {f"nobody has trusted it in {project}"}
    assert (lines[0]["client"], lines[0]["arguments"]) == ("editor", {"to": 5})


@pytest.mark.parametrize(
    ("allow", "caller", "answer"),
    [
        (["mail.*"], Caller(), "policy.allow names mail.*"),
        ([], person(Choice.ONCE), "consent: once"),
        ([], person(None), "the answer was no"),
        ([], Caller(), "nobody can be asked here"),
    ],
    ids=["allowed", "yes", "no", "nobody"],
)
async def test_the_answer_to_a_tools_own_question_is_logged(
    tmp_path: Path, allow: list[str], caller: Caller, answer: str
) -> None:
    async def ask(arguments: dict[str, Any]) -> bool:
        return await current().ask("Really?")

    async with open_audited(tmp_path, policy={"allow": allow}) as opened:
        add_tool(opened, "mail.ask", ask)
        try:
            await opened.executor.call("mail.ask", {}, caller=caller)
        except CallError:
            pass

    begun, asked, ended = calls_in(tmp_path)
    assert (asked["event"], asked["answer"]) == ("asked", answer)
    assert asked["call"] == ended["call"] == begun["n"]


@pytest.mark.parametrize("believed", [False, True])
async def test_a_server_keeps_its_calls_out_of_the_log_by_hints_only_if_they_are_believed(
    tmp_path: Path, *, believed: bool
) -> None:
    log = build_log(tmp_path / "audit")
    async with open_proxied(tmp_path, {"hinting": program("hinting", hints=believed)}, audit=log) as proxied:
        await proxied.call("hinting.claim")
    log.close()

    assert [entry["event"] for entry in calls_in(tmp_path / "audit")] == ([] if believed else ["begin", "end"])


# -- resources and prompts


@pytest.mark.parametrize(("rule", "words"), [("deny", "policy.deny names"), ("ask", "nobody can be asked here")])
async def test_a_resource_or_prompt_that_is_refused_is_logged_once(
    tmp_path: Path, notes_server: dict[str, str], rule: str, words: str
) -> None:
    log = build_log(tmp_path / "audit")
    async with open_proxied(tmp_path, {"my-notes": notes_server}, policy={rule: ["my-notes.*"]}, audit=log) as proxied:

        async def read(arguments: dict[str, Any]) -> Any:
            return await read_resource(proxied.servers, arguments["uri"])

        async def fill(arguments: dict[str, Any]) -> Any:
            return await fill_prompt(proxied.servers, "greet", {"name": "x"}, "my-notes")

        proxied.registry.register(define("reader.read", declared=Effect.READS), read)
        proxied.registry.register(define("reader.fill", declared=Effect.READS), fill)
        caller = Caller(client="editor")
        with pytest.raises(CallError):
            await proxied.call_as(caller, "reader.read", uri="notes://today")
        with pytest.raises(CallError):
            await proxied.call_as(caller, "reader.fill")
    log.close()

    lines = calls_in(tmp_path / "audit")
    assert [(entry["event"], entry["tool"], entry["client"]) for entry in lines] == [
        ("refused", "my_notes.resource:notes://today", "editor"),
        ("refused", "my_notes.prompt:greet", "editor"),
    ]
    assert all(entry["refused_by"].startswith(words) for entry in lines)


# -- the whole engine


async def test_runs_are_told_apart_where_nothing_is_counted(tmp_path: Path) -> None:
    async with open_engine(tmp_path, config="stats: {enabled: false}") as app:
        for _ in range(2):
            await answer_of(app, "demo.block(seconds=0)")

    runs = [entry["run"] for entry in calls_in(tmp_path / ".onetool" / "state" / "audit") if entry["event"] == "begin"]
    assert runs == [1, 2]


async def test_where_nothing_is_to_be_logged_nothing_is(tmp_path: Path) -> None:
    async with open_engine(tmp_path, config="audit: {enabled: false}") as app:
        await answer_of(app, "demo.block(seconds=0)")
        health: Any = await app.executor.call("ot.health", {})

    assert health["audit"] == {"status": "disabled"}
    assert not (tmp_path / ".onetool" / "state" / "audit").exists()


async def test_where_it_cannot_be_written_calls_go_on_and_health_says_so(tmp_path: Path) -> None:
    async with open_engine(tmp_path) as app:
        folder = tmp_path / ".onetool" / "state" / "audit"
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.write_text("in the way")
        await answer_of(app, "demo.block(seconds=0)")
        health: Any = await app.executor.call("ot.health", {})

    assert health["audit"] == {"status": "degraded", "folder": str(folder), "reason": "File exists", "lost": 1}
