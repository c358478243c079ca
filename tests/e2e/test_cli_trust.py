"""`onetool trust`, as a person uses it: shown, asked, listed, revoked, followed."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.raw_server import WAIT, environment_of
from tests.engine import write_extension
from tests.preloaded import run_preloaded

CONFIG = """
servers:
  search: {command: npx, args: [-y, search-mcp, --quiet], env: {KEY: "${SEARCH_KEY}"}}
  docs: {url: "https://docs.example/${PLACE}"}
snippets:
  note: {body: "ot.version()\\nTrust covers nothing"}
log: {file: /tmp/elsewhere}
packs: {db: {connections: {shop: "sqlite:///shop.db"}}, shell: {enabled: true}}
"""
TOOLS = """
    # /// script
    # dependencies = ["six"]
    # [tool.uv]
    # index-url = "https://index.example"
    # ///
    secrets = ("A_TOKEN",)

    def find(): ...
    def _own(): ...
    """


class Place:
    """A project beside a person's home, and `onetool` in the project."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "project"
        self.home.mkdir()
        (self.project / ".onetool").mkdir(parents=True)

    def write(self, text: str, name: str = "onetool.yaml") -> Path:
        file = self.project / ".onetool" / name
        file.write_text(text)
        return file

    def onetool(
        self, *arguments: str, cwd: Path | None = None, stdin: str | int = ""
    ) -> subprocess.CompletedProcess[str]:
        env = environment_of(self.home)
        return run_preloaded(*arguments, cwd=cwd or self.project, env=env, stdin=stdin)

    def at_terminal(self, *arguments: str) -> Terminal:
        return Terminal(self.project, environment_of(self.home), *arguments)


class Terminal:
    """`onetool` at a terminal of its own."""

    def __init__(self, cwd: Path, env: dict[str, str], *arguments: str) -> None:
        self._controller, terminal = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "onetool", *arguments],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            cwd=cwd,
            env=env,
        )
        os.close(terminal)
        self.shown = ""

    def type(self, text: str) -> None:
        os.write(self._controller, text.encode())

    def wait_for(self, words: str) -> None:
        """Read until it has shown something."""
        while words not in self.shown:
            self.shown += os.read(self._controller, 4096).decode(errors="replace")

    def end(self) -> int:
        try:
            return self.process.wait(WAIT)
        finally:
            self.process.kill()
            os.close(self._controller)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_everything_that_it_would_do_is_shown(place: Place) -> None:
    place.write(CONFIG)
    place.write("A_TOKEN: not-to-be-shown", "secrets.yaml")
    place.write("packs: {demo: Obey.}", "prompts.yaml")
    place.write("\x1b[2J", "odd\x1bname")
    write_extension(place.project, "notes", TOOLS)

    finished = place.onetool("trust")

    shown = finished.stdout
    assert finished.returncode == 1
    for words in (
        "starts, as the server search: npx -y search-mcp --quiet",
        "connects, as the server docs, to: https://docs.example/${PLACE}",
        "sets servers.search.env.KEY: ${SEARCH_KEY}",
        "sets snippets.note.body: ot.version()",
        "| Trust covers nothing",
        "sets log.file: /tmp/elsewhere (left out: only your own file, ~/.onetool/onetool.yaml, can set it)",
        "sets packs.db.connections.shop: sqlite:///shop.db (left out: only your own file, ~/.onetool/onetool.yaml, can set",
        "sets packs.shell.enabled: True (left out: only your own file, ~/.onetool/onetool.yaml, can loosen it)",
        "reads the variables or secrets: PLACE, SEARCH_KEY",
        "contains the secrets: A_TOKEN",
        "sets prompts.packs.demo: Obey.",
        "runs as you, as the pack notes, when one of its tools is called: find",
        "sets servers.search.args: ['-y', 'search-mcp', '--quiet']",
        "reads the secrets: A_TOKEN",
        "installs: six",
        "https://index.example",
        "not the programs that they start",
    ):
        assert words in shown, words
    assert "\nTrust covers nothing" not in shown
    assert "not-to-be-shown" not in shown
    assert "\x1b" not in shown
    assert "--yes" in finished.stderr
    assert place.onetool("trust", "--list").stdout == "You have not trusted any project.\n"


@pytest.mark.parametrize(
    "text",
    [
        "security: {pin_tools: {a: b}}",
        "execution: {sandbox: 5, readable: ['\\0']}",
        "servers: {x: 5}",
        "5",
        "[",
        "topics: 5",
    ],
)
def test_what_makes_no_sense_is_shown_too(place: Place, text: str) -> None:
    place.write(text)

    finished = place.onetool("trust")

    assert finished.returncode == 1
    assert "onetool.yaml (new" in finished.stdout
    assert "Traceback" not in finished.stderr


def test_nothing_in_a_file_hides_or_scrolls_away(place: Place) -> None:
    code = (
        '"""Say hello."""\n\n\ndef hello() -> str:\n    """Say hello.\u3164"""'
        + "\n" * 400
        + '    return "a\ufe0f\u202e"\n'
    )
    (place.project / ".onetool" / "skills").mkdir()
    place.write(code, "skills/hello.py")
    place.write('snippets: {note: {body: "ok\u2800\\u001b[2K"}}\n')

    shown = place.onetool("trust").stdout

    assert '"""Say hello.⟨U+3164⟩"""' in shown
    assert "⟨398 more lines like this⟩" in shown
    assert 'return "a⟨U+FE0F⟩⟨U+202E⟩"' in shown
    assert "ok⟨U+2800⟩⟨U+001B⟩[2K" in shown


def test_what_was_trusted_is_shown_again_only_as_a_difference(place: Place) -> None:
    place.write("aliases: {a: one.two}\n")
    write_extension(place.project, "notes", "def f(): ...\n")
    first = place.onetool("trust", "--yes")
    again = place.onetool("trust")
    place.write("aliases: {a: one.two}\nservers: {evil: {command: steal}}\n")
    place.write("A: newly-secret", "secrets.yaml")
    changed = place.onetool("trust", "--yes")
    place.write("A: other-secret", "secrets.yaml")
    secret = place.onetool("trust", "--yes")

    assert (first.returncode, again.returncode) == (0, 0)
    assert "is trusted." in again.stdout
    assert "onetool.yaml (changed" in changed.stdout
    assert "+servers: {evil: {command: steal}}" in changed.stdout
    assert "starts, as the server evil: steal" in changed.stdout
    assert "notes_tools.py" not in changed.stdout
    assert "secrets.yaml (changed" in secret.stdout
    assert "secret" not in secret.stdout.replace("secrets", "")


def test_trust_is_listed_and_revoked(place: Place, tmp_path: Path) -> None:
    place.write("aliases: {a: one.two}")
    below = place.project / "deep"
    below.mkdir()

    assert place.onetool("trust", "--yes", cwd=below).returncode == 0
    assert place.onetool("trust", "--list").stdout == f"{place.project}: 1 file\n"
    assert place.onetool("trust", "--revoke", cwd=below).returncode == 0
    assert place.onetool("trust", "--revoke").returncode == 1
    assert place.onetool("trust", "--yes", str(place.project), cwd=tmp_path).returncode == 0
    assert place.onetool("trust", "--revoke", str(place.project), cwd=tmp_path).returncode == 0
    assert place.onetool("trust", "--list").stdout == "You have not trusted any project.\n"


def test_where_there_is_no_project_there_is_nothing_to_trust(place: Place, tmp_path: Path) -> None:
    finished = place.onetool("trust", cwd=tmp_path)

    assert finished.returncode == 2
    assert ".onetool" in finished.stderr


@pytest.mark.parametrize(("answer", "trusted"), [("y\n", True), ("\n", False), ("no\n", False)])
def test_a_person_at_a_terminal_is_asked(place: Place, answer: str, trusted: bool) -> None:  # noqa: FBT001
    place.write("aliases: {a: one.two}")
    terminal = place.at_terminal("trust")
    terminal.wait_for("[y/N]")
    terminal.type(answer)

    assert terminal.end() == (0 if trusted else 1)
    assert (place.onetool("trust", "--list").stdout == f"{place.project}: 1 file\n") == trusted


def test_changed_while_the_person_read_is_not_trusted(place: Place) -> None:
    """What is trusted are the bytes that were shown."""
    place.write("aliases: {a: one.two}")
    terminal = place.at_terminal("trust")
    terminal.wait_for("[y/N]")
    place.write("servers: {evil: {command: steal}}")
    terminal.type("y\n")
    terminal.end()

    assert "onetool.yaml has changed since you trusted it" in place.onetool("check", "--offline").stdout
    assert "one.two" in place.onetool("run", "ot.aliases()").stdout


def test_an_author_may_have_every_change_trusted_while_they_watch(place: Place) -> None:
    file = place.write("aliases: {a: one.two}")
    terminal = place.at_terminal("trust", "--follow", "--yes")
    terminal.wait_for("until you press Ctrl-C")
    file.write_text("aliases: {b: three.four}")
    terminal.wait_for("+aliases: {b: three.four}")
    _wait_until(lambda: "three.four" in place.onetool("run", "ot.aliases()").stdout)
    terminal.process.send_signal(signal.SIGINT)
    status = terminal.end()
    file.write_text("aliases: {c: five.six}")

    assert status == 0
    assert "three.four" in place.onetool("run", "ot.aliases()").stdout


def test_nobody_is_followed_without_a_terminal(place: Place) -> None:
    place.write("aliases: {a: one.two}")

    finished = place.onetool("trust", "--follow", "--yes")

    assert finished.returncode == 2
    assert "needs a terminal" in finished.stderr
    assert place.onetool("trust", "--list").stdout == "You have not trusted any project.\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
@pytest.mark.parametrize("part", [".", ".onetool", "sub"])
def test_a_project_of_another_user_is_refused(place: Place, part: str) -> None:
    place.write("aliases: {a: one.two}")
    (place.project / "sub").mkdir()
    os.chown(place.project / part, 12345, 12345)

    for command in (["trust", "--yes"], ["check"], ["run", "1"]):
        finished = place.onetool(*command, cwd=place.project / "sub")
        assert finished.returncode == 2, command
        assert "belongs to another user" in finished.stderr


def _wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < deadline


def test_a_name_that_was_added_to_a_trusted_file_says_that_the_project_has_changed(place: Place) -> None:
    place.write("snippets: {one: {body: '1'}}")
    assert place.onetool("trust", "--yes").returncode == 0
    place.write("snippets: {one: {body: '1'}, two: {body: '2'}}\nservers: {later: {command: 'true'}}")

    found = [place.onetool("run", code) for code in ("$one", "$two", "later.anything()")]

    assert found[0].stdout == "1\n"
    assert all("is not trusted in its current state" in each.stdout + each.stderr for each in found[1:])
