"""Numbers and dates, however they are written: with signs between their digits, with a unit, in words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_PLAIN = re.compile(r"\d+")
_POINT = re.compile(r"(\d+)\.(\d{1,2}|\d{4,})")
_NUMBER = re.compile(r"\d[\d.,]*(?:[eE][-+]?\d{1,3})?")
_OF_COMPUTERS = re.compile(r"0(?:x[0-9a-f]{1,16}|b[01]{1,64}|o[0-7]{1,22})")
_UNIT = re.compile(r"([\d.,]+) ?(k|m|b|mn|bn|thousand|million|billion|mio|mrd)\.?", re.IGNORECASE)
_AROUND = " \t\n+-()$€£¥₹%"
_CURRENCY = re.compile(r"^[A-Za-z]{3}\s+(?=[\d+-])|(?<=\d)\s*[A-Za-z]{3}$")
_BETWEEN = str.maketrans("", "", "'’_ \u00a0\u202f\u2009")

_DIGITS = {
    word: digit
    for digit, word in enumerate(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"])
}
_SMALL = {
    **_DIGITS,
    **{
        word: number
        for number, word in enumerate(
            [
                "ten",
                "eleven",
                "twelve",
                "thirteen",
                "fourteen",
                "fifteen",
                "sixteen",
                "seventeen",
                "eighteen",
                "nineteen",
            ],
            10,
        )
    },
    **{
        word: number * 10
        for number, word in enumerate(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], 2)
    },
}
_LARGE = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
NUMBER_WORDS = frozenset({*_SMALL, *_LARGE, "oh"})
_MOST_WORDS = 40  # of one number, which grows with each
_UNITS = {"k": 1000, "t": 1000, "m": 10**6, "b": 10**9}

_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_MONTH_OF = {**{month[:3]: number for number, month in enumerate(_MONTHS, 1)}, "sept": 9}
_MONTH_OF |= {month: number for number, month in enumerate(_MONTHS, 1)}
MONTHS = frozenset(_MONTH_OF)
# Three numbers with blanks between, as they stand in a text that was made flat.
_YEAR_FIRST = re.compile(r"(?<!\w)(\d{4}) {1,2}(\d{1,2}) {1,2}(\d{1,2})(?!\d)")
_YEAR_LAST = re.compile(r"(?<!\w)(\d{1,2}) {1,2}(\d{1,2}) {1,2}(\d{4}|\d\d)(?!\w)")
_DAY = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?")


def numbers_in(text: str) -> Iterator[str]:
    """Yield the plain forms of a number, for each way to read its points and commas; none for what is no number."""
    if (simple := _POINT.fullmatch(text)) is not None:
        whole, fraction = simple.groups()
        yield _pointed(whole, fraction)
        return
    bare = text.strip(_AROUND)
    if not _PLAIN.fullmatch(bare):
        bare = _CURRENCY.sub("", bare).translate(_BETWEEN).strip(_AROUND)
        if _OF_COMPUTERS.fullmatch(bare.lower()):
            yield str(int(bare, 0))
            return
        if (unit := _UNIT.fullmatch(bare)) is not None:
            for number in numbers_in(unit[1]):
                yield _times(number, _UNITS[unit[2][0].lower()])
            return
        if not _NUMBER.fullmatch(bare):
            return
    yield from _read(bare)


def _read(bare: str) -> Iterator[str]:
    if "e" in bare or "E" in bare:
        bare = format(float(bare.replace(",", ".")), "f") if bare.count(".") + bare.count(",") < 2 else ""
    signs = [sign for sign in bare if sign in ".,"]
    if not signs:
        if bare:
            yield bare.lstrip("0") or "0"
        return
    grouped = len(signs) == 1 and len(bare) - bare.rfind(signs[0]) == 4
    if grouped or (len(signs) > 1 and len({*signs}) == 1):  # 1,000 and 1.000.000
        yield bare.replace(signs[0], "").lstrip("0") or "0"
    if len(signs) == 1 or signs[-1] != signs[0]:
        whole, _, fraction = bare.rpartition(signs[-1])
        yield _pointed(whole.replace(",", "").replace(".", ""), fraction)


def _pointed(whole: str, fraction: str) -> str:
    whole, fraction = whole.lstrip("0") or "0", fraction.rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole


def _times(number: str, unit: int) -> str:
    whole, _, fraction = number.partition(".")
    digits = len(str(unit)) - 1
    return _pointed(whole + fraction[:digits].ljust(digits, "0"), fraction[digits:])


# -- words


def spelled_in(tokens: Sequence[str], places: Sequence[int]) -> Iterator[str]:
    """Yield the numbers that words at these places say, as digits one by one or as a whole."""
    words = list[str]()
    for place, following in zip(places, (*places[1:], -1), strict=True):
        words.append(tokens[place])
        if following != place + 1 and (following != place + 2 or tokens[place + 1] != "and"):
            digits = [_DIGITS.get("zero" if word == "oh" else word) for word in words]
            in_turn = len(words) > 1 and None not in digits
            yield "".join(map(str, digits)) if in_turn else str(_add_up(words[:_MOST_WORDS]))
            words = []


def _add_up(words: Sequence[str]) -> int:
    total = part = 0
    for word in words:
        if word in _SMALL or word == "oh":
            part += _SMALL.get(word, 0)
        elif word == "hundred":
            part = max(part, 1) * 100
        elif word in _LARGE:
            total, part = total + max(part, 1) * _LARGE[word], 0
    return total + part


# -- dates


def dates_in(numbers: str) -> Iterator[str]:
    """Yield dates as year, month and day without signs, for each order in which numbers can be read as such."""
    for year, month, day in _YEAR_FIRST.findall(numbers):
        yield from _date(year, int(month), int(day))
    for first, second, year in _YEAR_LAST.findall(numbers):
        whole = year if len(year) == 4 else f"20{year}"
        yield from _date(whole, int(second), int(first))
        yield from _date(whole, int(first), int(second))


def dates_with_months(tokens: Sequence[str]) -> Iterator[str]:
    """Yield in the same form the dates whose months are written as words."""
    for place, month in enumerate(tokens):
        if month in MONTHS:
            before, after = tokens[max(0, place - 2) : place], tokens[place + 1 : place + 3]
            days = [day[1] for day in map(_DAY.fullmatch, (*before, *after[:1])) if day is not None]
            year = next((token for token in after if len(token) == 4 and token.isdecimal()), "")
            for day in days if year else ():
                yield from _date(year, _MONTH_OF[month], int(day))


def _date(year: str, month: int, day: int) -> Iterator[str]:
    if 1 <= month <= 12 and 1 <= day <= 31:
        yield f"{year}{month:02}{day:02}"
