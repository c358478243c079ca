"""Servers are taken out of a client's file and put back, whatever became of the file meanwhile."""

from __future__ import annotations

import itertools
import json
import stat
from pathlib import Path

import pytest

from mcp_core.json_types import mapping_of
from onetool.foreign.clients import System, survey
from onetool.foreign.connecting import plan_connection, plan_removal
from onetool.foreign.taking_out import RECORD_FILE, Removal, Restored, plan_removals, put_back, take_out
from onetool.foreign.text_files import read_client_document, read_text_file
from ot.errors import ConfigError

BEFORE = """{
  "theme": "dark", // of course
  "mcpServers": {
    // the first
    "a": {"command": "a", "env": {"TOKEN": "ghp_abcdefghijklmnop1234"}},
    "b": {"command": "b"} // stays
  }
}
"""
WITHOUT = """{
  "theme": "dark", // of course
  "mcpServers": {
    // the first
    "b": {"command": "b"} // stays
  }
}
"""


class Home:
    """A home with Cursor in it."""

    def __init__(self, folder: Path) -> None:
        self.system, self.state = System(folder, {}), folder / "state"
        self.file = folder / ".cursor" / "mcp.json"
        self.file.parent.mkdir()
        self.file.write_text(BEFORE)

    def take_out(self, *names: str) -> Path | None:
        found = survey(self.system, self.system.home / "project").found
        [removal] = plan_removals([each for each in found if each.name in names])
        assert isinstance(removal, Removal)
        return take_out(removal, self.state)

    def put_back(self) -> list[Restored | ConfigError]:
        return list(put_back(self.state))

    @property
    def servers(self) -> dict[str, object]:
        return dict(
            json.loads("\n".join(line.partition("//")[0] for line in self.file.read_text().splitlines()))["mcpServers"]
        )


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_a_server_is_taken_out_with_a_copy_and_put_back_to_the_letter(home: Home) -> None:
    backup = home.take_out("a")

    assert home.file.read_text() == WITHOUT
    assert backup is not None
    assert backup.read_text() == BEFORE
    assert stat.S_IMODE((home.state / RECORD_FILE).stat().st_mode) == 0o600

    [restored] = home.put_back()

    assert isinstance(restored, Restored)
    assert restored.exact
    assert home.file.read_text() == BEFORE
    assert home.put_back() == []
    assert home.file.read_text() == BEFORE


def test_what_was_taken_out_at_two_times_is_put_back_at_once(home: Home) -> None:
    home.take_out("a")
    home.take_out("b")
    assert home.servers == {}

    assert [isinstance(each, Restored) and each.exact for each in home.put_back()] == [True, True]

    assert home.file.read_text() == BEFORE


def test_onetool_that_came_meanwhile_stays_and_goes_to_the_letter(home: Home) -> None:
    home.take_out("a")
    plan_connection("cursor", home.system, project=None, arguments=[]).write()

    [restored] = home.put_back()

    assert isinstance(restored, Restored)
    assert restored.exact
    assert set(home.servers) == {"a", "b", "onetool"}
    plan_removal("cursor", home.system, project=None).write()
    assert home.file.read_text() == BEFORE


def test_what_others_changed_meanwhile_stays(home: Home) -> None:
    home.take_out("a", "b")
    home.file.write_text('{"theme": "light", "mcpServers": {"b": {"command": "other"}, "c": {"command": "c"}}}')

    [restored] = home.put_back()

    assert isinstance(restored, Restored)
    assert (restored.exact, restored.kept) == (False, ("b",))
    assert home.servers["a"] == {"command": "a", "env": {"TOKEN": "ghp_abcdefghijklmnop1234"}}
    assert home.servers["b"] == {"command": "other"}
    assert "light" in home.file.read_text()


def test_nothing_is_lost_with_the_copy_and_the_file(home: Home) -> None:
    backup = home.take_out("a")
    assert backup is not None
    backup.unlink()
    home.file.unlink()

    home.put_back()

    assert set(home.servers) == {"a"}


def test_a_file_that_cannot_be_read_is_tried_again_the_next_time(home: Home) -> None:
    home.take_out("a")
    home.file.write_text("{")

    [error] = home.put_back()
    home.file.write_text(WITHOUT)
    home.put_back()

    assert isinstance(error, ConfigError)
    assert home.file.read_text() == BEFORE


def test_a_file_that_another_program_changes_at_that_moment_is_left_alone(home: Home) -> None:
    [removal] = plan_removals([each for each in survey(home.system, home.system.home).found if each.name == "a"])
    assert isinstance(removal, Removal)
    home.file.write_text("{}")

    with pytest.raises(ConfigError, match="was changed by another program in the meantime"):
        take_out(removal, home.state)

    assert home.file.read_text() == "{}"
    assert home.put_back() == []


def test_an_entry_that_is_not_as_it_was_imported_stays(home: Home) -> None:
    found = [each for each in survey(home.system, home.system.home).found if each.name == "a"]
    home.file.write_text(BEFORE.replace("1234", "9876"))

    [error] = plan_removals(found)

    assert isinstance(error, ConfigError)
    assert "was changed by another program in the meantime" in error.reason


@pytest.mark.parametrize("content", [b"\xff\xfe", b"{", b"[]", b'{"mcpServers": {"a": 1}}'])
def test_a_copy_that_somebody_spoilt_is_not_needed(home: Home, content: bytes) -> None:
    backup = home.take_out("a")
    assert backup is not None
    backup.write_bytes(content)

    [restored] = home.put_back()

    assert isinstance(restored, Restored)
    assert not restored.exact
    assert home.servers["a"] == {"command": "a", "env": {"TOKEN": "ghp_abcdefghijklmnop1234"}}


@pytest.mark.parametrize("entries", [[], [{"path": [], "value": {}}]])
def test_a_record_that_names_no_entry_is_a_mistake(home: Home, entries: list[object]) -> None:
    home.state.mkdir()
    taken = {"client": "cursor", "file": str(home.file), "backup": None, "entries": entries}
    (home.state / RECORD_FILE).write_text(json.dumps([taken]))

    with pytest.raises(ConfigError, match="cannot be understood"):
        home.put_back()


ONLY = '{\n  "mcpServers": {\n    "a": {"command": "a", "env": {"TOKEN": "ghp_abcdefghijklmnop1234"}}\n  }\n}\n'
TOML = '# mine\n[mcp_servers.a]\ncommand = "a"  # first\n\n[mcp_servers.b]\ncommand = "b"\n'


@pytest.mark.parametrize(
    ("client", "name", "before"),
    [
        pytest.param("cursor", ".cursor/mcp.json", BEFORE, id="among others"),
        pytest.param("cursor", ".cursor/mcp.json", ONLY, id="the only one", marks=pytest.mark.long),
        pytest.param(
            "cursor", ".cursor/mcp.json", json.dumps(json.loads(ONLY)), id="in one line", marks=pytest.mark.long
        ),
        pytest.param("codex", ".codex/config.toml", TOML, id="TOML"),
    ],
)
def test_adding_removing_taking_out_and_undoing_in_any_order_ends_where_it_should(
    tmp_path: Path, client: str, name: str, before: str
) -> None:
    """Every order of four steps, from the same file; what the file holds follows from the steps alone."""
    wrong: list[str] = []
    for number, steps in enumerate(itertools.product(("add", "remove", "take", "undo"), repeat=4)):
        if any(step == after for step, after in itertools.pairwise(steps)) or steps[0] in ("remove", "undo"):
            continue
        home = tmp_path / str(number)
        file, system, state = home / name, System(home, {}), home / "state"
        file.parent.mkdir(parents=True)
        file.write_text(before)
        file.chmod(0o600)
        connected, taken = False, False
        for step in steps:
            if step == "add":
                plan_connection(client, system, project=None, arguments=[]).write()
                connected = True
            elif step == "remove":
                if (removal := plan_removal(client, system, project=None)).changes:
                    removal.write()
                connected = False
            elif step == "take":
                found = [each for each in survey(system, home / "project").found if each.name == "a"]
                for each in plan_removals(found):
                    assert isinstance(each, Removal)
                    take_out(each, state)
                taken = True
            else:
                assert all(isinstance(each, Restored) for each in put_back(state))
                taken = False
            there = read_client_document(read_text_file(file)) if file.exists() else {}
            servers = mapping_of(there.get("mcp_servers" if client == "codex" else "mcpServers"))
            right = ("onetool" in servers) is connected and ("a" in servers) is not taken
            right &= not file.exists() or stat.S_IMODE(file.stat().st_mode) == 0o600
            right &= connected or taken or file.read_text() == before
            if not right:
                wrong.append(" ".join(steps))
                break

    assert wrong == []
