"""Text of others, made visible to a person: nothing in it hides, moves or imitates anything.

What shows nothing, turns the text around it or runs out of sight is written in marks: `⟨U+202E⟩`, `⟨500 line breaks⟩`,
`⟨12 × U+115F⟩`. The sign that opens a mark is itself written as one, so no text can imitate a mark, and what was
written can be told exactly from what is shown.
"""

from __future__ import annotations

import re
from functools import lru_cache
from unicodedata import category, combining

OPENING = "⟨"
_LONG = 8  # spaces in a row, from which on they are counted
_INDENT = 40  # spaces in front of a line of code
_MOST_ON_ONE = 3  # combining marks on one letter; more of them cover the lines around it
_NAMES = {" ": "space", "\n": "line break", "\t": "tab"}
_CATEGORIES = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs")
_BLANK = (  # letters, symbols and marks whose glyph is empty, or that no program draws
    "\u034f", "\u115f\u1160", "\u17b4\u17b5", "\u180b\u180f", "\u2800", OPENING, "\u3164", "\ufe00\ufe0f", "\uffa0",
    "\ufffc", "\U0001107f", "\U00013441\U00013442", "\U00016fe4", "\U0001d159", "\U000e0000\U000e0fff",
)  # fmt: skip
_SUSPECT = re.compile("[^\x21-\x7e]+")
_NOT_PLAIN = re.compile(f"[^\x20-\x7e\n\t{OPENING}]+")
_OF_SCRIPTS = "\xa0\u200c\u200d\u3000\ufe0f"  # blanks and joiners that letters of some scripts, and emoji, need
_REPEATED = re.compile(r"(.{1,4}?)\1{3,}", re.DOTALL)
_BREAKS = re.compile("(\n{4,})")


def visible(text: str, *, lines: bool = False) -> str:
    """Write out everything that an eye would miss; with `lines`, line breaks, tabs and indentation stay as they are."""
    if text.isascii() and text.isprintable() and " " * _LONG not in text:
        return text
    if not lines:
        return _write(text)
    parts = _BREAKS.split(text)  # a text, a run of line breaks, a text, and so on
    return "".join(
        _write(part) if number % 2 else "\n".join(map(visible_line, part.split("\n")))
        for number, part in enumerate(parts)
    )


def visible_line(line: str) -> str:
    """Write out everything in a line that an eye would miss; its indentation and single tabs stay."""
    sign = line.startswith(("+", "-"))  # of a difference
    indent = sign + min(len(line) - sign - len(line[sign:].lstrip(" ")), _INDENT)
    return line[:indent] + _write(line[indent:], " \t")


def visible_output(text: str) -> str:
    """Write out what acts on a terminal, turns the text or shows nothing; layout stays, and so do its marks."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return _write(text, _OF_SCRIPTS, _NOT_PLAIN)


def _write(text: str, kept: str = " ", suspect: re.Pattern[str] = _SUSPECT) -> str:
    """Write a text whose blanks are `kept` where there are few in a row."""
    return suspect.sub(
        lambda found: _write_suspect(found[0], text[max(found.start() - 1, 0) : found.start()], kept), text
    )


def _write_suspect(text: str, before: str, kept: str) -> str:
    """Write characters beyond ASCII and blanks, with what stands before them."""
    written: list[str] = []
    hidden: list[str] = []  # a run of characters that show nothing, and blanks
    on_one = 0  # combining marks since the last letter
    for character in text:
        kind = _kind(character)
        if kind == "mark":
            on_one += 1
            on_letter = on_one <= _MOST_ON_ONE and category(before or " ")[0] in "LM"
            kind = "shown" if on_letter and not hidden else "hidden"
        else:
            on_one = 0
        if kind == "hidden":
            hidden.append(character)
        else:
            written += [_write_hidden("".join(hidden), kept), character]
            hidden.clear()
        before = character
    return "".join([*written, _write_hidden("".join(hidden), kept)])


@lru_cache(maxsize=4096)
def _kind(character: str) -> str:
    """Return whether a character is `shown` or `hidden`, which blanks count as, or a `mark` on the letter before it."""
    kind = category(character)
    is_blank = any(each[0] <= character <= each[-1] for each in _BLANK)
    if kind in _CATEGORIES or is_blank or combining(character) == 1:  # 1: drawn across its letter
        return "hidden"
    return "mark" if kind in ("Mn", "Me") else "shown"


def _write_hidden(text: str, kept: str) -> str:
    """Write a run of characters that show nothing; what repeats in it, as a count."""
    written, at = list[str](), 0
    for run in _REPEATED.finditer(text):
        written += (_write_one(each, kept) for each in text[at : run.start()])
        unit, count, at = run[1], len(run[0]) // len(run[1]), run.end()
        names = ", ".join(map(_name, unit))
        if unit == " " and count < _LONG:
            written.append(run[0])
        elif unit in _NAMES:
            written.append(f"⟨{count} {names}s⟩")
        else:
            written.append(f"⟨{count} × {names}⟩" if len(unit) == 1 else f"⟨{count} × ({names})⟩")
    return "".join([*written, *(_write_one(each, kept) for each in text[at:])])


def _write_one(character: str, kept: str) -> str:
    return character if character in kept else f"⟨{_name(character)}⟩"


def _name(character: str) -> str:
    return _NAMES.get(character) or f"U+{ord(character):04X}"
