"""Connections to clients whose files hold what nobody expected there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcp_core.json_types import Json
from onetool.foreign.clients import CLIENTS, System, connection_entry, connection_file, survey
from onetool.foreign.connecting import plan_connection, show_difference, survey_connections


@pytest.mark.parametrize(
    ("entry", "command"),
    [
        ({"command": "onetool", "args": 5}, "onetool"),
        ({"command": "onetool", "args": "serve"}, "onetool"),
        ({"command": ["onetool", "serve"]}, "onetool serve"),
        ({"command": {"path": "onetool", "args": ["serve", None]}}, "onetool serve None"),
    ],
)
def test_a_command_is_shown_in_whatever_way_it_is_written(tmp_path: Path, entry: Json, command: str) -> None:
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": {"own": entry}}))

    states = {state.client: state for state in survey_connections(System(tmp_path, {}))}

    assert states["cursor"].command == command


@pytest.mark.parametrize("client", sorted(set(CLIENTS) - {"project", "codex"}))
def test_what_is_written_for_a_client_is_known_again(tmp_path: Path, client: str) -> None:
    system = System(tmp_path, {})
    place = connection_file(client, system, None)
    assert place is not None
    document: Json = {"onetool": connection_entry(client, "onetool", ["serve"])}
    for key in reversed(place.keys):
        document = {key: document}
    place.file.parent.mkdir(parents=True, exist_ok=True)
    place.file.write_text(json.dumps(document))

    [state] = [state for state in survey_connections(system) if state.client == client]
    [found] = survey(system, tmp_path / "project").found

    assert (state.command, state.problem) == ("onetool serve", "")
    assert found.reason == "this is OneTool itself"


@pytest.mark.parametrize("written", ['"letmein1"', "'letmein1'", "'it says \"letmein1\"'"])
def test_no_secret_near_a_change_is_shown(tmp_path: Path, written: str) -> None:
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "config.toml").write_text(f"[mcp_servers.own.env]\nAPI_TOKEN = {written}\n")

    shown = "\n".join(show_difference(plan_connection("codex", System(tmp_path, {}), project=None, arguments=[])))

    assert "API_TOKEN" in shown
    assert "***" in shown
    assert "letmein1" not in shown
