"""A request in its parts: people ask for several things in one sentence, and put data between the words.

`Search the web for 'rust', then save the titles to notes.md` is two needs, and neither `rust` nor `notes.md` says
anything about the tool. What stands first in a need (the verb and its object) says most, and tells whether somebody
wants to know something or to have something changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mcp_core.quick_dataclass import dataclass
from ot.registry.ranking.thesaurus import ACTIONS, CHANGING, READING
from ot.registry.ranking.words import read_words

LONGEST = 4000  # characters of a request that are looked at
MOST = 8  # needs

_LITERAL_WEIGHT = 0.2
_DECAY = 0.1
_QUESTIONS = frozenset(
    {"what", "which", "who", "whose", "when", "where", "how", "is", "are", "was", "were", "do", "does", "did", "has"}
)
_PARTICIPLES = ("ed", "en")  # `is the door locked` asks for no locking
_TOKEN = re.compile(
    r"""
    (?P<literal>
        (?<!\w) (?: '[^'\n]{1,300}' | "[^"\n]{1,300}" | ‘[^’\n]{1,300}’ | “[^”\n]{1,300}” | `[^`\n]{1,300}` ) (?!\w)
      | \([^()\n]{1,300}\) | \{[^{}]{1,300}\} | \[[^\[\]]{1,300}\]
      | \b[a-z][a-z+.-]{1,20}://\S{1,300}
      | \b[\w-]{1,100}\.[A-Za-z]\w{0,4}\b
    )
  | (?P<word> \w+ )
  | (?P<end> [.;!?](?=\s|\Z) | \n | [—–] )
  | (?P<comma> , )
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Word:
    """One stem of a request and how much it says; `literal` ones are data that the tool is to work on."""

    stem: str
    weight: float
    literal: bool = False


@dataclass(frozen=True, slots=True)
class Need:
    """The words of one need in order; `reads` if it asks to know something, and for no change."""

    words: list[Word]
    reads: bool = False


def split_needs(request: str) -> list[Need]:
    """Split a request into needs; an empty request has none."""
    needs = list(_read_needs(request[:LONGEST]))
    if all(word.literal for need in needs for word in need.words):  # then it is what is asked for
        needs = [Need([Word(word.stem, 1.0) for word in need.words]) for need in needs]
    if len(needs) <= MOST:
        return needs
    return [*needs[: MOST - 1], Need([word for need in needs[MOST - 1 :] for word in need.words])]


def _read_needs(request: str) -> Iterator[Need]:
    words: list[Word] = []
    spoken: list[str] = []  # the same words as they were written, and those that say nothing about a tool
    place = 0
    joined = False  # behind a comma or an "and", where an action begins another need
    for token in _TOKEN.finditer(request):
        text = token[0]
        if token.lastgroup == "literal":
            words += [Word(word, _LITERAL_WEIGHT, literal=True) for word in read_words(text)]
            continue
        stems = list(read_words(text)) if token.lastgroup == "word" else []
        ends = token.lastgroup == "end" or text.lower() == "then" or (joined and bool(stems) and stems[0] in ACTIONS)
        if ends and words:
            yield Need(words, _asks_to_know(spoken))
            words, spoken, place = [], [], 0
        spoken.append(text.lower())
        for word in stems:
            words.append(Word(word, 1 / (1 + _DECAY * place)))
            place += 1
        joined = token.lastgroup == "comma" or text.lower() == "and"
    if words:
        yield Need(words, _asks_to_know(spoken))


def _asks_to_know(spoken: list[str]) -> bool:
    """Go by the first action that is named; a question without any asks to know something."""
    for word in spoken:
        if not word.endswith(_PARTICIPLES):
            stems = set(read_words(word))
            if stems & READING:
                return True
            if stems & CHANGING:
                return False
    return bool(spoken) and spoken[0] in _QUESTIONS
