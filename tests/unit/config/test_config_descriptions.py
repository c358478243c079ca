"""Every key says what it is, when a change takes effect, and which layers may set it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ot.config.keys import Key, inner_model, known_keys
from ot.config.models import Config
from ot.config.section import Section
from ot.config.template import with_range

KEYS = known_keys()
EVERY_KEY = pytest.mark.parametrize("key", KEYS, ids=lambda key: ".".join(key.path))
RANGES = {
    "execution.warm": "(0 to 64)",
    "execution.memory": "(16m to 1t)",
    "execution.sandbox": ": `strict`, `standard` or `off`",
    "servers.*.oauth.port": "(1 to 65,535)",
    "voice.vad.release": "(between 0 and 1)",
    "voice.vad.max_length": "(1 to 300)",
    "log.level": "or `error`",
}


def _sections(model: type[Section]) -> Iterator[tuple[type[Section], str]]:
    for name, field in model.model_fields.items():
        yield model, name
        inner = inner_model(field.annotation)
        if inner is not None:
            yield from _sections(inner)


@pytest.mark.parametrize(("model", "name"), list(_sections(Config)), ids=lambda part: getattr(part, "__name__", part))
def test_every_key_and_every_section_is_described(model: type[Section], name: str) -> None:
    said = model.settings[name]

    assert said.words[:1].isalpha() or said.words.startswith("`")
    assert not said.words.endswith(".")


@EVERY_KEY
def test_every_key_says_when_it_takes_effect_and_who_may_set_it(key: Key) -> None:
    assert key.when in ("at once", "at the next start")
    assert "person" in key.layers.sets
    assert bool(key.layers.tightens) == (key.layers.rule is not None)


@EVERY_KEY
def test_a_rule_to_tighten_fits_the_values_of_its_key(key: Key) -> None:
    rule = key.layers.rule
    fitting = {
        "union": key.is_list or key.path[:2] == ("policy", "flows"),  # whose entries are united whole
        "intersection": key.is_list,
        "below": key.is_list and key.is_path,
        "smaller": isinstance(key.default, int | float) or key.default is None,
        "stays on": key.default is False or key.default is None,
        "stays off": key.default is True or key.path[-1] == "enabled",
        "stricter": isinstance(key.default, str),
    }

    assert rule is None or fitting[rule]


def test_what_guards_the_person_can_only_be_tightened_by_a_project() -> None:
    rules = {".".join(key.path): key.layers.rule for key in KEYS}

    assert rules["execution.sandbox"] == "stricter"
    assert rules["execution.timeout"] == rules["workers.call_timeout"] == rules["packs.*.timeout"] == "smaller"
    assert rules["execution.readable"] == rules["execution.writable"] == "below"
    assert rules["policy.deny"] == rules["policy.ask"] == "union"
    assert rules["security.pin_tools"] == "stays on"


@pytest.mark.parametrize("section", ["topics", "log", "http", "ai", "results", "stats", "voice", "docs_url"])
def test_what_belongs_to_the_person_is_not_set_by_a_project(section: str) -> None:
    layers = [key.layers for key in KEYS if key.path[0] == section and key.path[-1] not in PERSONS_OWN]

    assert layers
    assert not any("project" in (*by.sets, *by.tightens) for by in layers)


PERSONS_OWN = ("hints", "own")  # whom to believe


@pytest.mark.parametrize("section", ["servers", "aliases", "snippets", "projects", "prompts"])
def test_a_project_may_add_its_own(section: str) -> None:
    layers = [key.layers for key in KEYS if key.path[0] == section and key.path[-1] not in PERSONS_OWN]

    assert layers
    assert all("project" in (*by.sets, *by.tightens) for by in layers)


@pytest.mark.parametrize(("name", "words"), RANGES.items())
def test_what_a_key_accepts_is_said_with_its_words(name: str, words: str) -> None:
    key = next(key for key in KEYS if ".".join(key.path) == name)

    assert with_range(key.words, key.field).endswith(words)
