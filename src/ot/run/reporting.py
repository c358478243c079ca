"""Outcomes as answers: what the code printed, then its value, or what went wrong, where, and what to do about it.

The reader is a model that has nothing but this text, and pays for every word of it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator

from mcp_core.json_types import mapping_of
from mcp_core.nearest_names import nearest
from mcp_core.quick_dataclass import replace
from ot.effects import Effect
from ot.errors import CallError, OneToolError
from ot.execution.wording import STARTS_FRESH, is_module, is_near, list_names, word_error
from ot.registry.definitions import ToolDefinition
from ot.registry.registry import ToolRegistry
from ot.results.store import word_stored
from ot.run.answer import Answer, RunAnswer
from ot.run.outcome import MAX_NAME, CodeError, Failure, Frame, Nothing, Outcome, PartialValue, Printed, Seen, Value
from ot.text.output import Rendered, escape_surrogates, render
from ot_kernel.values import Audio, Image, Record, Resource

_MOST = 3


def suggest(name: str, registry: ToolRegistry) -> str:
    """Write one sentence that leads from an undefined name to code that works."""
    if (absence := registry.absence(name)) is not None:
        return word_error(absence)
    if is_module(name):
        return f"Add `import {name}`: modules of the standard library are imported as in any program."
    same = [definition for definition in registry.definitions() if definition.tool == name]
    if same:
        return f"A tool is called with its pack: {' or '.join(tool.signature for tool in same[:_MOST])}"
    changed = registry.changed_files()
    below = f"\n{word_error(changed)}" if changed is not None else ""
    meant = {pack.name: pack.name for pack in registry.packs()}
    for definition in registry.definitions():
        meant.setdefault(definition.tool, definition.name)
    near = [meant[candidate] for candidate in nearest(name, meant)[:_MOST] if is_near(name, [candidate])]
    if near:
        return f"Did you mean {' or '.join(near)}?{below}"
    packs = list_names(name, (pack.name for pack in registry.packs()))
    return f"{STARTS_FRESH} Packs: {packs}; ot.tools() lists their tools.{below}"


def suggest_narrower(value: object, registry: ToolRegistry) -> str:
    """Say how to ask for less if the value is a listing of tools; empty for any other value."""
    first = value[0] if isinstance(value, list) and value else None
    name = first.get("name") if isinstance(first, dict) else first
    if not isinstance(name, str) or not registry.has(name):
        return ""
    return 'Narrow it: ot.tools(pattern="..."), info="list" for names only, or ot.help(query="what you want to do").'


_MOST_PLACES = 6
_MOST_MESSAGE = 4000
_MOST_QUESTION = 300
_MOST_CALLS = 8
_LEAST_ERROR = 300  # characters: less would tell nobody what to do, whatever the limit is
_FOR_NOTES = 150  # characters of what is said about text that was left out
_MOST_STORED_PRINTED = 3000  # characters shown of what was printed, where all of it can be read
_RETURN_LESS = "Return less: slice, filter or aggregate in the code."
_SHELL = re.compile(r"[\s$]*+onetool +[a-z-]")
_FOR_A_TERMINAL = (
    "That is a command that a person types in a terminal; here is Python. ot.tools() lists what it can call."
)
_MOST_PARTS = 8  # tools that are named
_PART_SHOWN = re.compile(r"""["']more["']: ?true\b""", re.IGNORECASE)
_NO_MODULE = "It is not installed where code runs. A pack may do the same: ot.packs() lists them."


def render_answer(outcome: Outcome, *, inline_limit: int, registry: ToolRegistry) -> Answer:
    """Word an outcome in about `inline_limit` characters."""
    match outcome:
        case Value():
            return _render_value(outcome, inline_limit, registry)
        case Nothing():
            return Answer(_below(outcome.printed, "Done: no value returned.", inline_limit))
        case Failure():
            room = inline_limit - min(len(outcome.printed.text), inline_limit // 2)
            text = _fit(_word_failure(outcome.error, registry), max(room - _FOR_NOTES, _LEAST_ERROR))
            return Answer(_below(outcome.printed, text, inline_limit), is_error=True)


def word_running(
    run: str, seen: Seen, elapsed: float, limit: float, waits_for: str, inline_limit: int, *, answered: str = ""
) -> str:
    """Say what a run has printed since it was last looked at, what it is doing, and how to get its answer.

    `answered` is how a person answers the question that it waits for, if that is possible elsewhere.
    """
    lines = [f"[Run {run} is still running after {elapsed:.0f} s (limit {limit:g} s).{_word_doing(seen)}"]
    if waits_for and answered:
        lines.append(f"It waits for a person, who must be told to answer {answered}: {_cut(waits_for, _MOST_QUESTION)}")
    elif waits_for:
        lines.append(f"It waits for an answer that ot.wait asks the client for: {_cut(waits_for, _MOST_QUESTION)}")
    lines.append(f'ot.wait(run="{run}", seconds=45) gives its answer, ot.stop(run="{run}") ends it.]')
    return _below(seen.printed, "\n".join(lines), inline_limit)


def word_task(seen: Seen, elapsed: float, limit: float, latest: str, waits_for: str, *, answered: str = "") -> str:
    """Say what a run does that goes on as a task, as `word_running` does for one that does not."""
    parts = [f"Running for {elapsed:.0f} s (limit {limit:g} s).{_word_doing(seen)}"]
    if waits_for and answered:
        parts.append(f"It waits for a person, who must be told to answer {answered}: {_cut(waits_for, _MOST_QUESTION)}")
    elif latest:
        parts.append(_cut(latest, _MOST_QUESTION))
    return " ".join(parts)


def word_stopped(run: str, seen: Seen, elapsed: float, *, inline_limit: int) -> str:
    text = f"[Run {run} was stopped by ot.stop after {elapsed:.0f} s.{_word_doing(seen, was=True)}]"
    return _below(seen.printed, text, inline_limit)


def _word_doing(seen: Seen, *, was: bool = False) -> str:
    if not seen.begun:
        return " Its code had not begun." if was else " Its code has not begun: it waits for a kernel, or for a server."
    calls = [f"{tool[:MAX_NAME]} ({seconds:.0f} s)" for tool, seconds in seen.calls[:_MOST_CALLS]]
    if len(seen.calls) > len(calls):
        calls.append(f"{len(seen.calls) - len(calls)} more")
    places = [f"at line {seen.line}"] if seen.line else []
    if calls:
        places.append(f"in {', '.join(calls)}")
    return f" It {'was' if was else 'is'} {', '.join(places)}." if places else ""


def _waited_for(outcome: Value, *, most: int) -> Answer | None:
    """Return the answer of another run, if `ot.wait` gave it as the value; code can make up one, so it is bounded."""
    if isinstance(outcome.value, Record) and outcome.value.record_name == RunAnswer.__name__ and outcome.total is None:
        match dict(outcome.value):
            case {"is_error": bool(is_error), "text": str(text), "attachments": tuple(given)} if len(text) <= most:
                attachments = tuple(item for item in given if isinstance(item, Image | Audio | Resource))
                return Answer(text, is_error=is_error, attachments=attachments)
    return None


def _render_value(outcome: Value, limit: int, registry: ToolRegistry) -> Answer:
    waited_for = _waited_for(outcome, most=2 * limit + _MOST_MESSAGE) if isinstance(outcome.value, Record) else None
    if waited_for is not None:
        return replace(waited_for, text=_below(outcome.printed, waited_for.text, limit))
    if outcome.stored is not None:
        narrower = suggest_narrower(outcome.value, registry)
        attachments = render(outcome.value, limit=limit).attachments
        stored = word_stored(outcome.stored, outcome.value, partial=outcome.total is not None)
        text = "\n".join(filter(None, (stored, narrower)))
        return Answer(_below(outcome.printed, text, limit), attachments=attachments)
    shown = min(len(outcome.printed.text), _MOST_STORED_PRINTED if outcome.printed.stored else limit // 2)
    rendered = render(outcome.value, limit=limit - shown)
    text = rendered.text if rendered.text or rendered.cut else "''"
    if outcome.value is None and outcome.printed.text:
        text = ""  # `print` and `help` give None, which nobody wants to read
    cut = rendered.cut or outcome.total is not None
    if cut:
        reason = f" The whole could not be stored: {outcome.not_kept}." if outcome.not_kept else ""
        less = suggest_narrower(outcome.value, registry) or _RETURN_LESS
        text += f"\n[{_how_much(rendered, outcome)}.{reason} {less}]"
    if cut or outcome.printed.text or outcome.printed.dropped:
        text = _below(outcome.printed, text, limit)
    return Answer(text, attachments=rendered.attachments, cut=cut)


def _how_much(rendered: Rendered, outcome: Value) -> str:
    """Say how much is shown. An outcome's `total` counts characters for text, and items for everything else."""
    if rendered.shown:
        return f"{rendered.shown:,} of {outcome.total or rendered.items:,} items shown"
    start = f"The first {len(rendered.text):,}"
    if outcome.total is not None and not isinstance(outcome.value, str):
        return f"{start} characters of {outcome.total:,} items shown"
    whole = outcome.total or rendered.total
    return f"{start}{f' of {whole:,}' if whole else ''} characters shown"


def _below(printed: Printed, text: str, limit: int) -> str:
    """Put what the code printed, in the room that is left for it, above the rest of the answer."""
    above = _excerpt(printed) if printed.stored else _shorten(printed, max(limit - len(text), limit // 2))
    if above and not above.endswith("\n"):
        above += "\n"
    return escape_surrogates(above + text)


def _fit(text: str, room: int) -> str:
    """Keep beginning and end of an error's text: its first line says what happened, its last what to do."""
    text = escape_surrogates(text)
    if len(text) <= room:
        return text
    end = room // 4
    left_out = f"{len(text) - room:,} of {len(text):,} characters of the error left out"
    return f"{text[: room - end]}\n[{left_out}]\n{text[len(text) - end :]}"


def _excerpt(printed: Printed) -> str:
    """Show beginning and end of stored output, and say where the rest can be read."""
    assert printed.stored is not None
    facts, handle = printed.stored.facts, printed.stored.handle
    half = _MOST_STORED_PRINTED // 2
    head, tail = printed.text[:half], printed.text[-half:]
    return (
        f"{head.rpartition(chr(10))[0] or head}\n"
        f"[{facts.lines:,} lines were printed, {facts.size:,} bytes; only the beginning and the end are shown here. "
        f'All of it: ot.result(handle="{handle}"), search="regex" finds lines.]\n'
        f"{tail.partition(chr(10))[2] or tail}"
    )


def _shorten(printed: Printed, room: int) -> str:
    """Show beginning and end of the output: a program says last what matters most."""
    text = printed.text
    if len(text) > room:
        room = max(room - _FOR_NOTES, room // 2)
        head, tail = text[: room // 2], text[len(text) - room // 2 :]
        left_out = len(text) - len(head) - len(tail)
        text = f"{head}\n[{left_out:,} of {len(text):,} printed characters left out. Print less.]\n{tail}"
    if printed.dropped:
        text += f"\n[{printed.dropped:,} more printed bytes were not kept. Print less.]\n"
    return text


def _word_failure(error: CodeError | OneToolError, registry: ToolRegistry) -> str:
    if not isinstance(error, CodeError):
        return word_error(error)
    kind, notes = _cut(error.type, MAX_NAME), (_cut(note) for note in error.notes)
    headline = f"{kind}: {_cut(error.message)}" if error.message else kind
    return "\n".join([headline, *_places(error.frames), *notes, *_way_out(error, registry)])


def _cut(text: str, most: int = _MOST_MESSAGE) -> str:
    return text if len(text) <= most else f"{text[:most]}..."


def _places(frames: tuple[Frame, ...]) -> list[str]:
    """List the author's lines from the outermost to the one that failed; a recursion counts as one."""
    places = []
    for frame, same in itertools.groupby(frames):
        count = sum(1 for _ in same)
        function = "" if frame.function == "<module>" else f", in {_cut(frame.function, MAX_NAME)}"
        source = f": {_cut(frame.source.strip(), MAX_NAME)}" if frame.source.strip() else ""
        times = f"  ({count} times)" if count > 1 else ""
        file = f"{_cut(frame.file, MAX_NAME)}, " if frame.file else ""
        places.append(f"  {file}line {frame.line}{function}{source}{times}")
    if len(places) > _MOST_PLACES:
        half = _MOST_PLACES // 2
        places[half:-half] = [f"  ... {len(places) - 2 * half} more"]
    return places


def _way_out(error: CodeError, registry: ToolRegistry) -> list[str]:
    if error.type == "NameError" and error.names:
        return [suggest(error.names[0][:MAX_NAME], registry)]
    if error.type == "SyntaxError" and error.frames and _SHELL.match(error.frames[-1].source):
        return [_FOR_A_TERMINAL]
    return [_NO_MODULE] if error.type == "ModuleNotFoundError" else []


def word_partial(values: Iterable[PartialValue], registry: ToolRegistry, answer: str, *, whole: bool) -> Iterator[str]:
    """Say what was given, and how to have the rest; not of what an answer shows that shows the `whole` result."""
    if _PART_SHOWN.search(answer):
        return
    told: set[str] = set()
    for value in values:
        if (value.returned and whole) or value.tool in told or len(told) == _MOST_PARTS:
            continue
        try:
            definition = registry.get(value.tool)
        except CallError:  # it has gone since
            continue
        if definition.best_first or (definition.effect is Effect.UNKNOWN and not value.taken):
            continue
        told.add(value.tool)
        others = f" (the first of {value.calls:,} such values)" if value.calls > 1 else ""
        part = (
            f"{value.what} 1 to {value.count:,} of {value.total:,}"
            if value.total
            else f"the first {value.count:,} {value.what}"
        )
        part = part if value.what else "only a part"
        yield f"[{value.tool} gave {part}{others}, and the code did not look at `more`.{_word_way(definition)}]"


def _word_way(definition: ToolDefinition) -> str:
    """Say how to have all of it, by the parameters that the tool has."""
    parameters = mapping_of(definition.parameters.get("properties"))
    if "limit" not in parameters and "offset" not in parameters:
        return ""
    kinds = mapping_of(parameters.get("limit")).get("type")
    ways = ["limit=None gives all of it at once"] if isinstance(kinds, list) and "null" in kinds else []
    if "offset" in parameters:
        ways.insert(0, f"ot.pages({definition.name}, ...) iterates over all parts")
    return f" {'; '.join(ways) or 'A larger limit gives more'}."
