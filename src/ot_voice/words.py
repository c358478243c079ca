"""Text as spoken words: names of devices, what recognisers wrote, numbers."""

from __future__ import annotations

import re
import unicodedata

_SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])")
_SIGNS = (("%", " percent "), ("°", " degrees "), ("&", " and "), ("per cent", "percent"))
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?|[0-9]+")


def say_number(number: int) -> str:
    """Return a number in words, up to 999; beyond that, digit by digit."""
    if number < 20:
        return _SMALL[number]
    if number < 100:
        return _TENS[number // 10] + (f" {_SMALL[number % 10]}" if number % 10 else "")
    if number < 1000:
        return f"{_SMALL[number // 100]} hundred" + (f" {say_number(number % 100)}" if number % 100 else "")
    return " ".join(_SMALL[int(digit)] for digit in str(number))


def spoken_form(text: str) -> str:
    """Return the words of a text in lower case, without signs: "Bed-room Lamp 2" and "bed room lamp two" are the same.

    Whatever the text, the outcome is letters, apostrophes and single spaces.
    """
    text = unicodedata.normalize("NFKD", _CAMEL.sub(" ", text[:_LONGEST]))
    text = "".join(character for character in text if not unicodedata.combining(character)).casefold()
    for sign, meaning in _SIGNS:
        text = text.replace(sign, meaning)
    words = _WORD.findall(text.replace("’", "'"))
    return " ".join(say_number(int(word)) if word.isdecimal() else word for word in words)


_LONGEST = 2000  # characters that are looked at
