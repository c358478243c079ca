"""Values that are only a part of what there is (`more: true`): does the code look at that, or take the part for all?

Such a mapping stays a plain dict. Its names are texts that notice when they are looked up, compared, copied one by one
or shown, whoever has the mapping or a copy of it by then.
"""

from __future__ import annotations

from typing import Any, NoReturn

from ot_kernel.values import accept_names

MORE = "more"
MORE_LINES = "has_more"  # of a stored result
_OF_THE_REST = frozenset(
    {MORE, MORE_LINES, "total", "total_lines", "offset", "cut_by"}
)  # whoever looks at one of these knows that there is more
_MOST_FIELDS = 16  # of a mapping that may have a part inside
_MOST_PARTS = 1_000  # of one run
_LONG = 200  # characters of a text that may be what was cut

LOOKED, TAKEN, OTHER = "looked", "taken", "other"

Report = tuple[str, str, int, int, bool, bool, int]
"""A tool; what it gave, how many, of how many or 0; if that is in the result, if it was taken; how many such calls."""


class Part:
    """A part that one call gave, and the use that the code made of it."""

    __slots__ = ("count", "inner", "looked", "other", "taken", "tool", "total", "what")

    def __init__(self, tool: str, value: dict[str, Any], *, inner: bool) -> None:
        self.tool = tool
        self.inner = inner  # it came inside another value
        self.what, self.count, self.total = _measure(value)
        _watch(value, self)
        self.looked = self.taken = self.other = False

    @property
    def unseen(self) -> bool:
        """True if the code used what came, and not what says that it is a part."""
        return not self.looked and (self.taken or not (self.other or self.inner))


class WatchedName(str):
    """A name in a mapping. As a text it is like any other, and copies of it are plain."""

    __slots__ = ("part", "seen_as")
    part: Part
    seen_as: str  # the attribute of the part that becomes true

    def _note(self) -> None:
        setattr(self.part, self.seen_as, True)

    def __eq__(self, other: object) -> bool:
        self._note()
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        self._note()
        return str.__ne__(self, other)

    def __lt__(self, other: str) -> bool:
        self._note()
        return str.__lt__(self, other)

    def __hash__(self) -> int:
        self._note()
        return str.__hash__(self)

    def __str__(self) -> str:
        self._note()
        return str.__str__(self)

    def __repr__(self) -> str:
        self._note()
        return str.__repr__(self)

    def __format__(self, form: str) -> str:
        self._note()
        return str.__format__(self, form)

    def __reduce_ex__(self, _: object) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)

    def __deepcopy__(self, _: object) -> WatchedName:
        return self

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"'str' object has no attribute {name!r}")


accept_names(WatchedName)


class Parts:
    """The parts that the calls of one run gave."""

    def __init__(self) -> None:
        self._given: list[Part] = []
        self._paged: set[str] = set()  # tools of which code reads one part after the other

    def add(self, tool: str, asked: dict[str, object], found: list[dict[str, Any]], value: object) -> None:
        """Watch the parts that were found in the value of a call, unless it was `asked` for just these."""
        if "offset" in asked:
            self._paged.add(tool)
            return
        limit = asked.get("limit", asked.get("count"))
        for each in found[: _MOST_PARTS - len(self._given)]:
            if type(limit) is int and not _is_cut_below(limit, each):
                continue
            self._given.append(Part(tool, each, inner=each is not value))

    def unseen(self) -> list[Part]:
        """List those that code took for the whole."""
        return [part for part in self._given if part.unseen and part.tool not in self._paged]


def find_parts(value: Any) -> list[dict[str, Any]]:
    """Find what says that there is more: the value itself, a field of it, or members of a list."""
    found: list[dict[str, Any]] = []
    if type(value) is dict:
        if value.get(MORE) is True or value.get(MORE_LINES) is True:
            found.append(value)
        elif len(value) <= _MOST_FIELDS:
            for item in value.values():
                if type(item) is dict and item.get(MORE) is True:
                    found.append(item)  # noqa: PERF401 - a comprehension costs every call more than it saves
    elif type(value) is list and value and type(value[0]) is dict and MORE in value[0]:
        found = [item for item in value if type(item) is dict and item.get(MORE) is True]
    return found


def report_parts(before: list[Part]) -> list[Report]:
    """Tell of the parts that were unseen before the result was written, once a tool; those in it are seen by now."""
    reports: dict[tuple[str, bool], Report] = {}
    for part in before:
        first = reports.get((part.tool, part.looked))
        facts = (part.tool, part.what, part.count, part.total, part.looked, part.taken) if first is None else first[:6]
        reports[part.tool, part.looked] = (*facts, 1 if first is None else first[6] + 1)
    return list(reports.values())


def count_items(value: Any) -> int | None:
    """Count what a part holds: by so many the next one begins later. None if there is no other."""
    is_part = type(value) is dict and (value.get(MORE) is True or value.get(MORE_LINES) is True)
    return _measure(value)[1] if is_part else None


def _is_cut_below(limit: int, value: dict[str, Any]) -> bool:
    """True if something else than the limit has cut it. The lines of a patch are not counted, nor those of a tree."""
    what, count, _ = _measure(value)
    return bool(what) and "patch" not in value and count < limit


def _measure(value: dict[str, Any]) -> tuple[str, int, int]:
    """Return what a part consists of, how many of these it has, and of how many, or 0 where that is not known."""
    total = value.get("total", value.get("matches", value.get("total_lines")))
    total = total if type(total) is int else 0
    lists = {name: len(item) for name, item in value.items() if type(item) is list}
    text = value.get("text")
    if type(value.get("unit")) is str and type(value.get("read")) is int:  # pages of a document
        what, count = f"{value['unit']}s", value["read"]
    elif type(value.get("rows")) is int:  # of several tables
        what, count = "rows", value["rows"]
    elif type(text) is str and (text or not lists):
        what, count = "characters", len(text)
    elif lists:
        what = "rows" if "rows" in lists else max(lists, key=lambda name: lists[name])
        count = lists[what]
    else:
        return "", 0, 0
    if type(value.get("files")) is int:  # of so many files, in which there are `total` matches
        what, total = "files", value["files"]
    return what, count, total if total > count else 0


def _watch(value: dict[str, Any], part: Part) -> None:
    fields = list(value.items())
    value.clear()
    for name, item in fields:
        is_content = type(item) is list or (type(item) is str and len(item) > _LONG)
        watched = WatchedName(name)
        object.__setattr__(watched, "part", part)
        object.__setattr__(watched, "seen_as", LOOKED if name in _OF_THE_REST else TAKEN if is_content else OTHER)
        value[watched] = item
