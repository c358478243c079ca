"""Values as text for a context window: strings as they are, containers as compact YAML, and never more than asked for.

A short container is one line of flow style (`{name: demo, tools: 4}`); a longer one, and a list of objects, has one
item a line, each in flow style. Flow style holds at most two levels: what is nested deeper is indented until that much
is left. A mapping of nothing but one long text is that text, as a block. Nothing is ever folded, and what is shown
parses back with a YAML parser. Rendering stops at the limit, whatever the size of the value.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, ValuesView
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from mcp_core.quick_dataclass import dataclass
from ot.text.flow_text import flow_lines
from ot_kernel.values import Audio, Image, Resource

if TYPE_CHECKING:
    from yaml.events import Event, ScalarEvent

ONE_LINE = 100  # characters up to which a whole container stays on one line

_FLOW_LEVELS = 2
_MAX_DEPTH = 200
_CHUNK = 64  # items given to the emitter at once
_UNLIMITED = 2**31 - 1  # also the emitter's own "never fold"
_PLAIN_INT = 10**4000  # str() refuses ints of more digits than sys.get_int_max_str_digits()
_LINE_BREAK = re.compile("[\n\r\x85\u2028\u2029]")
_FIELD_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,39}")
_NO_NAMES = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})  # that YAML reads as values
_NO_BLOCK = (
    "[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"  # costly to compile
)
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")


Attached = Image | Audio | Resource
Container = Mapping[object, object] | Collection[object]

_SCALARS = (str, bytes, int, float, type(None), Image, Audio, Resource)


@dataclass(frozen=True, slots=True)
class Rendered:
    """A value's text; `total` is the length of the whole text, None where it was not rendered to its end.

    For a container `items` is how many it has and `shown` how many of them are in the text whole.
    """

    text: str
    total: int | None
    cut: bool = False
    shown: int | None = None
    items: int | None = None
    attachments: tuple[Attached, ...] = ()


def render(value: object, *, limit: int | None = None) -> Rendered:
    """Write a value as text of at most `limit` characters."""
    attachments: list[Attached] = []
    text = _scalar_text(value)
    if text is None:
        text = _leaf_text(value, limit, attachments)
    if text is None:
        container = _as_container(value)
        if container is not None and (block := _one_text(container)) is not None:
            return _cut(block, limit, attachments)
        if container is not None:
            return _Rendering(limit, attachments).container(container)
        text = str(value)
    return _cut(text, limit, attachments)


def render_lines(value: object, *, limit: int | None = None) -> Iterator[str]:
    """Write a value line by line: a text has its own lines, a container one for each item, however deep it is.

    With a limit of characters, what lies beyond it is not even looked at, and the last line may be half of one.
    """
    container = None if isinstance(value, str) or _leaf_text(value, 0, []) is not None else _as_container(value)
    if container is None:
        yield from render(value, limit=limit).text.removesuffix("\n").split("\n")
        return
    left = _UNLIMITED if limit is None else limit
    for chunk in _chunks(container, 1 if limit else _CHUNK):
        lines = flow_lines(chunk, room=left)
        if lines is None:
            lines = [line.replace("\n", " ") for line in _Rendering(limit, []).item_lines(chunk, flow=True)]
        for line in lines:
            yield line
            left -= len(line)
        if left <= 0:
            return


def escape_surrogates(text: str) -> str:
    """Make text that can be sent as UTF-8: halves of surrogate pairs, which cannot, become `\\udXXX`."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text


def _cut(text: str, limit: int | None, attachments: list[Attached]) -> Rendered:
    if limit is None or len(text) <= limit:
        whole = escape_surrogates(text)
        return Rendered(whole, len(whole), attachments=tuple(attachments))
    return Rendered(escape_surrogates(text[:limit])[:limit], len(text), cut=True, attachments=tuple(attachments))


def _scalar_text(value: object) -> str | None:
    """Write text, a number, a truth value or None as str() does; None for anything else."""
    if isinstance(value, str):
        return str.__str__(value)
    if value is None or isinstance(value, bool):
        return str(value)
    return _number(value) if isinstance(value, int | float) else None


def _one_text(value: Container) -> str | None:
    """Write a mapping whose only field is a text of several lines as that text, below its name; None for others."""
    if not isinstance(value, Mapping) or len(value) != 1:
        return None
    [(name, text)] = value.items()
    if type(name) is not str or type(text) is not str or "\n" not in text or not _FIELD_NAME.fullmatch(name):
        return None
    if name.lower() in _NO_NAMES or re.search(_NO_BLOCK, text):
        return None
    indented = "2" if text[0] in " \n" else ""  # the parser cannot find it out there
    ending = "+" if text.endswith("\n\n") or not text.strip("\n") else "" if text.endswith("\n") else "-"
    lines = text.split("\n")
    return "\n".join([f"{name}: |{indented}{ending}", *(f"  {line}" if line else "" for line in lines)])


def _number(value: float) -> str:
    """Write a number as both YAML and Python read it."""
    if isinstance(value, int):
        return int.__repr__(value) if -_PLAIN_INT < value < _PLAIN_INT else hex(value)
    text = float.__repr__(value)
    if "n" in text:
        return text.replace("nan", ".nan").replace("inf", ".inf")
    # YAML asks for a point in front of the exponent.
    return text.replace("e", ".0e") if "e" in text and "." not in text else text


def _leaf_text(value: object, limit: int | None, attachments: list[Attached]) -> str | None:
    """Write bytes and attachments; None for anything else."""
    match value:
        case bytes() | bytearray() | memoryview():
            data = bytes(value)
            if limit is None or len(data) <= limit:
                return repr(data)
            return f"{data[:limit]!r}... {len(data)} bytes"
        case Image() | Audio():
            attachments.append(value)
            return f"<{value.mime_type}, {len(value.data)} bytes>"
        case Resource():
            attachments.append(value)
            return f"<resource {value.uri}>"
    return None


def _as_container(value: object) -> Container | None:
    """Return a value that holds others as a mapping or a sequence; records are mappings of their fields."""
    if isinstance(value, dict | list):
        return value
    if isinstance(value, type):
        return None
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return dict(zip(value._fields, value, strict=True))
    fields = getattr(type(value), "model_fields", None)
    if fields is not None:
        return {name: getattr(value, name) for name in fields}
    if isinstance(value, AbstractSet):
        try:
            return sorted(value)  # so that equal sets have equal texts
        except TypeError:
            return list(value)
    return value if isinstance(value, Mapping | Sequence | ValuesView) else None


def _chunks(value: Container, size: int) -> Iterator[Container]:
    """Cut a container into smaller ones of its kind, a mapping or a list each."""
    if isinstance(value, Mapping):
        pairs = iter(value.items())
        while part := dict(itertools.islice(pairs, size)):
            yield part
        return
    items = iter(value)
    while chunk := list(itertools.islice(items, size)):
        yield chunk


class _Rendering:
    """One container on its way to text, through the YAML emitter, within a budget of characters.

    The budget is counted before anything is quoted or separated, so it can only be too generous: text that ran out
    of it is always longer than what is kept of it.
    """

    def __init__(self, limit: int | None, attachments: list[Attached]) -> None:
        import yaml  # noqa: PLC0415 - it takes longer than most runs, and most answers are a string or a number

        self._yaml = yaml
        self._resolve: Callable[..., object] = yaml.resolver.Resolver().resolve
        self._emitter = getattr(yaml, "CDumper", yaml.Dumper)
        self._limit = limit
        self._attachments = attachments
        self._budget = 0
        self._parents: list[int] = []

    def container(self, value: Container) -> Rendered:
        if self._is_flow(value) and (line := self._one_line(value)) is not None:
            return Rendered(line, len(line), shown=len(value), items=len(value), attachments=tuple(self._attachments))
        self._attachments.clear()
        self._parents.append(id(value))
        lines: list[str] = []
        room = _UNLIMITED if self._limit is None else self._limit
        for line in self.item_lines(value):
            if len(line) > room:
                # Whole items read best, but one huge item must not hide behind small ones in front of it.
                rest = [line[:room]] if self._limit is not None and room * 2 > self._limit else []
                return self._rendered([*lines, *rest], value, shown=len(lines))
            lines.append(line)
            room -= len(line) + 1
        return self._rendered(lines, value, shown=len(lines))

    def _rendered(self, lines: list[str], value: Container, *, shown: int) -> Rendered:
        text, cut = "\n".join(lines), shown < len(value)
        total = None if cut else len(text)
        return Rendered(text, total, cut, shown, len(value), tuple(self._attachments))

    def _one_line(self, value: Container) -> str | None:
        """Write the whole container in flow style if that is short."""
        most = ONE_LINE if self._limit is None else min(ONE_LINE, max(self._limit, len("[]")))
        if len(value) > most:
            return None
        self._budget = most + 1
        events: list[Event] = []
        self._add(value, events)
        text = self._emit(events)
        return text if len(text) <= most else None

    def item_lines(self, value: Container, *, flow: bool = False) -> Iterator[str]:
        start, end = self._around(value, flow=False)
        for chunk in _chunks(value, _CHUNK):
            self._budget = _UNLIMITED if self._limit is None else self._limit + 1
            events = [start]
            self._add_items(chunk, events, flow=flow)
            yield from _split_items(self._emit([*events, end]), sequence=not isinstance(value, Mapping))

    def _around(self, value: object, *, flow: bool) -> tuple[Event, Event]:
        events = self._yaml.events
        if isinstance(value, Mapping):
            return events.MappingStartEvent(None, None, True, flow_style=flow), events.MappingEndEvent()
        return events.SequenceStartEvent(None, None, True, flow_style=flow), events.SequenceEndEvent()

    def _is_flow(self, value: Container) -> bool:
        """True if a container is written in flow style: it is shallow, and not a list of objects."""
        if not isinstance(value, Mapping) and isinstance(_as_container(next(iter(value), None)), Mapping):
            return False  # each object has a line of its own, however short
        return self._is_shallow(value, _FLOW_LEVELS)

    def _is_shallow(self, value: Container, levels: int) -> bool:
        """True if containers are nested in it at most so deeply; of a huge one, only what can be shown is looked at."""
        inside = value.values() if isinstance(value, Mapping) else value
        shown = inside if self._limit is None else itertools.islice(inside, self._limit + 1)
        for item in shown:
            container = None if isinstance(item, _SCALARS) else _as_container(item)
            if container is not None and (levels == 1 or not self._is_shallow(container, levels - 1)):
                return False
        return True

    def _emit(self, inner: list[Event]) -> str:
        yaml, events = self._yaml, self._yaml.events
        back = _hide_astral([event for event in inner if isinstance(event, events.ScalarEvent)])
        start = [events.StreamStartEvent(), events.DocumentStartEvent()]
        document = [*start, *inner, events.DocumentEndEvent(), events.StreamEndEvent()]
        try:
            text = yaml.emit(document, Dumper=self._emitter, width=_UNLIMITED, allow_unicode=True)
        except UnicodeEncodeError:  # half of a surrogate pair: only the emitter written in Python can escape it
            text = yaml.emit(document, Dumper=yaml.Dumper, width=_UNLIMITED, allow_unicode=True)
        return str(text).translate(back).removesuffix("\n")

    def _add(self, value: object, into: list[Event], *, flow: bool = True) -> None:
        """Append the events of a value; past the budget, of as much of it as makes a document."""
        if value is None or isinstance(value, bool):
            self._add_plain("null" if value is None else str(value).lower(), into)
        elif (text := _scalar_text(value)) is not None:
            self._add_text(text, into) if isinstance(value, str) else self._add_plain(text, into)
        elif (text := _leaf_text(value, max(self._budget, 0), self._attachments)) is not None:
            self._add_text(text, into)
        elif len(self._parents) > _MAX_DEPTH or id(value) in self._parents:
            self._add_text("...", into)
        elif (container := _as_container(value)) is not None:
            flow = flow or self._is_flow(container)
            start, end = self._around(container, flow=flow)
            self._parents.append(id(value))
            into.append(start)
            self._budget -= len("[]")
            self._add_items(container, into, flow=flow)
            into.append(end)
            self._parents.pop()
        else:
            self._add_text(str(value), into)

    def _add_items(self, value: Container, into: list[Event], *, flow: bool) -> None:
        mapping = value if isinstance(value, Mapping) else None
        for item in value:
            if self._budget <= 0:
                break
            if not flow:
                self._budget -= 2 * (len(self._parents) - 1)  # its indentation
            if mapping is not None:
                self._add(item if item is None or isinstance(item, str | bool | int | float) else str(item), into)
            self._add(item if mapping is None else mapping[item], into, flow=flow)

    def _add_text(self, text: str, into: list[Event]) -> None:
        text = text[: max(self._budget, 1)]
        self._budget -= max(len(text), 1)
        # In any other style the emitter would spread line breaks over several lines.
        style = '"' if _LINE_BREAK.search(text) else None
        plain = self._resolve(self._yaml.ScalarNode, text, (True, False)) == "tag:yaml.org,2002:str"
        into.append(self._yaml.events.ScalarEvent(None, None, (plain, True), text, style=style))

    def _add_plain(self, text: str, into: list[Event]) -> None:
        self._budget -= len(text)
        into.append(self._yaml.events.ScalarEvent(None, None, (True, False), text))


def _split_items(block: str, *, sequence: bool) -> Iterator[str]:
    """Split a block collection into its items: each begins at the margin, and what belongs to it is indented.

    In a mapping a list stands at the margin too, below its key, and so does the value of a key that is too long to
    stand in front of its colon.
    """
    item: list[str] = []
    for line in block.split("\n"):
        begins = line.startswith("- ") if sequence else not line.startswith((" ", "- ", ": "))
        if begins and item:
            yield "\n".join(item)
            item.clear()
        item.append(line)
    yield "\n".join(item)


def _hide_astral(scalars: list[ScalarEvent]) -> dict[int, str]:
    """Replace characters that the emitter would escape; returns the table that brings them back."""
    astral = {char for scalar in scalars for char in _ASTRAL.findall(scalar.value)}
    if not astral:
        return {}
    used = {char for scalar in scalars for char in scalar.value}
    free = (code for code in range(0xE000, 0xF900) if chr(code) not in used)
    stand_ins = dict(zip(sorted(astral), free, strict=False))
    there = {ord(char): code for char, code in stand_ins.items()}
    for scalar in scalars:
        scalar.value = scalar.value.translate(there)
    return {code: char for char, code in stand_ins.items()}
