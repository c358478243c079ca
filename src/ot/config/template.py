"""A configuration file to start from: every key as a comment, with its words, its default and what it accepts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

import yaml

from ot.config.keys import INCLUDE, INCLUDE_WORDS, choices_of, holds_several, inner_model, parts_of
from ot.config.models import Config
from ot.config.providers import check_provider, find_providers
from ot.config.reading import After, Before, Bounds
from ot.config.section import LONGEST, NEXT_START, Field, Section
from ot.config.values import LARGEST_MEMORY, SMALLEST_MEMORY, read_size, word_size


def word_value(value: object, field: Field) -> str:
    """A value of this field as YAML on one line; sizes in the largest unit that is exact."""
    if isinstance(value, int) and _is_size(field):
        return word_size(value)
    plain = list(value) if isinstance(value, tuple) else value
    text = yaml.safe_dump(plain, default_flow_style=True, width=10_000, allow_unicode=True, sort_keys=False)
    return text.removesuffix("\n").removesuffix("\n...")


def with_range(words: str, field: Field) -> str:
    """The words of a key, then what it accepts; durations accept the same everywhere, and nothing is said."""
    parts = list(parts_of(field.annotation))
    of_provider = any(isinstance(part, After) and part.function is check_provider for part in parts)
    choices = [f"`{choice}`" for choice in (find_providers() if of_provider else choices_of(field.annotation))]
    if choices:
        return f"{words}: {', '.join(choices[:-1])} or {choices[-1]}"
    if _is_size(field):
        return f"{words} ({word_size(SMALLEST_MEMORY)} to {word_size(LARGEST_MEMORY)})"
    bounds = [part for part in parts if isinstance(part, Bounds)]
    if not bounds or bounds[-1].le == LONGEST:
        return words
    last = bounds[-1]
    within = f"between {last.gt:,} and {last.lt:,}" if last.ge is None else f"{last.ge:,} to {last.le:,}"
    return f"{words} ({within})"


def _is_size(field: Field) -> bool:
    return any(isinstance(part, Before) and part.function is read_size for part in parts_of(field.annotation))


_HEAD = """\
# OneTool's configuration: every key with its default or an example. Nothing here has to be set: remove the # in front
# of what you want to change, and in front of the lines it belongs to. `onetool check` reports mistakes.
# Secrets belong in secrets.yaml next to this file (mode 0600); ${NAME} is replaced by the value from there, else from
# the environment. Durations are in seconds, at most 30 days. A change takes effect after ot.reload(), or, if marked
# [next start], when the server next starts.
# In a project, this file can only add its own servers, snippets and so on, and tighten the settings that protect you;
# all other keys count only in ~/.onetool/onetool.yaml.
"""
_LINK = re.compile(r" \(\[[^]]*\]\([^)]*\)\)")
_COLUMN = 36  # where the words of a key begin, unless its value is longer
_Line = tuple[str, str]  # a key with its value, and its words


def render_template() -> str:
    """The file; without the # in front of its keys it is valid."""
    blocks = [f"# {_sentence(INCLUDE_WORDS)}\n#{INCLUDE}: []\n"]
    for name in Config.settings:
        (first, words), *others = _lines(Config, {}, [name])
        below = "".join(f"#{text:<{_COLUMN}}  # {words}".rstrip(" #") + "\n" for text, words in others)
        blocks.append(f"# {_sentence(words)}\n#{first}\n{below}")
    return "\n".join([_HEAD, *blocks])


def _lines(model: type[Section], values: Mapping[str, object], names: Iterable[str] = ()) -> Iterator[_Line]:
    """A section, or one entry of a mapping or list of them, with the values of an example, else its defaults."""
    for name in names or model.settings:
        field, said = model.model_fields[name], model.settings[name]
        if not said.words:
            raise LookupError(f"{model.__name__}.{name} is not described")
        words = with_range(said.words, field) + (" [next start]" if said.when == NEXT_START else "")
        value = values.get(name, said.example)
        inner = inner_model(field.annotation)
        if inner is None:
            yield f"{name}: {word_value(field.default if value is None else value, field)}", _plain(words)
            continue
        yield f"{name}:", _plain(words)
        if not holds_several(field.annotation):
            yield from _indented(_lines(inner, _mapping(value)))
        elif isinstance(value, list | tuple):
            for example in value:
                (first, below), *others = _lines(inner, _mapping(example))
                yield from _indented([(f"- {first}", below), *_indented(others)])
        else:
            yield from _indented(_named(inner, _mapping(value)))


def _named(model: type[Section], examples: Mapping[str, object]) -> Iterator[_Line]:
    """Entries under names of a person's own; what no example mentions is shown with the first of them."""
    mentioned = {field for example in examples.values() for field in _mapping(example)}
    left = [field for field in model.settings if field not in mentioned]
    for name, example in examples.items():
        values = _mapping(example)
        names = [field for field in model.settings if field in values or field in left]
        left = []
        yield f"{name}:" if name.isidentifier() else f'"{name}":', ""
        yield from _indented(_lines(model, values, names))


def _indented(lines: Iterable[_Line]) -> Iterator[_Line]:
    return ((f"  {text}", words) for text, words in lines)


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _plain(words: str) -> str:
    """Words without links, which lead nowhere from a file of a person's own."""
    return _LINK.sub("", words)


def _sentence(words: str) -> str:
    plain = _plain(words)
    return f"{plain[0].upper()}{plain[1:]}."
