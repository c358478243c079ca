"""The grammar of short commands in JSGF, around the names that there are right now, and text as spoken words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from mcp_core.quick_dataclass import dataclass

_SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])")
_SIGNS = (("%", " percent "), ("°", " degrees "), ("&", " and "), ("per cent", "percent"))
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?|[0-9]+")
MOST_NAMES = 500  # of each kind; a grammar of thousands would accept anything
MOST_WORDS = 6  # of one name
_LONGEST = 2000  # characters that are looked at
YES = ("yes", "yes please", "yes do it", "yes go ahead", "go ahead", "do it")
NO = ("no", "nope", "no thanks", "no thank you", "stop", "cancel", "don't", "do not", "don't do it", "never mind")


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
    """Return the words of a text in lower case, without signs: "Bed-room Lamp 2" is the same as "bed room lamp two"."""
    # Whatever the text, the outcome is letters, apostrophes and single spaces.
    text = unicodedata.normalize("NFKD", _CAMEL.sub(" ", text[:_LONGEST]))
    text = "".join(character for character in text if not unicodedata.combining(character)).casefold()
    for sign, meaning in _SIGNS:
        text = text.replace(sign, meaning)
    words = _WORD.findall(text.replace("’", "'"))
    return " ".join(say_number(int(word)) if word.isdecimal() else word for word in words)


@dataclass(frozen=True, slots=True)
class Names:
    devices: tuple[str, ...] = ()  # and rooms, as people call them
    tools: tuple[str, ...] = ()  # as `pack.tool`


def spoken_names(names: Iterable[str]) -> dict[str, str]:
    """Return names by their spoken words: the first of two that sound alike, and none that cannot be spoken."""
    spoken: dict[str, str] = {}
    for name in names:
        form = spoken_form(name)
        if form and len(form.split()) <= MOST_WORDS:
            spoken.setdefault(form, name)
        if len(spoken) >= MOST_NAMES:
            break
    return spoken


def render_grammar(devices: Sequence[str], tools: Sequence[str], *, written: bool = False) -> str:
    """Write the JSGF of every command; devices and tools are spoken forms, so nothing in them is syntax."""
    # As a text would have them (`written`), numbers may be digits; and single words that are no commands are left out.
    commands = [] if written else ["/2/ <answer>"]
    rules = [_rule("answer", ["yes", "no", "stop", "cancel", "help", "thank you", "never mind", "repeat that"])]
    if devices:
        rules += [_rule("device", devices), "<which> = /0.8/ the <device> | /0.2/ <device>;", *_DEVICE_RULES]
        rules.append(f"<number> = {_NUMBER}{_DIGITS if written else ''};")
        # Anything can be locked, opened and the like, but sooner what is called a door.
        move = "(lock | unlock | open | close)"
        if closable := [device for device in devices if not _CLOSABLE.isdisjoint(device.split())]:
            rules += [_rule("closable", closable), f"<move> = /9/ {move} [the] <closable> | /1/ {move} <which>;"]
        else:
            rules.append(f"<move> = {move} <which>;")
        commands += ["/40/ <switch>", "/20/ <set>", "/20/ <move>", "/15/ <ask>"]
    if tools:
        rules += [_rule("tool", tools), "<use> = (run | use | call | start) [the] <tool> [tool];"]
        commands.append("/3/ <use>")
    rules.append(_rule("sentence", commands))
    command = "public <command> = (/50/ <NULL> | /1/ please) <sentence> (/50/ <NULL> | /1/ please);"
    return "\n".join(["#JSGF V1.0;", "grammar commands;", *rules, command, ""])


def read_answer(text: str) -> bool | None:
    """Return the answer that a text is, word for word: yes, no, or None for everything else."""
    words = spoken_form(text)
    return True if words in YES else False if words in NO else None


def find_missing(text: str) -> str:
    """Return the question that a command without its device calls for, such as "Turn on what?"; nothing for others."""
    found = _INCOMPLETE.fullmatch(spoken_form(text))
    return f"{found[1].capitalize()} what? Please say it again with the device." if found else ""


def essence(text: str) -> list[str]:
    """Return what a command says, whichever way: "switch the light on" and "turn on the light" are the same."""
    said = text.replace("what's", "what is").replace("switch ", "turn ").replace("change ", "set ")
    words = [word for word in said.split() if word not in _UNIMPORTANT]
    if words[:1] == ["turn"] and words[-1] in {"on", "off"}:
        words.insert(1, words.pop())
    return words


def opposite(text: str) -> str:
    """Return the command that does the opposite, which sounds much the same; nothing for others."""
    words = text.split()
    swapped = [_OPPOSITES.get(word, word) for word in words]
    return " ".join(swapped) if swapped != words else ""


_PAIRS = (("on", "off"), ("up", "down"), ("lock", "unlock"), ("locked", "unlocked"), ("open", "close"))
_OPPOSITES = {**dict(_PAIRS), **{two: one for one, two in _PAIRS}}
_UNIMPORTANT = {"the", "please", "percent", "degrees"}
_INCOMPLETE = re.compile(
    r"(?:please )?((?:turn|switch)(?: on| off)?|dim|brighten|toggle|lock|unlock|open|close|set)(?: the| a)?(?: please)?"
)


def render_answers() -> str:
    """Write the JSGF of the answers to a question that is put for a yes or a no."""
    return "\n".join(["#JSGF V1.0;", "grammar answers;", f"public {_rule('answer', [*YES, *NO])}", ""])


def _rule(name: str, choices: Sequence[str]) -> str:
    return f"<{name}> = {' | '.join(choices)};"


_CLOSABLE = {"door", "doors", "gate", "garage", "lock", "window", "windows", "blinds", "curtains", "shutters", "valve"}
# Weights: what people say often, and what would otherwise be found in any sound, such as "four point seven".
_NUMBER = (
    "/8/ (ten | <tens> | a hundred | one hundred) | /2/ <tens> <unit> | /2/ (zero | <unit> | eleven | twelve | <teen>)"
)
_DIGITS = f" | /8/ ({' | '.join(f'{number} | {number}%' for number in range(101))})"
_SET = (
    "/6/ (/3/ set | /3/ dim | turn | change) <which> to <value>",
    "/2/ (dim | brighten) <which>",
    "/2/ turn <which> (up | down) (/3/ <NULL> | /1/ by <number> [percent | degrees])",
)
_ASK = (
    "(what is | what's) the <quantity> (of | in) <which>",
    "how (warm | cold | bright | humid) is (/4/ <NULL> | /1/ it in) <which>",
    "is <which> (on | off | open | closed | /3/ locked | unlocked)",
)
_DEVICE_RULES = (
    "<unit> = one | two | three | four | five | six | seven | eight | nine;",
    "<tens> = twenty | thirty | forty | fifty | sixty | seventy | eighty | ninety;",
    "<teen> = thirteen | fourteen | fifteen | sixteen | seventeen | eighteen | nineteen;",
    "<quantity> = temperature | humidity | brightness | battery | state | status | level;",
    "<switch> = (turn | switch) (on | off) <which> | (turn | switch) <which> (on | off) | toggle <which>;",
    "<mode> = heat | cool | auto | off;",
    "<value> = /20/ <number> [percent | degrees] | /1/ <number> point <unit> [degrees] | /3/ <mode>;",
    _rule("set", _SET),
    _rule("ask", _ASK),
)
