"""`onetool import` as a person uses it: what it shows, what it writes, and what it leaves alone."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ot.config.loader import load_config
from tests.e2e.raw_server import environment_of
from tests.models.terminal import in_terminal
from tests.preloaded import preloaded_command, run_preloaded
from tests.proxied import program
from tests.trusting import trust_project

Finished = subprocess.CompletedProcess[str]


class Place:
    """A project and a home of their own, and `onetool` in the project."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "project"
        self.home.mkdir()
        (self.project / ".onetool").mkdir(parents=True)
        self.config = self.project / ".onetool" / "onetool.yaml"
        self.secrets = self.project / ".onetool" / "secrets.yaml"

    def run(self, *arguments: str, **variables: str) -> Finished:
        """What a person gets who says yes to every question about servers, which are not started."""
        yes = () if "--connect" in arguments else ("--yes", "--offline")
        return self.run_unsure(*yes, *arguments, **variables)

    def run_unsure(self, *arguments: str, **variables: str) -> Finished:
        """What a person gets who cannot be asked."""
        return run_preloaded("import", *arguments, cwd=self.project, env=environment_of(self.home) | variables)

    def write_config(self, text: str) -> None:
        """A configuration of the project that the person has trusted."""
        self.config.write_text(text)
        trust_project(self.project, self.home)

    def write(self, file: Path, content: Any) -> Path:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content))
        return file

    def known_servers(self) -> dict[str, Any]:
        return dict(load_config(environ={}, cwd=self.project, home=self.home).config.servers)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


TOKEN = "ghp_abcdefghijklmnop1234"
GITHUB = {"command": "npx", "args": ["-y", "server-github"], "env": {"GITHUB_TOKEN": TOKEN, "LEVEL": "info"}}
DOCS = {"type": "http", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer abcdefgh"}}


FAILING = {"command": sys.executable, "args": ["-S", "-c", "1 / 0"]}


def servers(**entries: Any) -> dict[str, Any]:
    return {"mcpServers": entries}


def test_servers_are_taken_over_and_their_secrets_are_not_in_clear(place: Place) -> None:
    place.write(place.project / ".mcp.json", servers(github=GITHUB, docs=DOCS, onetool={"command": "onetool"}))

    finished = place.run()

    assert (finished.returncode, finished.stderr) == (0, "")
    known = place.known_servers()
    assert set(known) == {"github", "docs"}
    assert known["github"].env == {"GITHUB_TOKEN": TOKEN, "LEVEL": "info"}
    assert known["docs"].headers == {"Authorization": "Bearer abcdefgh"}
    assert TOKEN not in place.config.read_text() + finished.stdout
    assert "abcdefgh" not in place.config.read_text() + finished.stdout
    assert stat.S_IMODE(place.secrets.stat().st_mode) == 0o600
    assert "secrets.yaml*" in (place.project / ".onetool" / ".gitignore").read_text().splitlines()
    assert "onetool: left out: this is OneTool itself" in finished.stdout


def test_nothing_of_the_file_is_lost(place: Place) -> None:
    before = "# mine\nservers:\n  own: {command: x}  # keep\n\n# about the log\nlog: {level: info}\n"
    place.write_config(before)
    place.write(place.project / ".mcp.json", servers(docs={"url": "https://example.com/mcp"}))

    finished = place.run()

    assert finished.returncode == 0
    added = '  docs:\n    url: "https://example.com/mcp"\n'
    assert place.config.read_text().replace(added, "") == before
    [backup] = place.config.parent.glob("onetool.yaml.*.bak")
    assert backup.read_text() == before
    assert backup.name in finished.stdout


def test_doing_it_again_changes_nothing(place: Place) -> None:
    place.write(place.project / ".mcp.json", servers(github=GITHUB))
    place.run()
    before = place.config.read_text(), place.secrets.read_text()

    finished = place.run()

    assert finished.returncode == 0
    assert "github: already in" in finished.stdout
    assert (place.config.read_text(), place.secrets.read_text()) == before


def test_what_is_there_already_is_kept(place: Place) -> None:
    place.write_config("servers: {github: {command: mine}}\n")
    place.write(place.project / ".mcp.json", servers(github=GITHUB))

    finished = place.run()

    assert "github: kept: another of this name is in" in finished.stdout
    assert place.config.read_text() == "servers: {github: {command: mine}}\n"
    assert not place.secrets.exists()


def test_of_two_servers_of_one_name_the_projects_is_taken(place: Place) -> None:
    place.write(place.project / ".mcp.json", servers(s={"command": "near"}))
    place.write(place.home / ".cursor" / "mcp.json", servers(s={"command": "far"}))
    place.write(place.home / ".codeium" / "windsurf" / "mcp_config.json", servers(s={"command": "near"}))

    finished = place.run()

    assert place.known_servers()["s"].command == "near"
    assert "s: left out: another of this name is in" in finished.stdout
    assert "s: the same as in" in finished.stdout


def test_a_dry_run_shows_the_change_and_writes_nothing(place: Place) -> None:
    place.write(place.project / ".mcp.json", servers(github=GITHUB))

    finished = place.run("--dry-run")

    assert finished.returncode == 0
    assert "+  github:" in finished.stdout
    assert "would put GITHUB_TOKEN into" in finished.stdout
    assert TOKEN not in finished.stdout
    assert not place.config.exists()
    assert not place.secrets.exists()


def test_for_all_projects_it_is_written_at_home(place: Place) -> None:
    place.write(place.project / ".mcp.json", servers(s={"command": "./server"}))

    finished = place.run("--global")

    assert finished.returncode == 0
    assert not place.config.exists()
    assert (place.home / ".onetool" / "onetool.yaml").exists()
    assert place.known_servers()["s"].cwd == place.project


def test_a_server_of_the_persons_own_file_is_not_repeated(place: Place) -> None:
    place.write(place.home / ".onetool" / "onetool.yaml", "servers: {s: {command: x}}")
    place.write(place.project / ".mcp.json", servers(s={"command": "x"}))

    finished = place.run()

    assert "s: already in" in finished.stdout
    assert not place.config.exists()


def test_single_servers_and_clients_can_be_chosen(place: Place) -> None:
    place.write(place.project / ".mcp.json", servers(a={"command": "a"}, b={"command": "b"}))
    place.write(place.home / ".cursor" / "mcp.json", servers(c={"command": "c"}))

    assert place.run("b").returncode == 0
    assert place.run("--from", "cursor").returncode == 0

    assert set(place.known_servers()) == {"b", "c"}


def test_a_name_that_nobody_knows_is_a_failure(place: Place) -> None:
    finished = place.run("nobody")

    assert finished.returncode == 1
    assert "no client has a server 'nobody'" in finished.stderr


def test_a_broken_file_is_one_line_and_the_others_are_taken(place: Place) -> None:
    place.write(place.home / ".cursor" / "mcp.json", '{"mcpServers": {')
    place.write(place.project / ".mcp.json", servers(s={"command": "s"}))

    finished = place.run()

    assert finished.returncode == 1
    assert len(finished.stderr.splitlines()) == 1
    assert "is not valid JSON: it ends too early (line 1)" in finished.stderr
    assert set(place.known_servers()) == {"s"}


def test_a_configuration_of_ours_that_is_broken_is_left_alone(place: Place) -> None:
    place.config.write_text("servers: [\n")
    place.write(place.project / ".mcp.json", servers(s={"command": "s"}))

    finished = place.run()

    assert finished.returncode == 2
    assert len(finished.stderr.splitlines()) == 1
    assert place.config.read_text() == "servers: [\n"


def test_what_would_break_our_configuration_is_left_out(place: Place) -> None:
    entries = {"bad\ncommand": {"command": "a\nb"}, "a\x00\nname": {"command": "s"}, "ot": {"command": "s"}}
    place.write(place.project / ".mcp.json", servers(**entries))

    finished = place.run()

    assert finished.returncode == 0
    assert "bad command: left out: command: must be a name" in finished.stdout
    assert set(place.known_servers()) == {"a name", "ot_server"}


def test_what_a_file_holds_cannot_move_the_cursor(place: Place) -> None:
    place.write(place.project / ".mcp.json", servers(s={"command": "s", "args": ["\x1b[2J"]}))

    assert "\x1b" not in place.run("--dry-run").stdout + place.run().stdout


def test_where_there_is_nothing_it_says_so(place: Place) -> None:
    finished = place.run()

    assert (finished.returncode, finished.stdout) == (0, "No servers were found.\n")


def test_what_a_client_asks_a_person_for_is_asked_for_here_too(place: Place) -> None:
    content = """{
      // VS Code asks
      "inputs": [{"type": "promptString", "id": "token", "description": "The token of GitHub", "password": true}],
      "servers": {"github": {"command": "npx", "env": {"GITHUB_TOKEN": "${input:token}"}}},
    }"""
    place.write(place.project / ".vscode" / "mcp.json", content)

    finished = place.run()

    assert finished.returncode == 0
    assert not place.known_servers()["github"].enabled
    assert place.secrets.read_text() == 'GITHUB_TOKEN: ""\n'
    assert "Set GITHUB_TOKEN in .onetool/secrets.yaml (for github: The token of GitHub)" in finished.stdout


def test_a_reference_to_a_variable_that_is_set_stays_one(place: Place) -> None:
    place.write(place.home / ".cursor" / "mcp.json", servers(s={"command": "s", "env": {"A": "${env:A_TOKEN}"}}))

    finished = place.run(A_TOKEN="abcdefgh1234")

    assert finished.returncode == 0
    assert 'env: {A: "${A_TOKEN}"}' in place.config.read_text()
    assert not place.secrets.exists()


def test_a_link_to_a_configuration_stays_a_link(place: Place) -> None:
    real = place.write(place.home / "dotfiles" / "onetool.yaml", "log: {level: info}\n")
    own = place.home / ".onetool" / "onetool.yaml"
    own.parent.mkdir()
    own.symlink_to(real)
    place.write(place.project / ".mcp.json", servers(s={"command": "s"}))

    assert place.run("--global").returncode == 0

    assert own.is_symlink()
    assert "servers:" in real.read_text()


# trust


def test_servers_that_come_with_the_project_are_left_out_where_nobody_can_be_asked(place: Place) -> None:
    place.write(place.project / ".mcp.json", servers(theirs={"command": "theirs"}))
    place.write(place.home / ".cursor" / "mcp.json", servers(mine={"command": "mine"}))

    finished = place.run_unsure("--offline")

    assert finished.returncode == 1
    assert "theirs: not imported, because they come with the project" in finished.stderr
    assert set(place.known_servers()) == {"mine"}


def test_nothing_is_written_beside_files_that_nobody_has_trusted(place: Place) -> None:
    place.write(place.project / ".onetool" / "tools" / "evil.py", "def f(): ...\n")
    place.write(place.home / ".cursor" / "mcp.json", servers(mine={"command": "mine"}))

    finished = place.run()

    assert finished.returncode == 2
    assert f"onetool trust {place.project}" in finished.stderr
    assert not place.config.exists()
    assert place.known_servers() == {}


# --take-out: the way back is shown in test_five_minutes


def test_only_what_works_and_is_provided_to_the_last_secret_is_taken_out(place: Place) -> None:
    working = {**program("plain_server"), "env": {"API_TOKEN": "ghp_abcdefghijklmnop1234"}}
    file = place.write(place.home / ".cursor" / "mcp.json", servers(works=working, fails=FAILING, other=working))
    place.write(place.home / ".onetool" / "onetool.yaml", "servers: {other: {command: mine}}\n")

    finished = place.run_unsure("--global", "--take-out")

    assert finished.returncode == 1
    assert "works: removed from" in finished.stdout
    assert set(json.loads(file.read_text())["mcpServers"]) == {"fails", "other"}
    assert place.run_unsure("--undo").returncode == 0
    renewed = {**working, "env": {"API_TOKEN": "ghp_zyxwvutsrqponmlk9876"}}
    place.write(file, servers(works=renewed))
    place.run_unsure("--global", "--take-out", "--offline")
    assert json.loads(file.read_text()) == servers(works=renewed)


def test_what_a_client_has_in_all_projects_is_not_taken_out_for_one(place: Place) -> None:
    file = place.write(place.home / ".cursor" / "mcp.json", servers(mine={"command": "mine"}))
    shared = place.write(place.project / ".mcp.json", servers(theirs={"command": "theirs"}))

    finished = place.run("--take-out")

    assert "mine: left in the client, which uses them in all projects" in finished.stdout
    assert json.loads(file.read_text()) == servers(mine={"command": "mine"})
    assert json.loads(shared.read_text()) == servers()


@pytest.mark.parametrize("answer", ["y", "n"])
def test_a_person_is_asked_before_servers_are_taken_out(place: Place, answer: str) -> None:
    entries = servers(plain=program("plain_server"))
    file = place.write(place.home / ".cursor" / "mcp.json", entries)
    command = preloaded_command("onetool", "import", "--global")

    with in_terminal(command, cwd=place.project, env=environment_of(place.home)) as terminal:
        terminal.wait_for(lambda text: "Remove them from ~/.cursor/mcp.json? [y/N]" in text)
        terminal.type(f"{answer}\n")
        status = terminal.wait_for_exit()

    assert status == 0
    assert json.loads(file.read_text()) == (servers() if answer == "y" else entries)
    assert ("OneTool is not connected there yet" in terminal.screen.text) == (answer == "y")


# --connect


def test_onetool_is_written_into_the_projects_file_once(place: Place) -> None:
    first = place.run("--connect", "project", "--yes")
    written = (place.project / ".mcp.json").read_text()
    second = place.run("--connect", "project", "--yes")

    assert (first.returncode, second.returncode) == (0, 0)
    assert json.loads(written)["mcpServers"]["onetool"]["args"][-1] == "serve"
    assert (place.project / ".mcp.json").read_text() == written
    assert "already" in second.stdout


def test_comments_and_foreign_keys_stay_to_the_letter(place: Place) -> None:
    before = (
        '// mine\n{\n\t"theme": "dark", // of course\n\t"context_servers": {\n\t\t"a": {"command": "x"},\n\t},\n}\n'
    )
    file = place.write(place.home / ".config" / "zed" / "settings.json", before)

    finished = place.run("--connect", "zed", "--yes")

    assert finished.returncode == 0
    after = file.read_text()
    start = after.index('\n\t\t"onetool"')
    end = after.index("\n\t\t},\n", start) + len("\n\t\t},")
    assert after[:start] + after[end:] == before
    [backup] = file.parent.glob("settings.json.*.bak")
    assert backup.read_text() == before


@pytest.mark.parametrize("flag", [["--dry-run"], ["--dry-run", "--yes"], []])
def test_nothing_is_written_that_was_only_shown(place: Place, flag: list[str]) -> None:
    file = place.write(place.home / ".cursor" / "mcp.json", servers(github=GITHUB))
    before = file.read_text()

    finished = place.run("--connect", "cursor", *flag)

    assert finished.returncode == (0 if flag else 1)
    assert '"onetool"' in finished.stdout
    assert TOKEN not in finished.stdout
    assert file.read_text() == before


@pytest.mark.parametrize(("answer", "written"), [("y\n", True), ("\n", False), ("no\n", False)])
def test_a_person_at_a_terminal_is_asked(place: Place, answer: str, written: bool) -> None:  # noqa: FBT001
    command = preloaded_command("onetool", "import", "--connect", "cursor")

    with in_terminal(command, cwd=place.project, env=environment_of(place.home)) as terminal:
        terminal.wait_for(lambda text: "Write this to ~/.cursor/mcp.json? [y/N]" in text)
        terminal.type(answer)
        status = terminal.wait_for_exit()

    assert status == (0 if written else 1)
    assert (place.home / ".cursor" / "mcp.json").exists() == written


def test_a_broken_file_of_a_client_is_left_alone(place: Place) -> None:
    file = place.write(place.home / ".cursor" / "mcp.json", '{"mcpServers": ')

    finished = place.run("--connect", "cursor", "--yes")

    assert finished.returncode == 2
    assert len(finished.stderr.splitlines()) == 1
    assert file.read_text() == '{"mcpServers": '


def test_an_entry_that_somebody_wrote_is_left_alone_unless_its_program_is_gone(place: Place) -> None:
    file = place.write(place.home / ".cursor" / "mcp.json", servers(mine={"command": "onetool", "env": {"A": "b"}}))

    assert "already" in place.run("--connect", "cursor", "--yes").stdout

    place.write(file, servers(onetool={"command": "/nowhere/onetool", "args": ["serve"]}))
    assert place.run("--connect", "cursor", "--yes").returncode == 0
    assert Path(json.loads(file.read_text())["mcpServers"]["onetool"]["command"]).exists()


def test_a_client_without_project_files_says_so(place: Place) -> None:
    finished = place.run("--connect", "windsurf", "--project", "--yes")

    assert finished.returncode == 2
    assert "Windsurf has no configuration for a single project" in finished.stderr


def test_a_client_that_we_do_not_know_is_a_mistake_of_usage(place: Place) -> None:
    assert place.run("--connect", "emacs").returncode == 2
