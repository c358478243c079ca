"""Project over person over defaults; includes, prompts, and which file a mistake is in."""

from __future__ import annotations

from pathlib import Path

import pytest

from ot.config.call_rules import CallRule
from tests.unit.config.workspace import Workspace


def test_the_project_wins_over_the_person_and_both_over_the_defaults(workspace: Workspace) -> None:
    workspace.write_home("aliases: {a: one.a, b: one.b}\nlog: {level: debug}")
    workspace.write("aliases: {a: two.a}")

    config = workspace.load().config

    assert (config.aliases, config.log.level) == ({"a": "two.a", "b": "one.b"}, "debug")
    assert config.execution.memory == 1024**3


def test_mappings_are_merged_at_every_depth(workspace: Workspace) -> None:
    workspace.write_home("include: [more.yaml]\npacks: {web: {deep: {y: 3}}}\nservers: {github: {env: {B: c}}}")
    workspace.write_home(
        "servers: {github: {command: npx, env: {A: a, B: b}}}\npacks: {web: {deep: {x: 1, y: 2}}}", "more.yaml"
    )

    config = workspace.load().config

    assert config.servers["github"].command == "npx"
    assert config.servers["github"].env == {"A": "a", "B": "c"}
    assert config.packs["web"].options == {"deep": {"x": 1, "y": 3}}


@pytest.mark.parametrize(("nearer", "deny"), [("[d.*]", (CallRule("d.*"),)), ("[]", ())])
def test_a_list_takes_the_place_of_the_farther_one(
    workspace: Workspace, nearer: str, deny: tuple[CallRule, ...]
) -> None:
    workspace.write_home(f"include: [more.yaml]\npolicy: {{deny: {nearer}}}")
    workspace.write_home("policy: {deny: [a.*, b.*], ask: [c.*]}", "more.yaml")

    policy = workspace.load().config.policy

    assert (policy.deny, policy.ask) == (deny, (CallRule("c.*"),))


def test_a_section_without_lines_leaves_the_farther_one(workspace: Workspace) -> None:
    workspace.write_home("execution: {timeout: 10}\naliases: {a: b.c}\ntopics: [{pattern: x, file: y}]")
    workspace.write("execution:\naliases:\ntopics:\n")

    config = workspace.load().config

    assert config.execution.timeout == 10
    assert config.aliases == {"a": "b.c"}
    assert len(config.topics) == 1


def test_null_puts_a_single_value_back_to_its_default(workspace: Workspace) -> None:
    workspace.write_home("include: [more.yaml]\nlog: {file: null, level: null}")
    workspace.write_home("log: {file: /tmp/log, level: debug}", "more.yaml")

    log = workspace.load().config.log

    assert (log.file, log.level) == (None, "info")


def test_a_bare_project_path_merges_like_the_long_form(workspace: Workspace) -> None:
    workspace.write_home("projects: {a: /one, b: {path: /two, attrs: {x: 1}}}")
    workspace.write("projects: {a: {attrs: {y: 2}}, b: /three}")

    projects = workspace.load().config.projects

    assert (projects["a"].path, projects["a"].attrs) == (Path("/one"), {"y": 2})
    assert (projects["b"].path, projects["b"].attrs) == (Path("/three"), {"x": 1})


def test_relative_paths_start_from_the_file_that_names_them(workspace: Workspace) -> None:
    workspace.write_home("include: ../more/extra.yaml\nprojects: {a: here}\nexecution: {readable: [data]}")
    workspace.write("projects: {b: here}")
    workspace.write_home("projects: {c: here}", "../more/extra.yaml")

    config = workspace.load().config

    assert config.projects["a"].path == workspace.home / ".onetool" / "here"
    assert config.projects["b"].path == workspace.project / ".onetool" / "here"
    assert config.projects["c"].path == workspace.home / "more" / "here"
    assert config.execution.readable == (workspace.home / ".onetool" / "data",)


def test_the_files_are_listed_nearest_first(workspace: Workspace) -> None:
    person = workspace.write_home("")
    project = workspace.write("include: [a.yaml, b.yaml]")
    first, second = workspace.write("", "a.yaml"), workspace.write("", "b.yaml")
    prompts = workspace.write("", "prompts.yaml")

    assert workspace.load().files == (project, prompts, second, first, person)


def test_a_file_wins_over_what_it_includes_and_a_later_include_over_an_earlier(workspace: Workspace) -> None:
    workspace.write("include: [a.yaml, b.yaml]\naliases: {x: main.x}")
    workspace.write("aliases: {x: a.x, y: a.y, z: a.z}", "a.yaml")
    workspace.write("aliases: {x: b.x, y: b.y}", "b.yaml")

    assert workspace.load().config.aliases == {"x": "main.x", "y": "b.y", "z": "a.z"}


def test_includes_may_include(workspace: Workspace) -> None:
    workspace.write("include: sub/a.yaml")
    workspace.write("include: [deeper/b.yaml]", "sub/a.yaml")
    workspace.write("aliases: {x: b.x}", "sub/deeper/b.yaml")

    assert workspace.load().config.aliases == {"x": "b.x"}


def test_a_file_that_two_others_include_is_read_once_below_both(workspace: Workspace) -> None:
    workspace.write("include: [a.yaml, b.yaml]")
    workspace.write("include: base.yaml\naliases: {x: a.x}", "a.yaml")
    workspace.write("include: base.yaml", "b.yaml")
    base = workspace.write("aliases: {x: base.x}", "base.yaml")

    loaded = workspace.load()

    assert loaded.config.aliases == {"x": "a.x"}
    assert loaded.files.count(base) == 1


def test_many_diamonds_of_includes_are_read_in_no_time(workspace: Workspace) -> None:
    workspace.write("include: [0.yaml, 0.yaml]")
    for number in range(18):
        workspace.write(f"include: [{number + 1}.yaml, ./{number + 1}.yaml]", f"{number}.yaml")
    workspace.write("aliases: {x: last.x}", "18.yaml")

    loaded = workspace.load()

    assert loaded.config.aliases == {"x": "last.x"}
    assert len(loaded.files) == 20


def test_a_circle_of_includes_is_named_whole(workspace: Workspace) -> None:
    main = workspace.write("include: a.yaml")
    first = workspace.write("include: b.yaml", "a.yaml")
    second = workspace.write("include: [./a.yaml]", "b.yaml")

    error = workspace.mistake()

    assert (error.file, error.key) == (second, "include")
    assert error.reason == f"circular: {first} -> {second} -> {first}"
    assert str(main) not in error.reason


def test_a_file_that_includes_itself_is_a_circle(workspace: Workspace) -> None:
    file = workspace.write("include: onetool.yaml")

    assert workspace.mistake().reason == f"circular: {file} -> {file}"


def test_a_circle_through_a_link_is_a_circle(workspace: Workspace) -> None:
    file = workspace.write("include: link.yaml")
    (file.parent / "link.yaml").symlink_to(file)

    assert workspace.mistake().reason.startswith("circular: ")


def test_an_endless_chain_of_includes_is_refused(workspace: Workspace) -> None:
    workspace.write("include: 0.yaml")
    for number in range(30):
        workspace.write(f"include: {number + 1}.yaml", f"{number}.yaml")

    assert "include one another" in workspace.mistake().reason


@pytest.mark.parametrize("text", ["include: 5", "include: [5]", "include: {a: b}", "include: ['']", 'include: "a\\0b"'])
def test_include_takes_file_names(workspace: Workspace, text: str) -> None:
    workspace.write(text)

    error = workspace.mistake()

    assert (error.key, error.reason) == ("include", "must be a list of file names")


def test_an_included_file_that_does_not_exist_is_named_with_the_file_that_names_it(workspace: Workspace) -> None:
    file = workspace.write("include: [nowhere.yaml]")

    error = workspace.mistake()

    assert (error.file, error.key) == (file, "include")
    assert str(file.parent / "nowhere.yaml") in error.reason


def test_a_mistake_is_named_in_the_included_file_it_is_in(workspace: Workspace) -> None:
    workspace.write("include: a.yaml\nexecution: {timeout: 5}")
    included = workspace.write("execution: {timeot: 5}", "a.yaml")

    error = workspace.mistake()

    assert (error.file, error.key) == (included, "execution.timeot")


def test_a_mistake_that_a_nearer_file_covers_is_found_too(workspace: Workspace) -> None:
    person = workspace.write_home("execution: {timeout: soon}")
    workspace.write("execution: {timeout: 5}")

    assert workspace.mistake().file == person


def test_what_no_file_completes_is_named_in_the_nearest_file_that_has_it(workspace: Workspace) -> None:
    workspace.write_home("servers: {github: {env: {A: a}}}")
    project = workspace.write("servers: {github: {env: {B: b}}}")

    error = workspace.mistake()

    assert (error.file, error.key) == (project, "servers.github")


def test_what_contradicts_itself_across_files_is_a_mistake_of_the_nearer(workspace: Workspace) -> None:
    nearer = workspace.write_home("include: [more.yaml]\nservers: {github: {url: 'https://example.com'}}")
    workspace.write_home("servers: {github: {command: npx}}", "more.yaml")

    error = workspace.mistake()

    assert (error.file, error.reason) == (nearer, "both command and url are given")


@pytest.mark.parametrize("text", ["packs: {excel: Open it first.}", "prompts: {packs: {excel: Open it first.}}"])
def test_prompts_beside_the_file_are_read_by_themselves(workspace: Workspace, text: str) -> None:
    workspace.write("execution: {timeout: 5}")
    workspace.write(text, "prompts.yaml")

    assert workspace.load().config.prompts.packs == {"excel": "Open it first."}


def test_prompts_are_read_without_a_configuration_file(workspace: Workspace) -> None:
    workspace.write_home("packs: {excel: Open it first.}", "prompts.yaml")

    assert workspace.load().config.prompts.packs == {"excel": "Open it first."}


def test_the_file_wins_over_the_prompts_beside_it(workspace: Workspace) -> None:
    workspace.write("prompts: {packs: {excel: mine}}")
    workspace.write("packs: {excel: other, word: word}", "prompts.yaml")

    assert workspace.load().config.prompts.packs == {"excel": "mine", "word": "word"}


@pytest.mark.parametrize(("text", "key"), [("pack: {}", "pack"), ("prompts: {pack: {}}", "prompts.pack")])
def test_a_mistake_in_prompts_has_the_key_as_it_stands_there(workspace: Workspace, text: str, key: str) -> None:
    file = workspace.write(text, "prompts.yaml")

    error = workspace.mistake()

    assert (error.file, error.key) == (file, key)
    assert '"packs"' in (error.fix or "")
