"""A request in its parts: people ask for several things in one sentence, and put data between the words.

`Search the web for 'rust', then save the titles to notes.md` is two needs, and neither `rust` nor `notes.md` says
anything about the tool. What stands first in a need (the verb and its object) says most.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ot.registry.ranking.thesaurus import ACTIONS
from ot.registry.ranking.words import read_words

LONGEST = 4000  # characters of a request that are looked at
MOST = 8  # needs

_LITERAL_WEIGHT = 0.2
_DECAY = 0.1
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


class Word(NamedTuple):
    """One stem of a request and how much it says; `literal` ones are data that the tool is to work on."""

    stem: str
    weight: float
    literal: bool = False


Need = list[Word]


def split_needs(request: str) -> list[Need]:
    """Split a request into needs, each with its words in order; an empty request has none."""
    needs = list(_read_needs(request[:LONGEST]))
    if all(word.literal for need in needs for word in need):  # then it is what is asked for
        needs = [[Word(word.stem, 1.0) for word in need] for need in needs]
    return [*needs[: MOST - 1], [word for need in needs[MOST - 1 :] for word in need]] if len(needs) > MOST else needs


def _read_needs(request: str) -> Iterator[Need]:
    need: Need = []
    place = 0
    joined = False  # behind a comma or an "and", where an action begins another need
    for token in _TOKEN.finditer(request):
        text = token[0]
        if token.lastgroup == "literal":
            need += [Word(word, _LITERAL_WEIGHT, literal=True) for word in read_words(text)]
            continue
        words = list(read_words(text)) if token.lastgroup == "word" else []
        ends = token.lastgroup == "end" or text.lower() == "then" or (joined and bool(words) and words[0] in ACTIONS)
        if ends and need:
            yield need
            need, place = [], 0
        for word in words:
            need.append(Word(word, 1 / (1 + _DECAY * place)))
            place += 1
        joined = token.lastgroup == "comma" or text.lower() == "and"
    if need:
        yield need
