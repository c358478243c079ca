"""A key that is not known is refused at any depth, with the nearest known one."""

from __future__ import annotations

import pytest

from tests.unit.config.workspace import Workspace


@pytest.mark.parametrize(
    ("text", "key", "nearest"),
    [
        ("exection: {}", "exection", '"execution"'),
        ("Execution: {}", "Execution", '"execution"'),
        ("inlcude: [x.yaml]", "inlcude", '"include"'),
        ("docs-url: http://x", "docs-url", '"docs_url"'),
        ("execution: {timeot: 5}", "execution.timeot", '"timeout"'),
        ("execution: {time-out: 5}", "execution.time-out", '"timeout"'),
        ("execution: {timeot: }", "execution.timeot", '"timeout"'),
        ("workers: {idle: 5}", "workers.idle", "idle_timeout"),
        ("results: {inline: 5}", "results.inline", '"inline_limit"'),
        ("servers: {github: {command: x, arg: []}}", "servers.github.arg", '"args"'),
        ("servers: {github: {command: x, tools: {alow: []}}}", "servers.github.tools.alow", '"allow"'),
        ("projects: {a: {pth: x, path: y}}", "projects.a.pth", '"path"'),
        ("snippets: {s: {body: x, params: {q: {defualt: 1}}}}", "snippets.s.params.q.defualt", '"default"'),
        ("topics: [{pattern: x, file: y}, {pattern: x, fil: y}]", "topics.1.fil", '"file"'),
        ("prompts: {pack: {}}", "prompts.pack", '"packs"'),
        ("policy: {denied: []}", "policy.denied", '"deny"'),
    ],
)
def test_an_unknown_key_comes_with_the_nearest_known_one(
    workspace: Workspace, text: str, key: str, nearest: str
) -> None:
    file = workspace.write(text)

    error = workspace.mistake()

    assert (error.file, error.key, error.reason.split(" (")[0]) == (file, key, "unknown key")
    assert nearest in (error.fix or "")


def test_a_key_at_the_wrong_depth_is_told_its_place(workspace: Workspace) -> None:
    workspace.write("timeout: 5")

    assert "execution.timeout" in (workspace.mistake().fix or "")


def test_a_key_like_no_other_is_answered_with_all_known_ones(workspace: Workspace) -> None:
    workspace.write("stats: {qqq: 1}")

    assert workspace.mistake().fix == "known keys here, nearest first: enabled, keep_days"


def test_a_pack_may_have_keys_of_its_own(workspace: Workspace) -> None:
    workspace.write_home("packs: {brave: {anything: {at: all, 5: five}}}")

    assert workspace.load().config.packs["brave"].options == {"anything": {"at": "all", 5: "five"}}


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("on: 5", "True"),
        ("policy: {no: []}", "policy.False"),
        ("servers: {no: {command: x}}", "servers.False"),
        ("aliases: {5: a.b}", "aliases.5"),
        ("execution: {null: 5}", "execution.None"),
    ],
)
def test_a_key_that_yaml_does_not_read_as_text_asks_for_quotes(workspace: Workspace, text: str, key: str) -> None:
    workspace.write(text)

    error = workspace.mistake()

    assert error.key == key
    assert error.fix == "put it in quotes"


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("execution: {timeut: 5}", 'the nearest known key is "timeout" (seconds that a run may take)'),
        ("execution: {timeout: soon}", "write a number, for example 120 (seconds that a run may take)"),
        ("exection: {}", 'the nearest known key is "execution"'),
    ],
    ids=["an unknown key", "a wrong type", "a section has no words"],
)
def test_a_mistake_comes_with_what_the_key_is_for(workspace: Workspace, text: str, fix: str) -> None:
    workspace.write(text)

    assert workspace.mistake().fix == fix
