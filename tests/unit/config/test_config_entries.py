"""Mistakes in entries: each switches off its own entry, and what guards the person is never among them."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from ot.config.call_rules import CallRule
from ot.config.loader import LoadedConfig, load_config
from ot.errors import ConfigError
from tests.trusting import trust_project

GOOD = "servers: {time: {command: python}}"


def load(home: Path, text: str, *, every: list[ConfigError] | None = None, **environ: str) -> LoadedConfig:
    (home / ".onetool").mkdir(exist_ok=True)
    (home / ".onetool" / "onetool.yaml").write_text(dedent(text))
    project = home / "project"
    project.mkdir(exist_ok=True)
    return load_config(environ=environ, cwd=project, home=home, tolerant=True, every=every)


def entries_of(loaded: LoadedConfig) -> list[str]:
    return [".".join(mistake.entry) for mistake in loaded.mistakes]


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("servers: {jira: {comand: npx}}", "servers.jira"),
        ("servers: {jira: {}}", "servers.jira"),
        ("servers: {jira: {command: npx, url: 'https://a.example'}}", "servers.jira"),
        ("servers: {jira: {command: npx, env: {TOKEN: '${TOKEN}'}}}", "servers.jira"),
        ("servers: {jira: {command: npx, env: {TOKEN: '${'}}}", "servers.jira"),
        ("servers: {'': {command: npx}}", "servers."),
        ("servers: {off: {command: npx}}", "servers.False"),  # which YAML reads as false
        ("servers: 5", "servers"),
        ("snippets: {daily: {body: 5}}", "snippets.daily"),
        ("snippets: {daily: {description: '${NOBODY}', body: '1'}}", "snippets.daily"),
        ("aliases: {ws: nothing}", "aliases.ws"),
        ("aliases: {a: b, b: nothing}", "aliases.b"),
        ("projects: {shop: {}}", "projects.shop"),
        ("packs: {web: {timeout: -1}}", "packs.web"),
        ("topics: [{pattern: a}]", "topics"),
        ("prompts: {packs: [a]}", "prompts"),
        ("log: {level: loud}", "log"),
        ("results: {keep_for: soon}", "results"),
        ("roots: ['${NOBODY}']", "roots"),
    ],
)
def test_a_mistake_switches_off_its_entry_alone(tmp_path: Path, text: str, entry: str) -> None:
    loaded = load(tmp_path, f"{text}\ndocs_url: https://docs.example\npolicy: {{deny: [mail.*]}}")

    assert entries_of(loaded)[0] == entry
    assert loaded.config.docs_url == "https://docs.example"
    assert loaded.config.policy.deny == (CallRule("mail.*"),)
    with pytest.raises(ConfigError):
        load_config(environ={}, cwd=tmp_path, home=tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "polcy: {deny: [mail.*]}",
        "policy: {deny: 5}",
        "policy: {denied: [mail.*]}",
        "policy: {deny: ['${NOBODY}']}",
        "execution: {timeout: soon}",
        "security: {pin_tool: true}",
        "audit: {enabled: maybe}",
        "packs: 5",
        "include: [absent.yaml]",
        "include: '${NOBODY}'",
        "servers: [",
    ],
)
def test_a_mistake_in_what_guards_the_person_is_raised(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError):
        load(tmp_path, text)


def test_a_variable_that_is_wrong_is_raised(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, GOOD, ONETOOL_LOG_LEVEL="loud")

    assert raised.value.key == "ONETOOL_LOG_LEVEL"


def test_every_mistake_is_told_also_before_one_that_is_raised(tmp_path: Path) -> None:
    every: list[ConfigError] = []
    text = "polcy: {}\nservers: {a: {comand: x}, b: {command: x, env: {K: '${K}'}}}\npolicy: {deny: 5}"

    with pytest.raises(ConfigError):
        load(tmp_path, text, every=every)

    assert {error.key for error in every} == {"polcy", "servers.a.comand", "servers.b.env.K", "policy.deny"}


def test_a_pack_with_a_mistake_is_off_whatever_its_default_is(tmp_path: Path) -> None:
    loaded = load(tmp_path, "packs: {web: {enabled: false, timeout: -1}, git: {timeout: 9}}")

    assert loaded.config.packs["web"].enabled is False
    assert loaded.config.packs["git"].enabled is None


def test_models_are_not_asked_by_defaults_where_the_person_named_others(tmp_path: Path) -> None:
    loaded = load(tmp_path, "ai: {provider: olama}")

    assert entries_of(loaded) == ["ai"]
    assert loaded.config.packs["llm"].enabled is False


def test_an_entry_is_off_in_all_files_if_one_of_them_is_wrong_about_it(tmp_path: Path) -> None:
    project = tmp_path / "project" / ".onetool"
    project.mkdir(parents=True)
    (project / "onetool.yaml").write_text("servers: {time: {timeot: 5}, own: {command: python}}")
    trust_project(tmp_path / "project", home=tmp_path)

    loaded = load(tmp_path, GOOD)

    assert entries_of(loaded) == ["servers.time"]
    assert list(loaded.config.servers) == ["own"]


def test_it_is_read_again_as_tolerantly(tmp_path: Path) -> None:
    loaded = load(tmp_path, "servers: {jira: {comand: npx}}")
    (tmp_path / ".onetool" / "onetool.yaml").write_text("servers: {jira: {command: npx}, other: {comand: npx}}")

    again = loaded.read_again()

    assert (entries_of(again), list(again.config.servers)) == (["servers.other"], ["jira"])
