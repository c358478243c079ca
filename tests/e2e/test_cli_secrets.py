"""`onetool secrets` and `${keyring:NAME}`, with a real keychain on a bus of its own; no value is ever shown."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.e2e.raw_server import environment_of
from tests.keychains import Keychains, start_keychains
from tests.models.terminal import in_terminal
from tests.preloaded import preloaded_command, run_preloaded
from tests.proxied import program
from tests.trusting import trust_project

Finished = subprocess.CompletedProcess[str]
VALUE = "sesame-open-0042"
EXTENSION = '''"""Has a secret."""

import ot_sdk

pack = "{name}"
secrets = ("{name}_KEY",)


def length() -> int:
    """Return how long the secret is."""
    return len(ot_sdk.secret("{name}_KEY"))


if __name__ == "__main__":
    ot_sdk.serve()
'''


@pytest.fixture(scope="module")
def keychains(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keychains]:
    with start_keychains(tmp_path_factory.mktemp("keychains")) as keychains:
        yield keychains


class Place:
    """A project and a home, and `onetool` with the open keychain, or with other variables."""

    def __init__(self, folder: Path, keychains: Keychains) -> None:
        self.home, self.project, self.keychains = folder / "home", folder / "project", keychains
        self.folder = self.home / ".onetool"
        self.folder.mkdir(parents=True)
        self.project.mkdir()
        self.file = self.folder / "secrets.yaml"

    def environ(self, variables: dict[str, str] | None = None) -> dict[str, str]:
        return environment_of(self.home) | (self.keychains.open if variables is None else variables)

    def run(self, *arguments: str, stdin: str = "", variables: dict[str, str] | None = None) -> Finished:
        finished = run_preloaded(*arguments, cwd=self.project, env=self.environ(variables), stdin=stdin)
        assert VALUE not in finished.stdout + finished.stderr
        return finished

    def keep(self, name: str, value: str = VALUE) -> None:
        assert self.run("secrets", "set", name, "--keyring", stdin=f"{value}\n").returncode == 0

    def configure(self, **servers: object) -> None:
        (self.folder / "onetool.yaml").write_text(yaml.safe_dump({"servers": servers}))


@pytest.fixture
def place(tmp_path: Path, keychains: Keychains) -> Place:
    return Place(tmp_path, keychains)


def test_secrets_are_set_listed_tested_and_removed_and_never_shown(place: Place) -> None:
    place.file.write_text(f"# mine\nOLD: {VALUE}\n")
    place.file.chmod(0o600)
    place.keep("TOKEN")
    changed = place.run("secrets", "set", "OLD", stdin="sesame-open-0043")

    listed = place.run("secrets", "--json")
    tested = place.run("secrets", "test")
    written = place.file.read_text()
    removed = [place.run("secrets", "remove", name).returncode for name in ("TOKEN", "OLD", "NONE")]

    assert (changed.returncode, removed) == (0, [0, 0, 2])
    assert json.loads(listed.stdout) == {"TOKEN": "keychain", "OLD": "secrets.yaml"}
    assert tested.stdout == "TOKEN: can be read (keychain)\nOLD: can be read (secrets.yaml)\n"
    assert written == '# mine\nTOKEN: "${keyring:TOKEN}"\nOLD: sesame-open-0043\n'
    assert place.file.read_text() == "# mine\n"
    assert [file.name for file in place.folder.iterdir() if "secrets" in file.name] == ["secrets.yaml"]  # no copies
    place.file.write_text("TOKEN: ${keyring:TOKEN}")
    assert "the keychain has no TOKEN" in place.run("secrets", "test").stderr


def test_a_plain_secret_moves_into_the_keychain(place: Place) -> None:
    place.run("secrets", "set", "MOVED", stdin=VALUE)

    place.keep("MOVED")
    again = place.run("secrets", "set", "MOVED", stdin="another-value-1")

    assert "in the keychain" in again.stdout
    assert place.file.read_text() == 'MOVED: "${keyring:MOVED}"\n'


@pytest.mark.parametrize(
    ("arguments", "stdin", "words"),
    [
        (("set", "TOKEN", VALUE), "", "as an argument others can see it"),
        (("set", f"{VALUE}!"), "x", "a NAME has letters"),
        (("set", "TOKEN"), "\n", "1 to 65,536 characters"),
        (("test", VALUE), "", "this name: is not in"),
        (("remove", VALUE), "", "there is no such name"),
    ],
)
def test_what_cannot_be_a_secret_is_refused_without_showing_it(
    place: Place, arguments: tuple[str, ...], stdin: str, words: str
) -> None:
    finished = place.run("secrets", *arguments, stdin=stdin)

    assert finished.returncode != 0
    assert words in finished.stderr
    assert not place.file.exists()


def test_a_value_is_typed_unseen(place: Place) -> None:
    command = preloaded_command("onetool", "secrets", "set", "TYPED")
    with in_terminal(command, cwd=place.project, env=place.environ()) as terminal:
        terminal.wait_for(lambda text: "not shown" in text)
        terminal.type(f"{VALUE}\n")
        status = terminal.wait_for_exit()

    assert (status, VALUE in terminal.screen.text) == (0, False)
    assert place.file.read_text() == f"TYPED: {VALUE}\n"


def test_servers_and_extensions_get_secrets_of_the_keychain_which_answers_hide(place: Place) -> None:
    place.keep("INDIRECT", f"{VALUE}-1")
    place.keep("WITHIN", f"{VALUE}-2")
    place.keep("pet_KEY", f"{VALUE}-3")
    (place.folder / "tools").mkdir()
    (place.folder / "tools" / "pet.py").write_text(EXTENSION.format(name="pet"))
    env = {"A": "${INDIRECT}", "B": "Bearer ${keyring:WITHIN} $${keyring:X}", "C": "$${A}"}
    place.configure(shows=program("shows_environment", env=env))

    code = "e = json.loads(shows.echo(text=''))['environ']\n[e['A'], len(e['A']), e['B'], e['C'], pet.length()]"
    finished = place.run("run", f"import json\n{code}")

    assert yaml.safe_load(finished.stdout) == ["***", 3, "Bearer *** ${keyring:X}", "${A}", 18]


def test_a_locked_keychain_stops_nothing_else_and_says_the_way_out(place: Place) -> None:
    place.keep("pet_KEY")
    (place.folder / "tools").mkdir()
    for name in ("pet", "plain"):
        (place.folder / "tools" / f"{name}.py").write_text(EXTENSION.format(name=name))
    place.file.write_text(f"{place.file.read_text()}plain_KEY: abcdef\n")
    needy = program("shows_environment", env={"A": "${keyring:pet_KEY}"})
    codes = ("[plain.length(), len(other.echo(text='')) > 10]", "needy.echo(text='')", "pet.length()")
    place.configure(
        needy=needy, url={"url": "http://127.0.0.1:1/${keyring:pet_KEY}"}, other=program("shows_environment")
    )

    for variables, reason in (
        (place.keychains.locked, "the keychain is locked"),
        ({"DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere"}, "no keychain that is running"),
    ):
        runs = [place.run("run", code, variables=variables).stdout for code in codes]

        assert runs[0] == "[6, true]\n"
        assert all(reason in said and "into ~/.onetool/secrets.yaml" in said for said in runs[1:])


def test_a_keychain_needs_its_library_and_the_error_says_how_to_install_it(place: Place, tmp_path: Path) -> None:
    (tmp_path / "keyring.py").write_text("raise ImportError")
    place.file.write_text("TOKEN: ${keyring:TOKEN}")
    place.file.chmod(0o600)

    command = [sys.executable, "-m", "onetool", "secrets", "test"]
    environ = place.environ() | {"PYTHONPATH": str(tmp_path)}
    finished = subprocess.run(command, cwd=place.project, env=environ, capture_output=True, text=True, check=False)

    assert finished.returncode == 1
    assert "not installed" in finished.stderr
    assert "[keyring]" in finished.stderr


@pytest.mark.parametrize("reference", ["${keyring:TOKEN}", "${TOKEN}"])
def test_a_project_gets_nothing_from_the_keychain(place: Place, reference: str) -> None:
    place.keep("TOKEN")
    folder = place.project / ".onetool"
    folder.mkdir()
    server = program("shows_environment", env={"A": reference})
    (folder / "onetool.yaml").write_text(yaml.safe_dump({"servers": {"theirs": server}}))
    trust_project(place.project, place.home)

    finished = place.run("check")

    assert finished.returncode != 0
    assert "a project's file gets nothing from your keychain" in finished.stdout + finished.stderr


def test_the_secrets_of_a_project_are_not_in_the_keychain(place: Place) -> None:
    place.keep("TOKEN")
    folder = place.project / ".onetool"
    folder.mkdir()
    (folder / "secrets.yaml").write_text("OWN: ${keyring:TOKEN}")
    (folder / "secrets.yaml").chmod(0o600)
    trust_project(place.project, place.home)

    finished = place.run("tools")

    assert "a project's file gets nothing from your keychain" in finished.stdout + finished.stderr


def test_a_server_for_several_people_has_no_keychain(place: Place) -> None:
    place.keep("TOKEN")
    settings = {"auth": {"public_url": "https://tools.example"}}
    (place.folder / "onetool.yaml").write_text(yaml.safe_dump(settings))

    finished = place.run("serve", "--http", "127.0.0.1:0")

    assert finished.returncode == 2
    assert "gets nothing from a keychain" in finished.stderr


def test_import_moves_plain_secrets_into_the_keychain(place: Place) -> None:
    settings = {"command": "s", "env": {"DEMO_API_KEY": VALUE}}
    (place.home / ".cursor").mkdir()
    (place.home / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": {"s": settings}}))
    command = preloaded_command("onetool", "import", "--global", "--offline")

    with in_terminal(command, cwd=place.project, env=place.environ()) as terminal:
        terminal.wait_for(lambda text: "system's keychain? [y/N]" in text)
        terminal.type("y\n")
        terminal.wait_for(lambda text: "Remove them" in text)
        terminal.type("n\n")
        status = terminal.wait_for_exit()

    assert (status, "Secrets are in the keychain: DEMO_API_KEY" in terminal.screen.text) == (0, True)
    assert place.file.read_text() == 'DEMO_API_KEY: "${keyring:DEMO_API_KEY}"\n'
    assert place.run("secrets", "test").returncode == 0
