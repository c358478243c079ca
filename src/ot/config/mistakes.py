"""Turns problems of settings into ConfigErrors that name the file, the key and the fix."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ot.config.entries import Mistakes
from ot.config.keys import dotted, known_keys, matches, suggest, words_of
from ot.config.layers import Layer
from ot.config.reading import AMOUNT, MISSING, UNKNOWN_KEY, VALUE, Problem, SettingsError
from ot.config.values import INCOMPLETE
from ot.errors import ConfigError

UNFINISHED = frozenset({MISSING, INCOMPLETE})
"""Kinds of problems that a layer farther away may put right."""

_ABOUT_A_VALUE = frozenset({VALUE, AMOUNT})
_NEVER_QUOTED = frozenset({"servers", "packs"})


def explain(
    error: SettingsError,
    layers: Sequence[Layer],
    mistakes: Mistakes,
    *,
    leave_out: Collection[str] = (),
) -> None:
    """Add each mistake, with the nearest layer that has its key, but for the kinds to `leave_out`.

    Where the first one is raised, it says how many more there are.
    """
    found = [problem for problem in error.problems if problem.kind not in leave_out]
    for problem in found:
        more = 0 if mistakes.tolerant else len(found) - 1
        mistake = _explain(problem, layers, more=more)
        mistakes.add(problem.place if mistake.file is not None else (), mistake)  # a variable is for all it starts


def _explain(problem: Problem, layers: Sequence[Layer], *, more: int) -> ConfigError:
    path = problem.place
    layer = max(layers, key=lambda candidate: _depth(candidate.values, path))
    fix = _find_way_out(problem)
    if problem.kind in _ABOUT_A_VALUE and (words := words_of(path)):
        fix += f" ({words})"
    reason = problem.reason + _quoted(problem, layer)
    if more:
        reason += f" (and {more} more)"
    if isinstance(layer.source, str):
        return ConfigError(reason, key=layer.source, fix=fix)
    return ConfigError(reason, file=layer.source, key=dotted(path[layer.unwritten :]), fix=fix)


def _find_way_out(problem: Problem) -> str:
    if problem.kind == UNKNOWN_KEY:
        return suggest(problem.place[-1], problem.place[:-1])
    return problem.fix + _example(problem.place) if problem.kind == AMOUNT else problem.fix


def _example(path: tuple[str, ...]) -> str:
    defaults = [key.default for key in known_keys() if matches(key.path, path)]
    return f", for example {defaults[0]}" if defaults and defaults[0] is not None else ""


def _quoted(problem: Problem, layer: Layer) -> str:
    """Quote what the person wrote there, if it is a single value that cannot be a secret."""
    path = problem.place
    if problem.kind not in _ABOUT_A_VALUE or problem.of_key or path[0] in _NEVER_QUOTED:
        return ""
    value = _value_at(layer.written, path[layer.unwritten :])
    if value is None or isinstance(value, dict | list):
        return ""
    text = dotted([value]) or '""'
    return f", not {text[:40]}"


def _value_at(values: object, path: Sequence[str]) -> object:
    for part in path:
        values = _item(values, part)
    return values


def _depth(values: Mapping[object, object], path: Sequence[str]) -> int:
    """Return how many parts of `path` are in `values`."""
    value: object = values
    for depth, part in enumerate(path):
        value = _item(value, part)
        if value is None:
            return depth
    return len(path)


def _item(value: object, part: str) -> object:
    if isinstance(value, dict):
        return next((item for key, item in value.items() if str(key) == part), None)
    if isinstance(value, list) and part.isdecimal() and int(part) < len(value):
        return value[int(part)]
    return None
