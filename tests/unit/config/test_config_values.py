"""Every key is accepted, read into its type, and held to its bounds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ot.config import Config
from ot.config.models import SnippetParameter
from ot.config.values import parse_size
from ot.errors import ConfigError
from tests.unit.config.workspace import Workspace

EVERY_KEY = """
projects: {onetool: ~/projects/onetool, notes: {path: ../notes, attrs: {language: en}}}
aliases: {ws: brave.web_search, w: ws}
snippets:
  wsq:
    description: Search two subjects
    params: {q1: {description: First}, q2: {description: Second}, p: {default: Compare}}
    body: |
      llm.transform(input=[ws(query={{ q1 }}), ws(query={{ q2 }})], prompt={{ p }})
roots: [~/documents, more]
servers:
  github: {command: npx, args: [-y, "@scope/server"], env: {GITHUB_TOKEN: "${GITHUB_TOKEN}"}, cwd: ., enabled: false}
  docs: {url: "https://example.com/mcp", headers: {Authorization: "Bearer ${DOCS_TOKEN}"}, timeout: 5,
         tools: {allow: ["get_*"], deny: [get_all]}}
execution: {timeout: 60, memory: 512m, sandbox: off, warm: 0, readable: [/data], writable: [out]}
workers: {idle_timeout: 1, call_timeout: 2.5, start_timeout: 3, launch: uv-run}
results: {inline_limit: 100, keep_for: 10}
stats: {enabled: false, keep_days: 30}
audit: {enabled: false, keep_days: 30, max_size: 50m}
journal: {enabled: false, keep_for: 3600, max_size: 50m}
policy: {deny: ["shell.*"], ask: ["file.delete"]}
offer: {look: true}
registry: {url: "http://localhost:8001", suggest: true}
security: {pin_tools: true}
topics: [{pattern: "notes*", file: notes.yaml}]
prompts: {packs: {excel: "Open the workbook before reading ranges."}}
packs: {brave: {timeout: 20, country: de, nested: {list: [1, 2]}}}
log: {level: trace, file: onetool.log}
http: {connections: 8, unauthenticated: 8, request_timeout: 5}
store: postgresql://db.example.com/onetool
auth: {issuer: "https://id.example.com", public_url: "https://onetool.example.com", admins: [operators]}
grants: {writers: {allow: ["file.*"], deny: ["file.delete"]}}
limits: {runs_per_minute: 60, stored_bytes: 50m, groups: {robots: {runs_per_minute: 600}}}
seal: {file: seal.keys}
telemetry: {otlp: "http://localhost:4318"}
ai: {provider: ollama, tools: ["file.*"], memory: {messages: 10}, ollama: {model: qwen3, context: 4096}}
voice: {engine: grammar, names: [Lamp], speaker: off, vad: {min_silence: 1, release: 0.2}}
docs_url: http://localhost:8000/
"""


def test_the_password_of_a_store_is_in_no_mistake(workspace: Workspace) -> None:
    workspace.write_home("store: 'postgresql://ot:s3cret/with@odd:signs@db.example.com/team'")

    with pytest.raises(ConfigError, match="the address cannot be read") as raised:
        workspace.load()

    assert "s3cret" not in f"{raised.value!r} {raised.value}"


def test_who_people_are_needs_an_address(workspace: Workspace) -> None:
    workspace.write_home("auth: {issuer: 'https://id.example.com'}")

    with pytest.raises(ConfigError, match="public_url is missing"):
        workspace.load()


@pytest.mark.parametrize(("written", "seconds"), [("off", 0), ('"Off"', 0), ("0", 0), ("12.5", 12.5), ("", 50)])
def test_patience_is_a_number_or_off(workspace: Workspace, written: str, seconds: float) -> None:
    workspace.write_home(f"execution: {{patience: {written}}}")

    assert workspace.load().config.execution.patience == seconds


def test_every_key_is_accepted(workspace: Workspace) -> None:
    folder = workspace.write_home(EVERY_KEY).parent

    config = workspace.load(GITHUB_TOKEN="github-token", DOCS_TOKEN="docs-token").config

    assert config.model_fields_set == set(Config.model_fields)
    assert config.projects["onetool"].path == workspace.home / "projects" / "onetool"
    assert config.projects["notes"].path == workspace.home / "notes"
    assert config.projects["notes"].attrs == {"language": "en"}
    assert config.roots == (workspace.home / "documents", folder / "more")
    assert config.aliases == {"ws": "brave.web_search", "w": "ws"}
    assert config.servers["github"].env == {"GITHUB_TOKEN": "github-token"}
    assert config.servers["github"].args == ("-y", "@scope/server")
    assert config.servers["github"].cwd == folder
    assert config.servers["docs"].headers == {"Authorization": "Bearer docs-token"}
    assert config.servers["docs"].tools.allow == ("get_*",)
    assert config.execution.memory == 512 * 1024**2
    assert config.execution.sandbox == "off"
    assert config.execution.readable == (Path("/data"),)
    assert config.execution.writable == (folder / "out",)
    assert config.workers.launch == "uv-run"
    assert config.topics[0].file == folder / "notes.yaml"
    assert config.prompts.packs["excel"].startswith("Open")
    assert config.packs["brave"].timeout == 20
    assert config.packs["brave"].options == {"country": "de", "nested": {"list": [1, 2]}}
    assert config.log.file == folder / "onetool.log"
    assert config.auth.in_force
    assert config.grants["writers"].allow == ("file.*",)
    assert config.limits.groups["robots"].runs_per_minute == 600


def test_a_parameter_is_required_unless_it_has_a_default(workspace: Workspace) -> None:
    workspace.write("snippets: {s: {body: x, params: {a: {description: A}, b: {default: 1}, c: {default: null}, d: }}}")

    params = workspace.load().config.snippets["s"].params

    assert {name: param.required for name, param in params.items()} == {"a": True, "b": False, "c": False, "d": True}
    assert params["b"] == SnippetParameter(default=1)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1g", 1024**3),
        ("512m", 512 * 1024**2),
        ("64k", 64 * 1024),
        ("1000", 1000),
        ("1.5G", 3 * 1024**3 // 2),
        ("2 GB", 2 * 1024**3),
        ("2GiB", 2 * 1024**3),
        ("1t", 1024**4),
        ("", None),
        ("g", None),
        ("-1g", None),
        ("1x", None),
        ("1e9", None),
        ("١g", None),
    ],
)
def test_a_size_is_a_number_with_a_unit(text: str, size: int | None) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "section", "key", "value"),
    [
        ("execution: {sandbox: STRICT}", "execution", "sandbox", "strict"),
        ("execution: {sandbox: off}", "execution", "sandbox", "off"),
        ("execution: {sandbox: 'off'}", "execution", "sandbox", "off"),
        ("execution: {memory: 16777216}", "execution", "memory", 16777216),
        ("execution: {timeout: '5'}", "execution", "timeout", 5),
        ("execution: {timeout: 0.5}", "execution", "timeout", 0.5),
        ("execution: {timeout: null}", "execution", "timeout", 120),
        ("execution: {warm: 64}", "execution", "warm", 64),
        ("log: {level: Debug}", "log", "level", "debug"),
        ("stats: {enabled: no}", "stats", "enabled", False),
    ],
)
def test_a_value_is_read_as_the_person_meant_it(
    workspace: Workspace, text: str, section: str, key: str, value: Any
) -> None:
    workspace.write_home(text)

    assert getattr(getattr(workspace.load().config, section), key) == value


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        ("execution: {timeout: 0}", "execution.timeout", "greater than 0"),
        ("execution: {timeout: -1}", "execution.timeout", "greater than 0"),
        ("execution: {timeout: .inf}", "execution.timeout", "less than or equal to 2592000"),
        ("execution: {timeout: .nan}", "execution.timeout", "must be"),
        ("execution: {timeout: 5s}", "execution.timeout", "must be a number, not 5s"),
        ("execution: {timeout: true}", "execution.timeout", "must be a number"),
        ("execution: {timeout: [1]}", "execution.timeout", "must be a number"),
        ("execution: {memory: 1k}", "execution.memory", "between 16m and 1t"),
        ("execution: {memory: 2t}", "execution.memory", "between 16m and 1t"),
        ("execution: {memory: lots}", "execution.memory", "must be a size"),
        ("execution: {memory: 1.5}", "execution.memory", "must be a size"),
        ("execution: {memory: true}", "execution.memory", "must be a size"),
        ("execution: {sandbox: loose}", "execution.sandbox", "must be 'strict', 'standard' or 'off', not loose"),
        ("execution: {sandbox: on}", "execution.sandbox", "must be 'strict', 'standard' or 'off'"),
        ("execution: {warm: -1}", "execution.warm", "greater than or equal to 0"),
        ("execution: {warm: 65}", "execution.warm", "less than or equal to 64"),
        ("execution: {warm: 1.5}", "execution.warm", "whole number"),
        ("execution: {readable: /data}", "execution.readable", "must be a list"),
        ("execution: {readable: [5]}", "execution.readable.0", "must be a path"),
        ("execution: {readable: ['']}", "execution.readable.0", "must be the path"),
        ("execution: {readable: ['~no-such-user/x']}", "execution.readable.0", "unknown user"),
        ("execution: 5", "execution", "must be a section with keys"),
        ("workers: {launch: fast}", "workers.launch", "must be 'direct' or 'uv-run'"),
        ("results: {inline_limit: 0}", "results.inline_limit", "greater than or equal to 1"),
        ("stats: {enabled: maybe}", "stats.enabled", "must be true or false"),
        ("security: {pin_tools: [true]}", "security.pin_tools", "must be true or false"),
        ("policy: {deny: shell.*}", "policy.deny", "must be a list"),
        ("policy: {ask: ['a b']}", "policy.ask.0", "pattern"),
        ("policy: {ask: [5]}", "policy.ask.0", "must be text"),
        ("policy: {ask: [{where: {to: x}}]}", "policy.ask.0.tool", "is missing"),
        ("policy: {ask: [{tool: a.*, were: {to: x}}]}", "policy.ask.0.were", "unknown key"),
        ("policy: {ask: [{tool: a.*, where: [to]}]}", "policy.ask.0.where", "must be a section with keys"),
        ("policy: {ask: [{tool: a.*, where: {to: [x]}}]}", "policy.ask.0.where.to", "must be text or a number"),
        ("policy: {ask: [{tool: a.*, where: {to: ''}}]}", "policy.ask.0.where.to", "must be a condition"),
        ("policy: {ask: [{tool: a.*, where: {to: '> much'}}]}", "policy.ask.0.where.to", "must compare with a number"),
        ("policy: {ask: [{tool: a.*, more_than: -1}]}", "policy.ask.0.more_than", "must not be negative"),
        ("policy: {ask: [{tool: a.*, more_than: few}]}", "policy.ask.0.more_than", "must be a number"),
        ("policy: {ask: [{tool: a.*, more_than: 1, per: day}]}", "policy.ask.0.per", "must be 'run' or 'hour'"),
        ("policy: {ask: [{tool: a.*, per: hour}]}", "policy.ask.0.per", "counts nothing without more_than"),
        ("topics: {pattern: x, file: y}", "topics", "must be a list"),
        ("topics: [{pattern: x}]", "topics.0.file", "is missing"),
        ("prompts: {packs: {excel: 5}}", "prompts.packs.excel", "must be text"),
        ("packs: {brave: {timeout: soon}}", "packs.brave.timeout", "must be a number"),
        ("packs: {brave: 5}", "packs.brave", "must be a section"),
        ("log: {level: loud}", "log.level", "must be 'trace', 'debug', 'info', 'warning' or 'error', not loud"),
        ('log: {file: "a\\0b"}', "log.file", "must be the path"),
        ("docs_url: example.com", "docs_url", "http://"),
        ("docs_url: 5", "docs_url", "must be text"),
        ("projects: {a: {attrs: {}}}", "projects.a.path", "is missing"),
        ("projects: {a: [1]}", "projects.a", "must be a section"),
        ("projects: {a: 5}", "projects.a", "must be a section"),
        ("snippets: {s: {description: x}}", "snippets.s.body", "is missing"),
        ("snippets: {s: {body: x, params: {a-b: }}}", "snippets.s.params.a-b", "not a name"),
        ("snippets: {two words: {body: x}}", "snippets.two words", "not a name"),
        ("aliases: {ws: brave.web.search}", "aliases.ws", "pack.tool"),
        ("aliases: {ws: 'brave.web_search()'}", "aliases.ws", "pack.tool"),
        ("aliases: {ws: brave.}", "aliases.ws", "pack.tool"),
        ("aliases: {ws: brave.class}", "aliases.ws", "pack.tool"),
        ("aliases: {ws: brave}", "aliases.ws", '"brave" is neither a tool nor another alias'),
        ("aliases: {a-b: brave.search}", "aliases.a-b", "not a name"),
        ("aliases: {class: brave.search}", "aliases.class", "not a name"),
        ("aliases: [brave.search]", "aliases", "must be a section"),
        ("servers: {g: }", "servers.g", "neither command nor url"),
        ("servers: {g: {command: x, url: 'http://x'}}", "servers.g", "both command and url"),
        ("servers: {g: {command: x, headers: {a: b}}}", "servers.g", "headers belong to a url"),
        ("servers: {g: {url: 'http://x', args: [a]}}", "servers.g", "belong to a command"),
        ("servers: {g: {command: x, oauth: {client_id: me}}}", "servers.g", "oauth belongs to a url"),
        ("servers: {g: {url: 'http://x', oauth: {port: 0}}}", "servers.g.oauth.port", "1"),
        ("servers: {g: {url: 'ftp://x'}}", "servers.g.url", "http://"),
        ("servers: {g: {command: ''}}", "servers.g.command", "must be a name"),
        ("servers: {g: {command: x, env: {PORT: 80}}}", "servers.g.env.PORT", "must be text"),
        ("servers: {g: {command: x, args: [--port, 80]}}", "servers.g.args.1", "must be text"),
        ("servers: {ot: {command: x}}", "servers.ot", "cannot be replaced"),
        ("servers: {proj: {command: x}}", "servers.proj", "cannot be replaced"),
    ],
)
def test_a_wrong_value_is_named_with_its_key(workspace: Workspace, text: str, key: str, words: str) -> None:
    file = workspace.write_home(text)

    error = workspace.mistake()

    assert (error.file, error.key) == (file, key)
    assert words in error.reason


def test_a_bare_alias_target_that_no_alias_has_comes_with_the_nearest_one(workspace: Workspace) -> None:
    workspace.write("aliases: {search: brave.web_search, s: serch}")

    error = workspace.mistake()

    assert error.key == "aliases.s"
    assert "search" in (error.fix or "")


def test_several_mistakes_are_counted(workspace: Workspace) -> None:
    workspace.write("execution: {timeout: 0, warm: 100}\nlog: {level: loud}\n")

    assert "and 2 more" in workspace.mistake().reason
