"""Descriptions of configuration keys, on their fields: words, an example, when they take effect, who may set them.

`onetool init`, the table in docs/configuration.md and the list of what a reload cannot change are derived from this.
"""

from __future__ import annotations

from typing import Any, Literal, TypeVar, cast

from pydantic import BaseModel
from pydantic._internal._model_construction import ModelMetaclass

T = TypeVar("T")
When = Literal["at once", "at the next start"]
LayerName = Literal["team", "person", "project"]
Rule = Literal["union", "intersection", "smaller", "stricter", "stays on", "stays off", "below"]

AT_ONCE: When = "at once"
NEXT_START: When = "at the next start"

REQUIRED: Any = ...  # for a type checker it fits every field
"""The default of a key that must be given."""


class Layers:
    """The layers that may give a key any value, and those that may only tighten it, by a rule.

    Defaults stand below every layer. The rules: `union` and `intersection` of lists; `smaller`, where a farther layer
    has set it; `stricter`, the earlier one of its words; `stays on` and `stays off` of a switch; `below`, paths in the
    project or within what a farther layer has named.
    """

    __slots__ = ("rule", "sets", "tightens")

    def __init__(
        self, sets: tuple[LayerName, ...], tightens: tuple[LayerName, ...] = (), rule: Rule | None = None
    ) -> None:
        self.sets = sets
        self.tightens = tightens
        self.rule = rule


PERSON = Layers(("team", "person"))
PROJECT = Layers(("team", "person", "project"))
UNION = Layers(PERSON.sets, ("project",), "union")
INTERSECTION = Layers(PERSON.sets, ("project",), "intersection")
SMALLER = Layers(PERSON.sets, ("project",), "smaller")
STRICTER = Layers(PERSON.sets, ("project",), "stricter")
STAYS_ON = Layers(PERSON.sets, ("project",), "stays on")
STAYS_OFF = Layers(PERSON.sets, ("project",), "stays off")
BELOW = Layers(PERSON.sets, ("project",), "below")


class Setting:
    """The description of a field; `when` and `layers` hold for all keys below it that do not say otherwise.

    `example` is a value to show where the default shows nothing: for a mapping, entries under names of a person's own.
    """

    __slots__ = ("default", "example", "layers", "when", "words")

    def __init__(
        self,
        default: object,
        words: str,
        *,
        when: When | None = None,
        layers: Layers | None = None,
        example: object = None,
    ) -> None:
        self.default = default
        self.words = words
        self.when = when
        self.layers = layers
        self.example = example


def setting(
    default: T, words: str, *, when: When | None = None, layers: Layers | None = None, example: object = None
) -> T:
    """A field with its default, or REQUIRED, and its description."""
    return cast("T", Setting(default, words, when=when, layers=layers, example=example))


class _Body(dict[str, object]):
    """The body of a class: descriptions are put aside, and pydantic finds the plain defaults."""

    def __init__(self) -> None:
        self.settings: dict[str, Setting] = {}
        self["__settings__"] = self.settings

    def __setitem__(self, name: str, value: object) -> None:
        if isinstance(value, Setting):
            self.settings[name] = value
            value = value.default
        if value is not REQUIRED:
            super().__setitem__(name, value)


class DescribedFields(ModelMetaclass):
    """Makes models whose fields are described; as pydantic's field objects, descriptions would add 4 ms to a start."""

    @classmethod
    def __prepare__(cls, *args: object, **kwargs: object) -> dict[str, object]:
        return _Body()


def describe(model: type[BaseModel], field: str, words: str) -> None:
    """Describe a field of a model that was made without a class body."""
    model.__dict__["__settings__"][field] = Setting(None, words)


def setting_of(model: type[BaseModel], field: str) -> Setting | None:
    """Return the description of a field, if it has one."""
    inherited = (base.__dict__.get("__settings__", {}) for base in model.__mro__)
    return next((settings[field] for settings in inherited if field in settings), None)
