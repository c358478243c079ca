"""Secrets: closed to others, found by name, and never part of any text."""

from __future__ import annotations

import os

import pytest

from ot.config import Secrets
from tests.unit.config.workspace import Workspace

posix_only = pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions")


def test_a_secret_is_found_in_the_file_then_in_the_environment(workspace: Workspace) -> None:
    workspace.write_home("API_KEY: from-file", "secrets.yaml")

    secrets = workspace.load(API_KEY="from-environment", OTHER="other").secrets

    assert (secrets.get("API_KEY"), secrets.get("OTHER"), secrets.get("NONE")) == ("from-file", "other", None)


def test_everybody_reads_the_secrets_beside_them_first(workspace: Workspace) -> None:
    workspace.write("A: project\nC: project", "secrets.yaml")
    workspace.write_home("A: person\nB: person", "secrets.yaml")

    secrets = workspace.load(B="environment", D="environment").secrets

    assert [secrets.get(name) for name in "ABCD"] == ["person", "person", "project", "environment"]
    theirs = [secrets.for_extension(name, of_project=True) for name in "ABCD"]
    assert theirs == ["project", "person", "project", None]
    assert [secrets.for_extension(name, of_project=False) for name in "ABCD"] == ["person", "person", "project", None]


def test_the_secrets_beside_a_named_file_are_the_persons(workspace: Workspace) -> None:
    file = workspace.write("", "../mine/mine.yaml")
    workspace.write("A: mine", "../mine/secrets.yaml")
    workspace.write_home("A: person", "secrets.yaml")

    assert workspace.load(file).secrets.get("A") == "mine"


@posix_only
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o601, 0o777])
def test_secrets_open_to_others_are_refused_with_the_command_that_closes_them(workspace: Workspace, mode: int) -> None:
    file = workspace.write("A: sesame-open", "secrets.yaml")
    file.chmod(mode)

    error = workspace.mistake()

    assert (error.file, error.fix) == (file, f"chmod 600 {file}")


@posix_only
@pytest.mark.parametrize("mode", [0o600, 0o400, 0o700])
def test_secrets_closed_to_others_are_read(workspace: Workspace, mode: int) -> None:
    workspace.write("A: sesame-open", "secrets.yaml").chmod(mode)

    assert workspace.load().secrets.get("A") == "sesame-open"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("A: 123456", "A"),
        ("A: true", "A"),
        ("A:", "A"),
        ("A: {B: sesame-open}", "A"),
        ("A: [sesame-open]", "A"),
        ("a-b: sesame-open", "a-b"),
        ("5: sesame-open", "5"),
        ("A: *sesame-open", "A"),
        ("A: !sesame-open", "A"),
        ("A: !sesame-open [x]", "A"),
        ("A: &sesame-open [*sesame-open]", "A.0"),
        ("A: @sesame-open", "A"),
        ("A: 'sesame-open", "A"),
        ("A: sesame-open: x", "A"),
        ("A: 1\nA: sesame-open", "A"),
        ("sesame-open", None),
    ],
)
def test_a_mistake_in_the_secrets_does_not_show_them(workspace: Workspace, text: str, key: str | None) -> None:
    file = workspace.write(text, "secrets.yaml")

    error = workspace.mistake()

    assert (error.file, error.key) == (file, key)
    assert "sesame" not in repr(vars(error)) + str(error)
    assert error.__cause__ is None


def test_secrets_take_no_variables(workspace: Workspace) -> None:
    workspace.write("A: ${B}", "secrets.yaml")

    assert workspace.load(B="b").secrets.get("A") == "${B}"


def test_the_text_of_secrets_shows_none(workspace: Workspace) -> None:
    workspace.write("A: sesame-open", "secrets.yaml")

    loaded = workspace.load(TOKEN="sesame-too")

    assert repr(loaded.secrets) == "Secrets(1 hidden)"
    assert "sesame" not in repr(loaded) + str(loaded.secrets)


def test_values_of_the_file_and_of_variables_that_were_used_are_known(workspace: Workspace) -> None:
    workspace.write("servers: {g: {command: x, env: {A: '${TOKEN}', B: '${SHORT}', C: '${IN_FILE}', H: '${HOME}'}}}")
    workspace.write("IN_FILE: in-the-file\nUNUSED: unused-in-file\nTINY: tiny", "secrets.yaml")

    secrets = workspace.load(TOKEN="the-token", SHORT="short", OTHER="other-value", HOME="/home/somebody").secrets

    assert secrets.known_values() == {"the-token", "in-the-file", "unused-in-file"}


def test_a_variable_in_a_path_is_not_hidden(workspace: Workspace) -> None:
    workspace.write("projects: {a: '${WORK}/a', b: {path: '${WORK}/b'}}\nexecution: {readable: ['${WORK}']}")

    assert workspace.load(WORK="/srv/work").secrets.known_values() == frozenset()


def test_the_token_of_the_server_is_known(workspace: Workspace) -> None:
    assert workspace.load(ONETOOL_HTTP_TOKEN="the-token").secrets.known_values() == {"the-token"}


def test_secrets_can_be_built_by_hand() -> None:
    secrets = Secrets({"A": "a-secret"}, environ={"B": "b"})

    assert (secrets.get("A"), secrets.get("B")) == ("a-secret", "b")
    assert secrets.known_values() == {"a-secret"}
    assert Secrets().get("A") is None


@posix_only
def test_an_empty_variable_is_not_set() -> None:
    """A client writes it into the environment for a key that its person left out."""
    secrets = Secrets(environ={"KEY": "", "OTHER": "value"}, project={"KEY": "of the project"})

    assert (secrets.get("KEY"), secrets.get("OTHER")) == ("of the project", "value")


def test_the_command_that_closes_secrets_can_be_pasted(workspace: Workspace) -> None:
    file = workspace.write("A: sesame-open", "../my secrets/secrets.yaml")
    file.chmod(0o644)
    config = workspace.write("", "../my secrets/onetool.yaml")

    assert workspace.mistake(config).fix == f"chmod 600 '{file}'"
