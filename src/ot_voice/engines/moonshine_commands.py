"""Moonshine as a judge of commands: of all sentences of the grammar, the one that its own model finds in a sound.

Left free, a small model writes what a sound resembles in all of English. Its encoder hears more than that: allowed to
write nothing but commands, it finds the right one in most sounds of which it makes nonsense otherwise. What it would
like to write without any sound is taken off, in part: how common a sentence is in English says nothing about a house.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypedDict

from ot_voice.audio import load_library, samples_of, seconds_of
from ot_voice.command_paths import CommandPaths, Place
from ot_voice.grammar import essence, render_grammar, spoken_form

if TYPE_CHECKING:  # numpy is loaded late
    import numpy
    from numpy.typing import NDArray

    Rows: TypeAlias = NDArray[numpy.float32]
    Tokens: TypeAlias = NDArray[numpy.int64]

_BEGIN, _END = 1, 2  # tokens
_SHAPE = (8, 36)  # heads of the decoder, and the numbers of each
_HIDDEN = 288
_PER_VERB = 4  # sentences that go on for each beginning: the right one must not be lost at its first, unclear sound
_PER_VERB_IN_DOUBT = 8  # costs twice the time, and finds what was lost
_NO_DOUBT = -12.0, 3.0  # margin and lead of what need not be looked for again, in nats
_FIRST = 4  # characters that tell beginnings apart
_MOST_TOKENS = 40
_FAR = 25.0  # nats behind the best sentence so far, of those that are given up
_OF_ENGLISH = 0.3  # the part of what English alone makes likely that is taken off
_PRIOR = 0.5  # the part of a sentence's own weight that counts
_PAUSES, _SECOND_A_LETTER = 0.85, 0.062  # seconds around the speech, and for a letter of it
_RANGE = 0.35  # how much slower or faster people may speak without counting against a sentence, as a logarithm
_MISFIT = 32.0


class CommandMatch(TypedDict):
    text: str
    margin: float  # how much better it is than the best free text, in nats
    lead: float  # how much better it is than the next one
    next: str  # that one


_NOTHING: CommandMatch = {"text": "", "margin": -math.inf, "lead": 0.0, "next": ""}


def prepare(devices: tuple[str, ...], tools: tuple[str, ...]) -> None:
    judge = _judge()
    if devices or tools:
        judge.follow(devices, tools)


def transcribe(audio: bytes, devices: tuple[str, ...], tools: tuple[str, ...]) -> CommandMatch:
    """Return the most likely command; without names there is none."""
    if not devices and not tools:
        return _NOTHING
    return _judge().find(audio, _judge().follow(devices, tools))


class _Sentence(NamedTuple):
    score: float
    row: int  # of the decoder's state
    token: int
    place: Place
    text: str
    closed: bool  # by a full stop: only the end can follow


class _Judge:
    def __init__(self) -> None:
        self._model = _Model()
        self._vocabulary = _Vocabulary(self._model.tokens)
        self._names: tuple[tuple[str, ...], tuple[str, ...]] | None = None
        self._paths = CommandPaths(render_grammar(["light"], [], written=True))
        self._next: dict[Place, tuple[Tokens, list[tuple[Place, str]]]] = {}  # what may follow, and where that leads

    def follow(self, devices: tuple[str, ...], tools: tuple[str, ...]) -> CommandPaths:
        if self._names != (devices, tools):
            self._paths = CommandPaths(render_grammar(devices, tools, written=True))
            self._names, self._next = (devices, tools), {}
        return self._paths

    def find(self, audio: bytes, paths: CommandPaths) -> CommandMatch:
        heard, length = self._model.encode(audio), seconds_of(len(audio))
        states, free, token = _Both(self._model, heard), 0.0, _BEGIN
        for _ in range(_MOST_TOKENS):  # what the model would write by itself
            plain, corrected = states.step([token], [0])
            token = int(plain[0].argmax())
            free += float(corrected[0][token])
            if token == _END:
                break
        found = _best(self._search(heard, paths, length, _PER_VERB), free)
        if found["margin"] < _NO_DOUBT[0] or found["lead"] < _NO_DOUBT[1]:
            found = _best(self._search(heard, paths, length, _PER_VERB_IN_DOUBT), free)
        return found

    def _search(self, heard: Rows, paths: CommandPaths, length: float, per_verb: int) -> dict[str, float]:
        """Return the commands that were written to their end, and how well each explains the sound."""
        found: dict[str, float] = {}
        states = _Both(self._model, heard)
        _, likely = states.step([_BEGIN], [0])
        going = [_Sentence(0.0, 0, _BEGIN, paths.start, "", closed=False)]
        for _ in range(_MOST_TOKENS):
            for row, sentence in enumerate(going):
                if sentence.closed or paths.is_end(sentence.place):
                    text = spoken_form(sentence.text)
                    expected = _PAUSES + _SECOND_A_LETTER * len(text)  # no long sentence is said in a second
                    misfit = _MISFIT * max(0.0, abs(math.log(max(length, 0.1) / expected)) - _RANGE) ** 2
                    score = sentence.score + float(likely[row][_END]) - misfit + _PRIOR * paths.weigh(sentence.text)
                    found[text] = max(found.get(text, -math.inf), score)
            best = max(found.values(), default=-math.inf)
            going = [each for each in self._go_on(going, likely, paths, per_verb) if each.score > best - _FAR]
            if not going:
                break
            _, likely = states.step([each.token for each in going], [each.row for each in going])
        return found

    def _go_on(self, going: Sequence[_Sentence], likely: Rows, paths: CommandPaths, per_verb: int) -> list[_Sentence]:
        """Return the best ways on: of each text the best, of each beginning some."""
        ways: list[_Sentence] = []
        for row, sentence in enumerate(going):
            if sentence.closed:
                continue
            if sentence.place not in self._next:
                follow = list(self._vocabulary.follow(sentence.place, paths))
                numbers = load_library("numpy").array([token for token, _, _ in follow], "int64")
                self._next[sentence.place] = numbers, [(place, text) for _, place, text in follow]
            tokens, places = self._next[sentence.place]
            scores = likely[row][tokens]
            for index in scores.argsort()[::-1][:64]:
                place, text = places[index]
                score = sentence.score + float(scores[index])
                ways.append(_Sentence(score, row, int(tokens[index]), place, sentence.text + text, closed=False))
            if paths.is_end(sentence.place):
                stop = max(self._vocabulary.stops, key=lambda token: float(likely[row][token]))
                score = sentence.score + float(likely[row][stop])
                ways.append(sentence._replace(score=score, row=row, token=stop, closed=True))
        ways.sort(key=lambda way: -way.score)
        kept: dict[tuple[str, bool], _Sentence] = {}
        beginnings: dict[str, int] = {}
        for way in ways:
            beginning = way.text.lstrip()[:_FIRST]
            if (way.text, way.closed) not in kept and beginnings.get(beginning, 0) < per_verb:
                kept[way.text, way.closed] = way
                beginnings[beginning] = beginnings.get(beginning, 0) + 1
        return list(kept.values())


def _best(found: Mapping[str, float], free: float) -> CommandMatch:
    """Return the best of some commands, and the best that means something else."""
    if not found:
        return _NOTHING
    text, *others = sorted(found, key=found.__getitem__, reverse=True)
    other = next((each for each in others if essence(each) != essence(text)), "")
    lead = min(found[text] - found[other], 100.0) if other else 100.0
    return {"text": text, "margin": found[text] - free, "lead": lead, "next": other}


class _Both:
    """The decoder's states of some sentences, with the sound and without any."""

    def __init__(self, model: _Model, heard: Rows) -> None:
        numpy = load_library("numpy")
        silence = numpy.zeros((1, 1, _HIDDEN), numpy.float32)  # however long it is, there is nothing in it
        self._heard, self._silent = _States(model, heard), _States(model, silence)

    def step(self, tokens: list[int], rows: list[int]) -> tuple[Rows, Rows]:
        """Add a token to each of these rows of the last step; return the logarithms of what may follow."""
        # They are those with the sound, and the same without what English alone makes likely.
        plain = self._heard.step(tokens, rows)
        return plain, plain - _OF_ENGLISH * self._silent.step(tokens, rows)


class _States:
    def __init__(self, model: _Model, heard: Rows) -> None:
        self._model = model
        self._heard = heard
        self._past: dict[str, Rows] = {}
        self._sound: dict[str, Rows] = {}  # the same for every sentence

    def step(self, tokens: list[int], rows: list[int]) -> Rows:
        numpy = load_library("numpy")
        count, first = len(tokens), not self._past
        feed = {name: past[rows] for name, past in self._past.items()}
        if first:
            feed = self._model.empty_past(self._heard.shape[1])
        else:
            self._sound = {name: _at_least(count, rows) for name, rows in self._sound.items()}
            feed |= {name: rows[:count] for name, rows in self._sound.items()}
        self._heard = _at_least(count, self._heard)
        feed |= {
            "input_ids": numpy.array(tokens, numpy.int64)[:, None],
            "encoder_hidden_states": self._heard[:count],
            "encoder_attention_mask": numpy.ones((count, self._heard.shape[1]), numpy.int64),
            "use_cache_branch": numpy.array([not first]),
        }
        logits, present = self._model.decode(feed)
        self._past = {name: value for name, value in present.items() if ".decoder." in name}
        if first:
            self._sound = {name: value for name, value in present.items() if ".encoder." in name}
        logits = logits[:, -1]
        logits -= logits.max(-1, keepdims=True)
        likely: Rows = logits - numpy.log(numpy.exp(logits).sum(-1, keepdims=True))
        return likely


def _at_least(count: int, rows: Rows) -> Rows:
    """Return rows that are all the same, as many as are needed and some more."""
    return rows if len(rows) >= count else load_library("numpy").repeat(rows[:1], 2 * count, 0)


class _Model:
    """Moonshine's encoder and decoder, with the weights that its package brings along."""

    def __init__(self) -> None:
        runtime = load_library("onnxruntime")
        folder = Path(load_library("moonshine_voice.utils").get_model_path("tiny-en"))
        options = runtime.SessionOptions()
        # Its threads would wait for the next small step by turning round and round, beside the other recogniser.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._encoder = runtime.InferenceSession(str(folder / "encoder_model.ort"), options)
        self._decoder = runtime.InferenceSession(str(folder / "decoder_model_merged.ort"), options)
        self._inputs = [each.name for each in self._decoder.get_inputs()]
        self._outputs = [each.name for each in self._decoder.get_outputs()]
        self.tokens = list(_read_tokens((folder / "tokenizer.bin").read_bytes()))

    def encode(self, audio: bytes) -> Rows:
        samples = samples_of(audio)[None]
        mask = load_library("numpy").ones(samples.shape, "int64")
        heard: Rows = self._encoder.run(None, {"input_values": samples, "attention_mask": mask})[0]
        return heard

    def decode(self, feed: dict[str, Rows]) -> tuple[Rows, dict[str, Rows]]:
        """Return the logits, and the states by the names under which the next step takes them."""
        logits, *present = self._decoder.run(None, {name: feed[name] for name in self._inputs})
        names = (name.replace("present", "past_key_values") for name in self._outputs[1:])
        return logits, dict(zip(names, present, strict=True))

    def empty_past(self, length: int) -> dict[str, Rows]:
        numpy = load_library("numpy")
        heads, width = _SHAPE
        return {
            name: numpy.zeros((1, heads, 0 if ".decoder." in name else length, width), numpy.float32)
            for name in self._inputs
            if name.startswith("past_key_values")
        }


class _Vocabulary:
    """The tokens that commands can be made of, by their characters; how they are written does not matter."""

    def __init__(self, tokens: Sequence[bytes]) -> None:
        self._root = _Characters()
        self.stops = [tokens.index(stop) for stop in (b".", b"?", b"!")]
        for number, token in enumerate(tokens):
            text = _plain(token)
            if text and number > _END:
                node = self._root
                for character in text:
                    node = node.after.setdefault(character, _Characters())
                node.tokens.append(number)

    def follow(self, place: Place, paths: CommandPaths) -> Iterator[tuple[int, Place, str]]:
        """Yield each token that can follow a place, where it leads, and its text."""
        waiting = [(self._root, place, "")]
        while waiting:
            node, here, text = waiting.pop()
            for character in set(paths.characters(here)) & node.after.keys():
                child, there, more = node.after[character], paths.advance(here, character), text + character
                for token in child.tokens:
                    yield token, there, more
                waiting.append((child, there, more))


class _Characters:
    """The tokens that end here, and the characters that follow in others."""

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.after: dict[str, _Characters] = {}


def _plain(token: bytes) -> str:
    """Return the text of a token in lower case; nothing for one that stands in no command."""
    text = token.decode(errors="replace").replace("\u2581", " ").lower()
    return text if re.fullmatch(r"[a-z0-9 '%]*", text) else ""


def _read_tokens(data: bytes) -> Iterator[bytes]:
    """Read the tokenizer's file: each token after its length, which takes a second byte from 128 on."""
    position = 0
    while position < len(data):
        length, position = data[position], position + 1
        if length >= 128:
            length, position = length - 128 + data[position] * 128, position + 1
        yield data[position : position + length]
        position += length


@cache
def _judge() -> _Judge:
    """One for the life of the helper process."""
    return _Judge()
