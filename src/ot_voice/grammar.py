"""The grammar of short commands, around the names that tools and devices have right now, in JSGF."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ot_voice.words import spoken_form

MOST_NAMES = 500  # of each kind; a grammar of thousands would accept anything
MOST_WORDS = 6  # of one name


@dataclass(frozen=True, slots=True)
class Names:
    """The names that can be spoken: devices (and rooms) as people call them, tools as `pack.tool`."""

    devices: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()


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


def render_grammar(devices: Sequence[str], tools: Sequence[str]) -> str:
    """Write the JSGF of every command; devices and tools are spoken forms, so nothing in them is syntax."""
    commands = ["<answer>"]
    rules = [_rule("answer", ["yes", "no", "stop", "cancel", "help", "thank you", "never mind", "repeat that"])]
    if devices:
        rules += [_rule("device", devices), "<which> = /0.8/ the <device> | /0.2/ <device>;", *_DEVICE_RULES]
        commands += ["<switch>", "<set>", "<move>", "<ask>"]
    if tools:
        rules += [_rule("tool", tools), "<use> = (run | use | call | start) [the] <tool> [tool];"]
        commands.append("<use>")
    command = f"public <command> = [please] ({' | '.join(commands)}) [please];"
    return "\n".join(["#JSGF V1.0;", "grammar commands;", *rules, command, ""])


def _rule(name: str, choices: Sequence[str]) -> str:
    return f"<{name}> = {' | '.join(choices)};"


_NUMBER = (
    "zero | <unit> | ten | eleven | twelve | thirteen | fourteen | fifteen | sixteen | seventeen | eighteen | nineteen"
    " | (twenty | thirty | forty | fifty | sixty | seventy | eighty | ninety) [<unit>] | (a | one) hundred"
)
_SET = (
    "(set | dim | turn | change) <which> to <number> [point <unit>] [percent | degrees]",
    "(dim | brighten) <which>",
    "turn <which> (up | down) [by <number> [percent | degrees]]",
    "set <which> to (heat | cool | auto | off)",
)
_ASK = (
    "(what is | what's) the <quantity> (of | in) <which>",
    "how (warm | cold | bright | humid) is (it in <which> | <which>)",
    "(is | are) <which> (on | off | open | closed | locked | unlocked)",
)
_DEVICE_RULES = (
    "<unit> = one | two | three | four | five | six | seven | eight | nine;",
    f"<number> = {_NUMBER};",
    "<quantity> = temperature | humidity | brightness | battery | state | status | level;",
    "<switch> = (turn | switch) (on | off) <which> | (turn | switch) <which> (on | off) | toggle <which>;",
    _rule("set", _SET),
    "<move> = (lock | unlock | open | close) <which>;",
    _rule("ask", _ASK),
)
