"""The building blocks of the configuration's models: a section, the descriptions of its keys, types of single values.

A section is made and asked as a model of pydantic is, by the same names. `onetool init`, the table in
docs/configuration.md and the list of what a reload cannot change are derived from the descriptions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar, cast, dataclass_transform, get_type_hints

from mcp_core.quick_dataclass import dataclass
from ot.config import reading
from ot.config import values as checks
from ot.config.reading import WRONG, After, Before, Bounds, Place, Problem, Reader, reader_of
from ot.config.values import REQUIRED

T = TypeVar("T")
When = Literal["at once", "at the next start"]
LayerName = Literal["team", "person", "project"]
Rule = Literal["union", "intersection", "smaller", "stricter", "stays on", "stays off", "below"]
AT_ONCE: When = "at once"
NEXT_START: When = "at the next start"
LONGEST = 30 * 24 * 3600  # seconds of the longest duration
Name = Annotated[str, After(checks.check_name)]
Identifier = Annotated[str, After(checks.check_identifier)]
Pattern = Annotated[str, After(checks.check_pattern)]
HostName = Annotated[str, After(checks.check_host)]
Url = Annotated[str, After(checks.check_url)]
FilePath = Annotated[Path, Before(checks.read_path)]
Seconds = Annotated[float, Before(checks.read_number), Bounds(gt=0, le=LONGEST)]
SecondsOrOff = Annotated[float, Before(checks.read_seconds_or_off), Bounds(ge=0, le=LONGEST)]
Count = Annotated[int, Before(checks.read_number)]
Days = Annotated[Count, Bounds(ge=1, le=3650)]
Bytes = Annotated[int, Before(checks.read_size)]
Share = Annotated[float, Before(checks.read_number), Bounds(gt=0, lt=1)]
Dollars = Annotated[float, Before(checks.read_number), Bounds(ge=0, le=1_000_000)]


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


@dataclass(slots=True, eq=False)
class Setting:
    """The description of a field; `when` and `layers` hold for all keys below it that do not say otherwise."""

    default: object
    words: str
    when: When | None = None
    layers: Layers | None = None
    example: object = None  # shown where the default shows nothing: for a mapping, entries under a person's own names
    hidden: bool = False  # in the text of its section: it may hold a secret


def setting(
    default: T,
    words: str,
    *,
    when: When | None = None,
    layers: Layers | Rule | None = None,
    example: object = None,
    hidden: bool = False,
) -> T:
    """A field with its default, or REQUIRED, and its description; a rule lets a project only tighten it."""
    given = Layers(PERSON.sets, ("project",), layers) if isinstance(layers, str) else layers
    return cast("T", Setting(default, words, when=when, layers=given, example=example, hidden=hidden))


@dataclass(frozen=True, slots=True)
class Field:
    """The type of a setting, with what marks it, and its default; REQUIRED if it must be given."""

    annotation: object
    default: object


@dataclass_transform(kw_only_default=True, frozen_default=True)
class SectionType(type):
    """Makes classes whose annotated names are settings. Their types are looked at when something is to be read."""

    settings: dict[str, Setting]

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> SectionType:
        given = {field: body.get(field, REQUIRED) for field in body.get("__annotations__", ())}
        own = {field: value if isinstance(value, Setting) else Setting(value, "") for field, value in given.items()}
        made = super().__new__(cls, name, bases, {key: item for key, item in body.items() if key not in own})
        made.settings = {}
        for base in reversed(bases):
            made.settings |= getattr(base, "settings", {})
        made.settings |= own
        return made

    @property
    def model_fields(cls) -> Mapping[str, Field]:
        return _fields_of(cls)


@cache
def _fields_of(section: SectionType) -> Mapping[str, Field]:
    hints = get_type_hints(section, include_extras=True)
    return {name: Field(hints[name], described.default) for name, described in section.settings.items()}


@cache
def _readers_of(section: SectionType) -> Mapping[str, Reader]:
    return {name: reader_of(field.annotation) for name, field in _fields_of(section).items()}


class _Instance:
    """An instance beside its settings, which are its `vars`."""

    __slots__ = ("__dict__", "model_extra", "model_fields_set")

    model_fields_set: frozenset[str]  # those that were given
    model_extra: Mapping[str, object]  # keys beside the settings, where a section takes any


class Section(_Instance, metaclass=SectionType):
    """A mapping of the file with a closed set of keys, or an open one; frozen."""

    __slots__ = ()

    takes_any_key = False

    def __init__(self, **values: object) -> None:
        made = type(self).model_validate(values)
        _fill(self, vars(made), made.model_fields_set, made.model_extra)

    @classmethod
    def model_spell_out(cls, value: object) -> object:
        """Return what a short form stands for."""
        return value

    def model_check(self) -> None:
        """Look at settings that have to fit one another; raises `mistake`."""

    @classmethod
    def model_validate(cls, values: object) -> Self:
        """Read plain values; raises SettingsError."""
        problems: list[Problem] = []
        made = cls.model_read(values, (), problems)
        if problems:
            raise reading.SettingsError(problems)
        assert isinstance(made, cls)
        return made

    @classmethod
    def model_construct(cls, **values: object) -> Self:
        """Make a section of settings that are known to fit."""
        return cls._make(values, {})

    @classmethod
    def _make(cls, values: Mapping[str, object], extra: Mapping[str, object]) -> Self:
        made = cls.__new__(cls)
        defaults = {name: each.default for name, each in cls.settings.items() if each.default is not REQUIRED}
        return _fill(made, {**defaults, **values}, frozenset(values), extra)

    def model_copy(self, update: Mapping[str, object]) -> Self:
        """Return the same section with other values, which are known to fit."""
        fields = type(self).settings
        values = {name: value for name, value in update.items() if name in fields}
        extra = {name: value for name, value in update.items() if name not in fields}
        made = type(self).__new__(type(self))
        return _fill(made, {**vars(self), **values}, self.model_fields_set | set(update), {**self.model_extra, **extra})

    @classmethod
    def model_read(cls, value: object, place: Place, problems: list[Problem]) -> object:
        """Read a section at a place; what is wrong with it is added to `problems`."""
        value = cls.model_spell_out(value)
        if isinstance(value, cls):
            return value
        if value is not None and not isinstance(value, Mapping):
            problems.append(reading.no_section(place))
            return WRONG
        before = len(problems)
        given, values = value or {}, dict[str, object]()
        for name, read in _readers_of(cls).items():
            default = cls.settings[name].default
            item = given.get(name)
            if item is not None or (default is None and name in given):  # without a value it is not given
                values[name] = read(item, (*place, name), problems)
            elif default is REQUIRED:
                problems.append(Problem((*place, name), reading.MISSING, "is missing", "add it"))
        extra = {key: item for key, item in given.items() if key not in cls.settings}
        unfit = [key for key in extra if not isinstance(key, str)]
        problems += [
            Problem((*place, str(key)), reading.WRONG_KEY, "a key must be text", "put it in quotes") for key in unfit
        ]
        unknown = () if cls.takes_any_key else (key for key in extra if isinstance(key, str))
        problems += [Problem((*place, key), reading.UNKNOWN_KEY, "unknown key", "remove it") for key in unknown]
        if len(problems) > before:
            return WRONG
        made = cls._make(values, extra)
        try:
            made.model_check()
        except checks.ValueMistakeError as mistake:
            problems.append(Problem(place, mistake.kind, mistake.reason, mistake.fix))
            return WRONG
        return made

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} cannot be changed: settings are frozen")

    def __delattr__(self, name: str) -> None:
        self.__setattr__(name, None)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        assert isinstance(other, Section)
        return vars(self) == vars(other) and self.model_extra == other.model_extra

    def __hash__(self) -> int:
        return hash(tuple(vars(self).values()))

    def __repr__(self) -> str:
        shown = (name for name, described in type(self).settings.items() if not described.hidden)
        return f"{type(self).__name__}({', '.join(f'{name}={vars(self)[name]!r}' for name in shown)})"


S = TypeVar("S", bound=Section)


def _fill(made: S, values: Mapping[str, object], given: frozenset[str], extra: Mapping[str, object]) -> S:
    vars(made).update(values)
    object.__setattr__(made, "model_fields_set", given)
    object.__setattr__(made, "model_extra", extra)
    return made


def subsection(kind: type[S], *, when: When | None = None, layers: Layers | Rule | None = None) -> S:
    """A field that holds a section, with its defaults; the section's docstring describes it."""
    return setting(kind.model_construct(), words_from(kind), when=when, layers=layers)


def words_from(kind: type[Section]) -> str:
    """The first paragraph of a section's docstring, as the words of a key."""
    text = " ".join((kind.__doc__ or "").partition("\n\n")[0].split()).rstrip(".")
    return text if text.startswith("OneTool") else text[:1].lower() + text[1:]


def with_key(name: str, kind: object, words: str, default: object = REQUIRED) -> Callable[[type[S]], type[S]]:
    """Add a key to a class of settings that its body cannot name: a word of Python, or one that is known only now."""

    def add(settings: type[S]) -> type[S]:
        settings.__annotations__[name] = kind
        settings.settings[name] = Setting(default, words)
        return settings

    return add
