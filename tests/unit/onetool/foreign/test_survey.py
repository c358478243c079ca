"""The files of every client are read where that client keeps them, and one that is broken harms no other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from onetool.foreign.clients import ForeignServer, Survey, System, survey
from onetool.foreign.taking_out import plan_removals

SERVER = {"command": "server", "args": ["a"], "env": {"LEVEL": "1"}}
OURS = {"command": "server", "args": ["a"], "env": {"LEVEL": "1"}}
OPENCODE = {"type": "local", "command": ["server", "a"], "environment": {"LEVEL": "1"}}
CODEX = '[mcp_servers.s]\ncommand = "server"\nargs = ["a"]\n\n[mcp_servers.s.env]\nLEVEL = "1"\n'


class Machine:
    """A home and a project in a temporary folder."""

    def __init__(self, folder: Path, platform: str = "linux") -> None:
        self.home, self.project = folder / "home", folder / "project"
        self.project.mkdir()
        self.system = System(self.home, {}, platform)

    def write(self, place: str, content: Any) -> None:
        root, _, rest = place.partition("/")
        file = (self.home if root == "~" else self.project) / rest
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content))

    def survey(self, *only: str) -> Survey:
        return survey(self.system, self.project, only=only)

    def found(self) -> ForeignServer:
        [found] = self.survey().found
        return found


GOOSE = """# mine
GOOSE_MODEL: m
extensions:
  s: {name: s, type: stdio, cmd: server, args: [a], envs: {LEVEL: "1"}, enabled: true, timeout: 300}
"""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize(
    ("place", "content", "client"),
    [
        ("./.mcp.json", {"mcpServers": {"s": SERVER}}, "project"),
        ("~/.claude.json", {"mcpServers": {"s": {"type": "stdio", **SERVER}}}, "claude-code"),
        ("~/.config/Claude/claude_desktop_config.json", {"mcpServers": {"s": SERVER}}, "claude-desktop"),
        ("~/.cursor/mcp.json", {"mcpServers": {"s": SERVER}}, "cursor"),
        ("./.cursor/mcp.json", {"mcpServers": {"s": SERVER}}, "cursor"),
        ("./.vscode/mcp.json", {"servers": {"s": SERVER}, "inputs": []}, "vscode"),
        ("~/.config/Code/User/mcp.json", {"servers": {"s": SERVER}}, "vscode"),
        ("~/.config/Code/User/settings.json", {"mcp": {"servers": {"s": SERVER}}}, "vscode"),
        ("~/.codeium/windsurf/mcp_config.json", {"mcpServers": {"s": SERVER}}, "windsurf"),
        ("~/.config/zed/settings.json", {"context_servers": {"s": {"source": "custom", **SERVER}}}, "zed"),
        ("~/.gemini/settings.json", {"mcpServers": {"s": SERVER}}, "gemini"),
        ("./.gemini/settings.json", {"mcpServers": {"s": SERVER}}, "gemini"),
        ("~/.gemini/config/mcp_config.json", {"mcpServers": {"s": SERVER}}, "antigravity"),
        ("./.agents/mcp_config.json", {"mcpServers": {"s": SERVER}}, "antigravity"),
        ("~/.cline/data/settings/cline_mcp_settings.json", {"mcpServers": {"s": SERVER}}, "cline"),
        (
            "~/.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
            {"mcpServers": {"s": SERVER}},
            "cline",
        ),
        ("~/.copilot/mcp-config.json", {"mcpServers": {"s": {"type": "local", "tools": ["*"], **SERVER}}}, "copilot"),
        ("./.github/mcp.json", {"mcpServers": {"s": {"type": "local", **SERVER}}}, "copilot"),
        ("~/.junie/mcp/mcp.json", {"mcpServers": {"s": SERVER}}, "junie"),
        ("./.kiro/settings/mcp.json", {"mcpServers": {"s": SERVER}}, "kiro"),
        ("~/.lmstudio/mcp.json", {"mcpServers": {"s": SERVER}}, "lm-studio"),
        ("~/.config/goose/config.yaml", GOOSE, "goose"),
        ("~/.config/opencode/opencode.json", {"mcp": {"servers": {"s": OPENCODE}}}, "opencode"),
        ("./opencode.jsonc", '// mine\n{"mcp": {"servers": {"s": ' + json.dumps(OPENCODE) + ",},},}", "opencode"),
        ("./opencode.json", {"mcp": {"s": {**OPENCODE, "enabled": True}}}, "opencode"),
        ("~/.codex/config.toml", CODEX, "codex"),
        ("./.codex/config.toml", CODEX, "codex"),
        (
            "~/.config/zed/settings.json",
            {"context_servers": {"s": {"command": {"path": "server", "args": ["a"], "env": {"LEVEL": "1"}}}}},
            "zed",
        ),
        (
            "~/.config/zed/settings.json",
            (
                '// mine\n{"theme": "x", "context_servers": {"s": {"command": "server", "args": ["a"], /* b */\n'
                '"env": {"LEVEL": "1"},},},}'
            ),
            "zed",
        ),
    ],
)
def test_a_server_is_found(machine: Machine, place: str, content: Any, client: str) -> None:
    machine.write(place, content)

    found = machine.found()

    assert (found.name, found.source.client) == ("s", client)
    assert found.entry is not None
    assert found.entry.settings == OURS


@pytest.mark.parametrize(
    ("platform", "place"),
    [
        ("darwin", "~/Library/Application Support/Claude/claude_desktop_config.json"),
        ("darwin", "~/Library/Application Support/Code/User/mcp.json"),
        ("darwin", "~/Library/Application Support/Code - Insiders/User/mcp.json"),
        ("darwin", "~/.config/zed/settings.json"),
        ("darwin", "~/.cursor/mcp.json"),
        ("darwin", "~/.codeium/windsurf/mcp_config.json"),
        ("darwin", "~/claude/.claude.json"),
        ("win32", "~/AppData/Roaming/Claude/claude_desktop_config.json"),
        ("win32", "~/AppData/Roaming/Zed/settings.json"),
    ],
)
def test_each_system_has_its_places(tmp_path: Path, platform: str, place: str) -> None:
    machine = Machine(tmp_path, platform)
    variables = {"XDG_CONFIG_HOME": "/elsewhere", "CLAUDE_CONFIG_DIR": str(machine.home / "claude")}
    machine.system = System(machine.home, variables, platform)
    machine.write(place, {"mcpServers": {"s": SERVER}, "servers": {"s": SERVER}, "context_servers": {"s": SERVER}})

    assert machine.found().name == "s"


def test_claude_code_knows_servers_of_this_project_and_not_of_others(machine: Machine) -> None:
    projects = {str(machine.project): {"mcpServers": {"here": SERVER}}, "/elsewhere": {"mcpServers": {"there": SERVER}}}
    machine.write("~/.claude.json", {"numStartups": 3, "projects": projects, "mcpServers": {"mine": SERVER}})

    assert [found.name for found in machine.survey().found] == ["here", "mine"]


def test_what_the_project_says_comes_first(machine: Machine) -> None:
    machine.write("~/.cursor/mcp.json", {"mcpServers": {"s": SERVER}})
    machine.write("./.mcp.json", {"mcpServers": {"s": SERVER}})

    assert [found.source.client for found in machine.survey().found] == ["project", "cursor"]


def test_one_client_can_be_asked_alone(machine: Machine) -> None:
    machine.write("~/.cursor/mcp.json", {"mcpServers": {"s": SERVER}})
    machine.write("./.mcp.json", {"mcpServers": {"s": SERVER}})

    assert [found.source.client for found in machine.survey("cursor").found] == ["cursor"]


@pytest.mark.parametrize(
    ("entry", "settings"),
    [
        ({"url": "https://example.com/mcp"}, {"url": "https://example.com/mcp"}),
        ({"type": "sse", "url": "http://localhost:1/sse"}, {"url": "http://localhost:1/sse"}),
        ({"serverUrl": "https://a/b", "headers": {"A": "b"}}, {"url": "https://a/b", "headers": {"A": "b"}}),
        ({"command": "s", "disabled": True}, {"command": "s", "enabled": False}),
        ({"command": "s", "enabled": False}, {"command": "s", "enabled": False}),
        ({"command": "s", "args": [1, True], "env": {"A": 2, "B": None}}, {"command": "s", "args": ["1", "true"], "env": {"A": "2"}}),
        ({"command": ["s", "a"]}, {"command": "s", "args": ["a"]}),
        ({"command": "files", "args": ["/work/onetool"]}, {"command": "files", "args": ["/work/onetool"]}),
        ({"command": "s", "disabledTools": ["a", 3, ""]}, {"command": "s", "tools": {"deny": ["a"]}}),
        ({"command": "s", "autoApprove": ["a"], "timeout": 60000}, {"command": "s"}),
    ],
)  # fmt: skip
def test_an_entry_becomes_ours(machine: Machine, entry: Any, settings: Any) -> None:
    machine.write("./.mcp.json", {"mcpServers": {"s": entry}})

    found = machine.found()

    assert found.entry is not None
    assert found.entry.settings == settings


def test_a_folder_is_where_it_was(machine: Machine) -> None:
    machine.write("./.mcp.json", {"mcpServers": {"s": {"command": "~/bin/s", "cwd": "sub/../tools"}}})

    found = machine.found()

    assert found.entry is not None
    assert found.entry.settings == {"command": f"{machine.home}/bin/s", "cwd": f"{machine.project}/tools"}


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("text", "it is not an object"),
        ({}, "it has neither a command nor an address"),
        ({"command": ""}, "it has neither a command nor an address"),
        ({"type": "ws", "url": "wss://a"}, "its transport 'ws' is not one that OneTool speaks"),
        ({"url": "unix:///a"}, "its address does not begin with http:// or https://"),
        ({"source": "extension", "settings": {}}, "an extension of the client starts it, so its command is not written down"),
        ({"command": "/opt/bin/onetool", "args": ["serve"]}, "this is OneTool itself"),
        ({"command": "uvx", "args": ["onetool", "serve"]}, "this is OneTool itself"),
        ({"command": "python", "args": ["-m", "onetool"]}, "this is OneTool itself"),
        ({"command": "/usr/bin/python3", "args": ["/opt/bin/onetool", "serve"]}, "this is OneTool itself"),
        ({"command": "uvx", "args": ["--from", "onetool-run[voice]==0.1", "onetool"]}, "this is OneTool itself"),
        ({"command": "pipx", "args": ["run", "onetool-run"]}, "this is OneTool itself"),
        ({"command": "C:\\bin\\onetool.exe"}, "this is OneTool itself"),
    ],
)  # fmt: skip
def test_what_cannot_be_taken_says_why(machine: Machine, entry: Any, reason: str) -> None:
    machine.write("./.mcp.json", {"mcpServers": {"s": entry}})

    found = machine.found()

    assert (found.entry, found.reason) == (None, reason)


@pytest.mark.parametrize(
    "content",
    ["{", "[]", '{"mcpServers": []}', '{"mcpServers": {"a": }}', "\x00", '{"mcpServers": 3}', "[" * 100_000],
)
def test_a_broken_file_is_one_line_and_the_others_are_read(machine: Machine, content: str) -> None:
    machine.write("./.mcp.json", content)
    machine.write("~/.cursor/mcp.json", {"mcpServers": {"s": SERVER}})

    result = machine.survey()

    assert [found.name for found in result.found] == ["s"]
    assert [error.file for error in result.broken] == [machine.project / ".mcp.json"]


def test_files_that_are_no_text_are_reported(machine: Machine) -> None:
    (machine.project / ".mcp.json").write_bytes(b"\xff\xfe{")
    (machine.project / ".cursor" / "mcp.json").mkdir(parents=True)

    assert [error.reason for error in machine.survey().broken] == ["is not UTF-8 text", "is not a regular file"]


def test_an_empty_file_or_one_about_other_things_has_no_servers(machine: Machine) -> None:
    machine.write("./.mcp.json", "")
    machine.write("~/.config/zed/settings.json", '\ufeff{"theme": "x"}')

    assert machine.survey() == Survey((), (), (machine.project / ".mcp.json",))


def test_codex_writes_every_value_as_it_is_and_names_variables_by_keys_of_their_own(machine: Machine) -> None:
    machine.write(
        "~/.codex/config.toml",
        '[mcp_servers.s]\nurl = "https://example.com/mcp"\nbearer_token_env_var = "TOKEN"\n'
        'http_headers = {A = "${B}"}\nenv_http_headers = {C = "D"}\nenabled_tools = ["x"]\ndisabled_tools = ["y"]\n',
    )

    found = machine.found()

    assert found.entry is not None
    assert found.entry.settings == {
        "url": "https://example.com/mcp",
        "headers": {"A": "$${B}", "C": "${D}", "Authorization": "Bearer ${TOKEN}"},
        "tools": {"allow": ["x"], "deny": ["y"]},
    }
    assert set(found.wanted or {}) == {"D", "TOKEN"}


def test_opencode_writes_variables_in_braces_of_its_own(machine: Machine) -> None:
    server = {"type": "remote", "url": "https://mcp.example", "headers": {"A": "{env:KEY} ${B}", "C": "{file:~/key}"}}
    machine.write("~/.config/opencode/opencode.json", {"mcp": {"servers": {"s": server}, "timeout": 5}})

    found = machine.found()

    assert found.entry is not None
    assert found.entry.settings["headers"] == {"A": "${KEY} $${B}", "C": "{file:~/key}"}
    assert found.wanted == {"KEY": ""}
    assert found.unknown == ("{file:~/key}",)


def test_gemini_writes_variables_without_braces_too(machine: Machine) -> None:
    machine.write(
        "~/.gemini/settings.json",
        {"mcpServers": {"s": {"command": "s", "env": {"A": "$B", "C": "${D}"}, "excludeTools": ["z"], "trust": True}}},
    )

    found = machine.found()

    assert found.entry is not None
    assert found.entry.settings == {"command": "s", "env": {"A": "${B}", "C": "${D}"}, "tools": {"deny": ["z"]}}


def test_codex_is_looked_for_where_it_was_told_to_be(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "config.toml").write_text(CODEX)

    found = survey(System(tmp_path, {"CODEX_HOME": str(tmp_path / "elsewhere")}), tmp_path).found

    assert [each.name for each in found] == ["s"]


def test_goose_has_extensions_that_are_no_servers_and_secrets_that_it_keeps(machine: Machine) -> None:
    text = """extensions:
  developer: {type: builtin, name: developer, enabled: true}
  far: {type: streamable_http, uri: "https://x.example/mcp", headers: {A: "$B"}, enabled: false}
  near: {type: stdio, cmd: x, env_keys: [TOKEN]}
  ours: {type: stdio, cmd: onetool, args: [serve]}
"""
    machine.write("~/.config/goose/config.yaml", text)

    found = {each.name: each for each in machine.survey().found}

    assert "it is a part of its client" in found["developer"].reason
    assert found["far"].entry is not None
    assert found["far"].entry.settings == {"url": "https://x.example/mcp", "headers": {"A": "$B"}, "enabled": False}
    assert found["near"].wanted == {"TOKEN": ""}
    assert "OneTool itself" in found["ours"].reason


@pytest.mark.parametrize("text", ["- a", "a: [", "a: *b", "extensions: [a]"])
def test_a_broken_file_of_goose_harms_no_other(machine: Machine, text: str) -> None:
    machine.write("~/.config/goose/config.yaml", text)
    machine.write("~/.cursor/mcp.json", {"mcpServers": {"s": SERVER}})

    survey = machine.survey()

    assert ([each.name for each in survey.found], len(survey.broken)) == (["s"], 1)


def test_plugins_of_claude_code_that_are_switched_on_have_servers(machine: Machine) -> None:
    server = {"command": "${CLAUDE_PLUGIN_ROOT}/run", "args": ["${CLAUDE_PLUGIN_ROOT}"], "env": {"B": "${OTHER:-c}"}}
    roots = {name: machine.home / "cache" / name for name in ("on", "inline", "off", "gone")}
    machine.write("~/cache/on/.mcp.json", {"s": server})
    machine.write("~/cache/inline/.claude-plugin/plugin.json", {"name": "p", "mcpServers": {"t": SERVER}})
    machine.write("~/cache/off/.mcp.json", {"mcpServers": {"u": SERVER}})
    plugins = {f"{name}@m": [{"scope": "user", "installPath": str(root)}] for name, root in roots.items()}
    machine.write("~/.claude/plugins/installed_plugins.json", {"version": 2, "plugins": plugins})
    machine.write("~/.claude/settings.json", {"enabledPlugins": {"on@m": True, "inline@m": True, "off@m": True}})
    machine.write("./.claude/settings.json", {"enabledPlugins": {"off@m": False}})

    found = {each.name: each for each in machine.survey().found}

    root = str(roots["on"])
    assert found.keys() == {"s", "t"}
    assert found["s"].entry is not None
    assert found["s"].entry.settings == {"command": f"{root}/run", "args": [root], "env": {"B": "c"}}
    assert {each.source.client for each in found.values()} == {"claude-code"}
    assert [*plan_removals(found.values())] == []
