"""Descriptions of configuration keys, on their fields: words, an example, when they take effect, who may set them.

`onetool init`, the table in docs/configuration.md and the list of what a reload cannot change are derived from this.
"""

from __future__ import annotations

from typing import Any, Literal, TypeVar, cast

from mcp_core.quick_dataclass import dataclass

T = TypeVar("T")
When = Literal["at once", "at the next start"]
LayerName = Literal["team", "person", "project"]
Rule = Literal["union", "intersection", "smaller", "stricter", "stays on", "stays off", "below"]

AT_ONCE: When = "at once"
NEXT_START: When = "at the next start"

REQUIRED: Any = ...  # for a type checker it fits every field
"""The default of a key that must be given."""


@dataclass(slots=True, eq=False)
class Layers:
    """The layers that may give a key any value, and those that may only tighten it, by a rule.

    Defaults stand below every layer. The rules: `union` and `intersection` of lists; `smaller`, where a farther layer
    has set it; `stricter`, the earlier one of its words; `stays on` and `stays off` of a switch; `below`, paths in the
    project or within what a farther layer has named.
    """

    sets: tuple[LayerName, ...]
    tightens: tuple[LayerName, ...] = ()
    rule: Rule | None = None


PERSON = Layers(("team", "person"))
PROJECT = Layers(("team", "person", "project"))
UNION = Layers(PERSON.sets, ("project",), "union")
INTERSECTION = Layers(PERSON.sets, ("project",), "intersection")
SMALLER = Layers(PERSON.sets, ("project",), "smaller")
STRICTER = Layers(PERSON.sets, ("project",), "stricter")
STAYS_ON = Layers(PERSON.sets, ("project",), "stays on")
STAYS_OFF = Layers(PERSON.sets, ("project",), "stays off")
BELOW = Layers(PERSON.sets, ("project",), "below")


@dataclass(slots=True, eq=False)
class Setting:
    """The description of a field; `when` and `layers` hold for all keys below it that do not say otherwise.

    `example` is a value to show where the default shows nothing: for a mapping, entries under names of a person's own.
    What may hold a secret is `hidden` in the text of its section.
    """

    default: object
    words: str
    when: When | None = None
    layers: Layers | None = None
    example: object = None
    hidden: bool = False


def setting(
    default: T,
    words: str,
    *,
    when: When | None = None,
    layers: Layers | None = None,
    example: object = None,
    hidden: bool = False,
) -> T:
    """A field with its default, or REQUIRED, and its description."""
    return cast("T", Setting(default, words, when=when, layers=layers, example=example, hidden=hidden))
