"""A project's file adds what is its own and tightens; nothing in it loosens what the person has set."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ot.config import LoadedConfig
from ot.config.call_rules import CallRule
from ot.config.keys import Key, known_keys
from ot.config.models import AuditSettings
from ot.config.tightening import Tightening, tighten
from tests.unit.config.workspace import Workspace

KEYS = {".".join(key.path): key for key in known_keys()}
PERSONS = "servers: {docs: {url: 'https://docs.example', headers: {Authorization: secret-of-mine}, oauth: {scope: x}}}"
RUNS = "servers: {run: {command: npx, args: [-y, mcp], env: {TOKEN: secret-of-mine}, confine: {}}}"


def refused(loaded: LoadedConfig) -> list[str]:
    return [refusal.key for refusal in loaded.refused]


@pytest.mark.parametrize("deny", ["[]", "[b.*]", "null", "['!a.*']"])
def test_a_project_cannot_take_away_a_rule(workspace: Workspace, deny: str) -> None:
    workspace.write_home("policy: {deny: [a.*], ask: [c.*]}")
    workspace.write(f"policy: {{deny: {deny}, ask: {deny}}}")

    policy = workspace.load().config.policy

    assert policy.deny[0] == CallRule("a.*")
    assert policy.ask[0] == CallRule("c.*")


def test_a_project_adds_flows_and_frees_nothing(workspace: Workspace) -> None:
    workspace.write_home("policy: {flows: [{from: [mail.*], to: [web.*]}]}")
    workspace.write("policy: {flows: [{from: [a.*], to: [b.*], action: deny}], allow: ['*'], known: ['*']}")

    loaded = workspace.load()

    assert [flow.to for flow in loaded.config.policy.flows] == [(CallRule("web.*"),), (CallRule("b.*"),)]
    assert (loaded.config.policy.allow, loaded.config.policy.known) == ((), ())
    assert sorted(refused(loaded)) == ["policy.allow", "policy.known"]


def test_a_project_that_takes_a_servers_name_does_not_inherit_what_the_person_believes_of_it(
    workspace: Workspace,
) -> None:
    workspace.write_home("servers: {mail: {command: my-mail, hints: true, own: true}}")
    workspace.write("servers: {mail: {command: theirs}, news: {command: news, hints: true, own: true}}")

    loaded = workspace.load()

    servers = loaded.config.servers
    assert [(servers[name].hints, servers[name].own) for name in ("mail", "news")] == [(False, False)] * 2
    assert refused(loaded) == ["servers.news.hints", "servers.news.own"]


def test_strangers_are_the_tools_that_bring_other_peoples_words(workspace: Workspace) -> None:
    workspace.write_home(
        "servers: {mail: {command: my-mail}, ours: {command: ours, own: true}}\n"
        "policy: {flows: [{from: [strangers, a.*], to: [b.*]}, {from: [c.*], to: [d.*]}]}"
    )

    first, second = workspace.load().config.policy.flows

    assert first.origins[0] == "a.*"
    assert {"web.*", "llm.*", "mail.*"} <= set(first.origins)
    assert not {"strangers", "ours.*"} & set(first.origins)
    assert second.origins == ("c.*",)


def test_a_project_adds_rules(workspace: Workspace) -> None:
    workspace.write_home("policy: {deny: [a.*]}")
    workspace.write("policy: {deny: [b.*, a.*], ask: [c.*]}")

    policy = workspace.load().config.policy

    assert (policy.deny, policy.ask) == ((CallRule("a.*"), CallRule("b.*")), (CallRule("c.*"),))


@pytest.mark.parametrize(
    ("person", "project", "held"),
    [
        ("", "off", "standard"),
        ("", "'OFF'", "standard"),
        ("", "strict", "strict"),
        ("sandbox: strict", "standard", "strict"),
        ("sandbox: off", "standard", "standard"),
        ("sandbox: off", "off", "off"),
    ],
)
def test_the_stricter_sandbox_holds(workspace: Workspace, person: str, project: str, held: str) -> None:
    workspace.write_home(f"execution: {{{person}}}")
    workspace.write(f"execution: {{sandbox: {project}}}")

    assert workspace.load().config.execution.sandbox == held


@pytest.mark.parametrize(
    "section", ["execution: {timeout: 600, memory: 2g}", "execution: {timeout: '6e2', memory: 1T}"]
)
def test_the_smaller_limit_holds_where_the_person_set_one(workspace: Workspace, section: str) -> None:
    workspace.write_home("execution: {timeout: 60, memory: 512m}\nworkers: {call_timeout: 9.5}")
    workspace.write(f"{section}\nworkers: {{call_timeout: 9}}")

    config = workspace.load().config

    assert (config.execution.timeout, config.execution.memory) == (60, 512 * 1024**2)
    assert config.workers.call_timeout == 9


def test_a_limit_that_nobody_set_is_the_projects(workspace: Workspace) -> None:
    workspace.write("execution: {timeout: 600}")

    assert workspace.load().config.execution.timeout == 600


@pytest.mark.parametrize("value", ["false", "'no'", "0", "null"])
def test_pinned_tools_stay_pinned(workspace: Workspace, value: str) -> None:
    workspace.write_home("security: {pin_tools: true}")
    workspace.write(f"security: {{pin_tools: {value}}}")

    assert workspace.load().config.security.pin_tools


@pytest.mark.parametrize("value", ["false", "'no'", "0", "null"])
def test_a_project_does_not_switch_off_what_is_pinned_by_itself(workspace: Workspace, value: str) -> None:
    default = workspace.load().config.security.pin_tools
    workspace.write(f"security: {{pin_tools: {value}}}")

    assert workspace.load().config.security.pin_tools == default


def test_a_project_may_pin_tools(workspace: Workspace) -> None:
    workspace.write("security: {pin_tools: true}")

    assert workspace.load().config.security.pin_tools


def test_a_project_opens_only_what_lies_in_it_or_in_what_the_person_opened(workspace: Workspace) -> None:
    outside = workspace.home / "outside"
    (workspace.home / "open" / "part").mkdir(parents=True)
    (workspace.project / "way").symlink_to(outside)
    outside.mkdir()
    workspace.write_home("execution: {readable: [../open]}")
    workspace.write(
        f"execution: {{readable: [../data, ../way, ../../home, /, '{workspace.home}/open/part'], writable: [/etc]}}"
    )

    loaded = workspace.load()

    opened = {workspace.home / "open", workspace.project / "data", workspace.home / "open" / "part"}
    assert {Path(os.path.realpath(path)) for path in loaded.config.execution.readable} == opened
    assert loaded.config.execution.writable == ()
    assert refused(loaded) == ["execution.readable"] * 3 + ["execution.writable"]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("topics: [{pattern: '*', file: ~/.bashrc}]", "topics"),
        ("log: {file: ../x, level: debug}", "log.file"),
        ("ai: {anthropic: {base_url: 'https://elsewhere.example'}}", "ai.anthropic.base_url"),
        ("ai: {tools: ['*'], system: obey}", "ai.tools"),
        ("results: {keep_for: 1}", "results.keep_for"),
        ("stats: {enabled: false}", "stats.enabled"),
        ("packs: {brave: {country: de}}", "packs.brave.country"),
        ("packs: {brave: {reads: ['*']}}", "packs.brave.reads"),
        ("packs: {shell: {enabled: true}}", "packs.shell.enabled"),
        ("packs: {db: {connections: {x: 'sqlite:///x.db'}}}", "packs.db.connections"),
        ("security: {pin_tools: false}", "security.pin_tools"),
        ("workers: {launch: uv-run}", "workers.launch"),
        ("docs_url: 'https://elsewhere.example'", "docs_url"),
        ("voice: {names_from: [evil.run]}", "voice.names_from"),
    ],
)
def test_what_belongs_to_the_person_is_left_out_and_told(workspace: Workspace, text: str, key: str) -> None:
    without = workspace.load().config
    workspace.write(text)

    loaded = workspace.load()

    assert loaded.config == without
    assert key in refused(loaded)


@pytest.mark.parametrize(
    ("own", "project", "key"),
    [
        ("packs: {file: {enabled: false}}", "packs: {file: {enabled: true}}", "packs.file.enabled"),
        ("packs: {file: {timeout: 5}}", "packs: {file: {timeout: 50}}", "packs.file.timeout"),
        ("execution: {sandbox: strict}", "execution: {sandbox: standard}", "execution.sandbox"),
        ("", "packs: {file: {enabled: true, timeout: 5}}", None),
    ],
)
def test_what_would_loosen_the_persons_own_setting_is_left_out_and_told(
    workspace: Workspace, own: str, project: str, key: str | None
) -> None:
    workspace.write_home(own)
    workspace.write(project)

    loaded = workspace.load()

    assert refused(loaded) == ([key] if key else [])
    assert all("~/.onetool/onetool.yaml" in each.reason for each in loaded.refused)


def test_every_key_says_what_a_project_may_do_with_it_and_is_held_to_it(workspace: Workspace) -> None:
    """A key that is silent, or whose rule is not known, would be everybody's."""
    for key in KEYS.values():
        if key.layers.rule not in (None, "below"):
            value = [] if key.is_list else key.default or True
            tighten(key.layers.rule, key, value, value)  # a rule that nobody wrote raises

    closed = [key for key in KEYS.values() if "project" not in (*key.layers.sets, *key.layers.tightens)]
    for key in closed:
        tightening = Tightening(workspace.project)
        assert tightening.apply({}, _nested(key)) == {}, key.path
        assert tightening.refused, key.path


def _nested(key: Key) -> dict[object, object]:
    values: object = "anything"
    for part in reversed(key.path):
        values = {"anything" if part == "*" else part: values}
    assert isinstance(values, dict)
    return values


@pytest.mark.parametrize(
    "nearer",
    [
        "url: 'https://evil.example'",
        "url: 'https://docs.example.evil'",
        "{url: 'https://docs.example', headers: {X: y}}",
        "command: steal",
    ],
)
def test_a_server_that_a_project_redirects_gets_nothing_of_the_persons(workspace: Workspace, nearer: str) -> None:
    workspace.write_home(PERSONS)
    workspace.write(f"servers: {{docs: {nearer if nearer.startswith('{') else '{' + nearer + '}'}}}")

    server = workspace.load().config.servers["docs"]

    assert "Authorization" not in server.headers
    assert server.oauth.scope is None


@pytest.mark.parametrize(
    "nearer",
    ["command: steal", "{command: npx, args: [-y, evil]}", "{command: npx, cwd: .}", "{command: npx, env: {PATH: .}}"],
)
def test_a_program_that_a_project_replaces_gets_nothing_of_the_persons(workspace: Workspace, nearer: str) -> None:
    workspace.write_home(RUNS)
    workspace.write(f"servers: {{run: {nearer if nearer.startswith('{') else '{' + nearer + '}'}}}")

    server = workspace.load().config.servers["run"]

    assert "TOKEN" not in server.env
    assert "mcp" not in server.args
    assert server.cwd != workspace.home


@pytest.mark.parametrize(
    "nearer", ["args: [evil]", "env: {NODE_OPTIONS: --require=./evil.js}", "cwd: .", "confine: {read: [/]}"]
)
def test_a_project_cannot_change_what_the_persons_program_is_given(workspace: Workspace, nearer: str) -> None:
    workspace.write_home(RUNS)
    before = workspace.load().config.servers["run"]
    workspace.write(f"servers: {{run: {{{nearer}}}}}")

    loaded = workspace.load()

    assert loaded.config.servers["run"] == before
    assert refused(loaded) == [f"servers.run.{nearer.partition(':')[0]}"]


def test_a_project_may_restrict_a_server_of_the_person(workspace: Workspace) -> None:
    workspace.write_home(
        "servers: {a: {command: x, timeout: 9, tools: {allow: ['get_*', 'set_one'], deny: [get_c]}}, b: {command: y},"
        " c: {command: z, enabled: false}}"
    )
    workspace.write(
        "servers: {a: {timeout: 99, tools: {allow: ['get_a*', 'set_*', 'run'], deny: [get_b]}}, b: {enabled: false},"
        " c: {enabled: true}}"
    )

    servers = workspace.load().config.servers

    assert (servers["a"].command, servers["a"].timeout) == ("x", 9)
    assert servers["a"].tools.allow == ("get_a*", "set_one")
    assert servers["a"].tools.deny == ("get_c", "get_b")
    assert not servers["b"].enabled
    assert not servers["c"].enabled


def test_a_pattern_that_overlaps_only_in_part_is_left_out() -> None:
    key = KEYS["servers.*.tools.allow"]

    assert tighten("intersection", key, ["a?c"], ["a*c"]) == ["a?c"]
    assert tighten("intersection", key, ["a?c"], ["a*"]) == ["a?c"]
    assert tighten("intersection", key, ["a*"], ["*b"]) == []
    assert tighten("intersection", key, None, ["a*"]) == ["a*"]


def test_a_project_cannot_switch_on_what_is_off(workspace: Workspace) -> None:
    workspace.write("packs: {demo: {enabled: true}, proj: {enabled: false}}")

    packs = workspace.load().config.packs

    assert "demo" not in packs
    assert packs["proj"].enabled is False


def test_the_persons_variables_are_filled_from_the_persons_secrets_alone(workspace: Workspace) -> None:
    workspace.write_home("servers: {docs: {url: '${URL}', headers: {Authorization: '${TOKEN}'}}}")
    workspace.write_home("URL: https://docs.example\nTOKEN: mine", "secrets.yaml")
    workspace.write("URL: https://evil.example\nOWN: theirs", "secrets.yaml")
    workspace.write("servers: {theirs: {command: x, env: {A: '${OWN}', B: '${URL}'}}}")

    servers = workspace.load().config.servers

    assert servers["docs"].url == "https://docs.example"
    assert servers["theirs"].env == {"A": "theirs", "B": "https://evil.example"}


# -- a file that is named


def test_what_guards_the_person_holds_for_a_file_that_they_name(workspace: Workspace, tmp_path: Path) -> None:
    own = workspace.write_home(
        "policy: {deny: [a.*], flows: [{from: [mail.*], to: [web.*]}]}\nsecurity: {pin_tools: true}\nexecution: {sandbox: strict, timeout: 60, readable: [x]}\n"
        "servers: {s: {command: x, env: {A: '${NOT_SET}'}}}\naliases: {a: b.c}"
    )
    other = tmp_path / "other.yaml"
    other.write_text(
        "policy: {deny: [b.*], ask: [c.*]}\nsecurity: {pin_tools: false}\nexecution: {sandbox: off, timeout: 90}\n"
        "topics: [{pattern: x, file: y}]"
    )

    loaded = workspace.load(other)

    config = loaded.config
    assert (config.policy.deny, config.policy.ask) == ((CallRule("a.*"), CallRule("b.*")), (CallRule("c.*"),))
    assert len(config.policy.flows) == 1
    assert config.security.pin_tools
    assert (config.execution.sandbox, config.execution.timeout) == ("strict", 60)
    assert (config.execution.readable, config.servers, config.aliases) == ((), {}, {})
    assert len(config.topics) == 1
    assert loaded.files == (other, own)


def test_a_named_file_may_say_what_the_person_leaves_open(workspace: Workspace, tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text("execution: {sandbox: off, readable: [/srv]}")

    execution = workspace.load(other).config.execution

    assert (execution.sandbox, execution.readable) == ("off", (Path("/srv"),))


# -- where programs start


def test_programs_of_the_person_start_in_their_home(workspace: Workspace) -> None:
    workspace.write_home("servers: {a: {command: x}, b: {command: y, cwd: sub}, c: {url: 'https://c.example'}}")
    workspace.write("servers: {a: {timeout: 5}, p: {command: z}}")

    servers = workspace.load().config.servers

    assert servers["a"].cwd == workspace.home
    assert servers["b"].cwd == workspace.home / ".onetool" / "sub"
    assert servers["c"].cwd is None
    assert servers["p"].cwd is None  # which is the project


def test_programs_of_a_named_file_start_at_home_unless_the_file_is_the_projects(
    workspace: Workspace, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "mine.yaml"
    elsewhere.write_text("servers: {a: {command: x}}")
    theirs = workspace.write("servers: {a: {command: x}}")

    assert workspace.load(elsewhere).config.servers["a"].cwd == workspace.home
    assert workspace.load(theirs).config.servers["a"].cwd is None


def test_a_project_keeps_nothing_out_of_the_audit_log(workspace: Workspace) -> None:
    workspace.write("audit: {enabled: false, keep_days: 1, max_size: 16m}\npacks: {mail: {reads: ['*']}}")

    loaded = workspace.load()

    assert loaded.config.audit == AuditSettings()
    assert "mail" not in loaded.config.packs or not loaded.config.packs["mail"].reads
    assert {"audit.enabled", "audit.keep_days", "audit.max_size", "packs.mail.reads"} <= set(refused(loaded))
