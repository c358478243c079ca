"""The sentences of a grammar as paths of characters, for a decoder that may write only these.

A place is where a sentence can be: the words that may be going on, each with what is left of it. Places are small, and
found as they are needed: a house of a hundred devices has millions of sentences.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple, TypeAlias

_RULE = re.compile(r"<(\w+)> = (.*);")
_PUBLIC = re.compile(r"public <(\w+)>")
_SIGN = re.compile(r"<\w+>|[()\[\]|]|/[\d.]+/|[a-z']+|\d+%?")
Place: TypeAlias = frozenset[tuple[int, str]]
"""Words that may be going on: the state that each leads to, and its characters that are still to come."""


class _Step(NamedTuple):
    word: str  # none: a step without a sound
    to: int
    weight: float  # a logarithm


class CommandPaths:
    """Every sentence of a grammar in JSGF, each word with a space before it."""

    def __init__(self, jsgf: str) -> None:
        self._steps: list[list[_Step]] = [[], []]
        self._rules = dict(_RULE.findall(jsgf))
        *_, public = _PUBLIC.findall(jsgf)
        self._end = 1
        self._connect(0, self._end, _SIGN.findall(self._rules[public]))
        self.advance = cache(self._advance)  # the same few places in every utterance

    @property
    def start(self) -> Place:
        return self._words_after(0)

    @property
    def words(self) -> set[str]:
        return {step.word for steps in self._steps for step in steps if step.word}

    def accepts(self, sentence: str) -> bool:
        """True if this is a whole sentence: a decoder that lost the end of one returns its beginning."""
        return self.weigh(sentence) > -math.inf

    def is_end(self, place: Place) -> bool:
        return any(not rest and self._end in self._reached(state) for state, rest in place)

    def weigh(self, sentence: str) -> float:
        """Return how often people say this, as a logarithm: 0 for what is as likely as anything can be."""
        reached = self._reached(0)
        for word in sentence.split():
            after: dict[int, float] = {}
            for state, weight in reached.items():
                for step in self._steps[state]:
                    if step.word == word:
                        for to, more in self._reached(step.to).items():
                            after[to] = max(after.get(to, -math.inf), weight + step.weight + more)
            reached = after
        return reached.get(self._end, -math.inf)

    def characters(self, place: Place) -> Iterator[str]:
        """Yield the characters with which it can go on, some of them twice."""
        for state, rest in place:
            if rest:
                yield rest[0]
            elif self._words_after(state):
                yield " "

    def _advance(self, place: Place, character: str) -> Place:
        """Return the place after one more character; an empty one if no sentence goes on like this."""
        moved = {(state, rest[1:]) for state, rest in place if rest.startswith(character)}
        for state, rest in place:
            if not rest:
                moved |= {(to, word[1:]) for to, word in self._words_after(state) if word.startswith(character)}
        return frozenset(moved)

    def _words_after(self, state: int) -> Place:
        silent = self._reached(state)
        return frozenset((step.to, f" {step.word}") for each in silent for step in self._steps[each] if step.word)

    def _reached(self, state: int) -> dict[int, float]:
        """Return the states that are reached without a word, and with which weight."""
        reached, waiting = {state: 0.0}, [state]
        while waiting:
            current = waiting.pop()
            for step in self._steps[current]:
                weight = reached[current] + step.weight
                if not step.word and weight > reached.get(step.to, -math.inf):
                    reached[step.to] = weight
                    waiting.append(step.to)
        return reached

    # -- reading the grammar

    def _connect(self, begin: int, end: int, signs: list[str]) -> None:
        """Lead from one state to another through what the signs of a rule say."""
        choices = [choice if choice[0].startswith("/") else ["/1/", *choice] for choice in _split(signs)]
        heaviest = max(float(weight.strip("/")) for weight, *_ in choices)
        for weight, *choice in choices:
            state = self._new()
            self._steps[begin].append(_Step("", state, math.log(float(weight.strip("/")) / heaviest)))
            for item in _items(choice):
                state = self._follow(state, item)
            self._steps[state].append(_Step("", end, 0.0))

    def _follow(self, state: int, item: list[str]) -> int:
        after = self._new()
        match item:
            case ["<NULL>"]:
                self._steps[state].append(_Step("", after, 0.0))
            case [sign] if sign.startswith("<"):
                self._connect(state, after, _SIGN.findall(self._rules[sign[1:-1]]))
            case [word]:
                self._steps[state].append(_Step(word, after, 0.0))
            case ["(", *inner, ")"]:
                self._connect(state, after, inner)
            case ["[", *inner, "]"]:
                self._steps[state].append(_Step("", after, 0.0))
                self._connect(state, after, inner)
        return after

    def _new(self) -> int:
        self._steps.append([])
        return len(self._steps) - 1


def _split(signs: list[str]) -> Iterator[list[str]]:
    depth, choice = 0, list[str]()
    for sign in signs:
        depth += (sign in "([") - (sign in ")]")
        if sign == "|" and depth == 0:
            yield choice
            choice = []
        else:
            choice.append(sign)
    yield choice


def _items(choice: list[str]) -> Iterator[list[str]]:
    """Yield what follows one another: a word, a rule, or all that is in brackets."""
    depth, item = 0, list[str]()
    for sign in choice:
        depth += (sign in "([") - (sign in ")]")
        item.append(sign)
        if depth == 0:
            yield item
            item = []
