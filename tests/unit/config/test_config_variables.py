"""`${NAME}` inside files, and `ONETOOL_*` over them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ot.config.call_rules import CallRule
from ot.config.keys import known_keys
from ot.config.layers import settable_variables
from tests.unit.config.workspace import Workspace


def test_a_variable_comes_from_the_secrets_then_from_the_environment(workspace: Workspace) -> None:
    workspace.write("servers: {g: {command: x, env: {A: '${ONE}', B: 'x-${TWO}-${TWO}'}}}")
    workspace.write("ONE: from-secrets", "secrets.yaml")

    config = workspace.load(ONE="from-environment", TWO="two").config

    assert config.servers["g"].env == {"A": "from-secrets", "B": "x-two-two"}


def test_a_variable_may_stand_for_a_number_or_a_path(workspace: Workspace) -> None:
    workspace.write_home("execution: {timeout: '${T}', readable: ['${D}/x', '${R}']}\ninclude: ['${I}.yaml']")
    workspace.write_home("log: {level: debug}", "more.yaml")

    config = workspace.load(T="7", D="/data", R="rel", I="more").config

    assert config.execution.timeout == 7
    assert config.execution.readable == (Path("/data/x"), workspace.home / ".onetool" / "rel")
    assert config.log.level == "debug"


def test_an_unset_variable_is_named_with_its_key(workspace: Workspace) -> None:
    file = workspace.write("servers: {github: {command: x, env: {GITHUB_TOKEN: '${GITHUB_TOKEN}'}}}")

    error = workspace.mistake()

    assert (error.file, error.key) == (file, "servers.github.env.GITHUB_TOKEN")
    assert error.reason == "the variable GITHUB_TOKEN is not set"


def test_an_empty_variable_is_set(workspace: Workspace) -> None:
    workspace.write("servers: {g: {command: x, args: ['${EMPTY}']}}")

    assert workspace.load(EMPTY="").config.servers["g"].args == ("",)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("$${HOME}", "${HOME}"),
        ("$${A}${A}", "${A}a"),
        ("$A $$ $", "$A $$ $"),
        ("{A} }", "{A} }"),
        ("a$$${A}", "a$${A}"),
    ],
)
def test_a_dollar_is_a_dollar_where_no_variable_is_meant(workspace: Workspace, written: str, read: str) -> None:
    workspace.write_home(f"packs: {{p: {{text: '{written}'}}}}")

    assert workspace.load(A="a").config.packs["p"].options == {"text": read}


@pytest.mark.parametrize("text", ["${", "${A", "${}", "${a-b}", "${A:-b}", "${ A }", "${Ä}"])
def test_what_is_no_name_of_a_variable_is_a_mistake(workspace: Workspace, text: str) -> None:
    workspace.write(f"packs: {{p: {{text: '{text}'}}}}")

    error = workspace.mistake(A="a")

    assert error.key == "packs.p.text"
    assert "$${" in (error.fix or "")


def test_a_value_is_not_looked_at_again(workspace: Workspace) -> None:
    workspace.write_home("packs: {p: {text: '${A}'}}")

    assert workspace.load(A="${B} $${C}").config.packs["p"].options == {"text": "${B} $${C}"}


def test_code_and_keys_are_left_alone(workspace: Workspace) -> None:
    workspace.write_home("snippets: {s: {body: 'print(\"${A} $${\")'}}\npacks: {p: {'${A}': 1}}")

    config = workspace.load(A="a").config

    assert config.snippets["s"].body == 'print("${A} $${")'
    assert config.packs["p"].options == {"${A}": 1}


def test_the_value_of_a_variable_is_in_no_mistake(workspace: Workspace) -> None:
    workspace.write("execution: {timeout: '${KEY}'}")

    error = workspace.mistake(KEY="sesame-open")

    assert error.reason == "must be a number, not ${KEY}"
    assert "sesame" not in repr(vars(error))
    assert error.__cause__ is None
    assert error.__context__ is None


@pytest.mark.parametrize(
    ("name", "text", "section", "key", "value"),
    [
        ("ONETOOL_EXECUTION_TIMEOUT", "5", "execution", "timeout", 5),
        ("ONETOOL_EXECUTION_MEMORY", "64m", "execution", "memory", 64 * 1024**2),
        ("ONETOOL_EXECUTION_SANDBOX", "off", "execution", "sandbox", "off"),
        ("ONETOOL_LOG_LEVEL", "DEBUG", "log", "level", "debug"),
        ("ONETOOL_STATS_ENABLED", "false", "stats", "enabled", False),
        ("ONETOOL_SECURITY_PIN_TOOLS", "1", "security", "pin_tools", True),
        (
            "ONETOOL_POLICY_DENY",
            "shell.*, file.delete",
            "policy",
            "deny",
            (CallRule("shell.*"), CallRule("file.delete")),
        ),
        ("ONETOOL_LOG_FILE", "/tmp/${X}.log", "log", "file", Path("/tmp/${X}.log")),
        ("ONETOOL_LOG_LEVEL", "  ", "log", "level", "error"),
    ],
)
def test_a_variable_overrides_the_files(
    workspace: Workspace, name: str, text: str, section: str, key: str, value: object
) -> None:
    workspace.write_home("execution: {timeout: 99, memory: 1g, sandbox: strict}\nlog: {level: error, file: x}")

    config = workspace.load(environ={name: text}).config

    assert getattr(getattr(config, section), key) == value


def test_a_variable_overrides_one_key_only(workspace: Workspace) -> None:
    workspace.write("execution: {timeout: 99, warm: 2}")

    execution = workspace.load(ONETOOL_EXECUTION_TIMEOUT="5").config.execution

    assert (execution.timeout, execution.warm) == (5, 2)


def test_paths_in_a_variable_start_from_the_working_directory(workspace: Workspace) -> None:
    execution = workspace.load(ONETOOL_EXECUTION_READABLE="data,~/x,/y").config.execution

    assert execution.readable == (workspace.project / "data", workspace.home / "x", Path("/y"))


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("ONETOOL_EXECUTION_TIMEOT", "ONETOOL_EXECUTION_TIMEOUT"),
        ("ONETOOL_TIMEOUT", "ONETOOL_EXECUTION_TIMEOUT"),
        ("ONETOOL_LOGLEVEL", "ONETOOL_LOG_LEVEL"),
        ("ONETOOL_CONFIGURATION", "ONETOOL_CONFIG"),
    ],
)
def test_an_unknown_variable_is_refused_with_the_nearest_one(workspace: Workspace, name: str, nearest: str) -> None:
    error = workspace.mistake(environ={name: "5"})

    assert (error.file, error.key, error.reason) == (None, name, "unknown variable")
    assert nearest in (error.fix or "")


def test_a_wrong_value_names_the_variable(workspace: Workspace) -> None:
    workspace.write("execution: {timeout: 5}")

    error = workspace.mistake(ONETOOL_EXECUTION_TIMEOUT="soon")

    assert (error.file, error.key) == (None, "ONETOOL_EXECUTION_TIMEOUT")
    assert error.reason == "must be a number, not soon"


def test_other_variables_are_nobodys_business(workspace: Workspace) -> None:
    workspace.load(ONETOOL_HTTP_TOKEN="t", onetool_x="x", MY_ONETOOL_X="x", PATH="/bin")


def test_no_two_keys_share_a_variable() -> None:
    keys = [key for key in known_keys() if "*" not in key.path and not key.is_mapping]

    assert len(settable_variables()) == len(keys)
