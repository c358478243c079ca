"""PocketSphinx: which command of the grammar was said, and how much better that explains the sound than any phones.

Words that no dictionary has are pronounced by espeak-ng, in the acoustic model's ARPAbet. Of a room's echo, what the
recent past of each frequency predicts is taken away (weighted prediction error).
"""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from ot_voice.audio import load_library, samples_of
from ot_voice.command_paths import CommandPaths
from ot_voice.grammar import render_answers, render_grammar

if TYPE_CHECKING:
    from ot_voice.audio import Samples

_TIME = 10.0  # seconds
# Longer signs first, so that a diphthong is not read as its first vowel.
_SAID_AS = {
    "aɪɚ": "AY ER", "aɪə": "AY ER", "dʒ": "JH", "tʃ": "CH", "aɪ": "AY", "aʊ": "AW", "eɪ": "EY", "oʊ": "OW", "əʊ": "OW",
    "ɔɪ": "OY", "iə": "IY AH", "ɪɹ": "IH R", "ʊɹ": "UH R", "ɔːɹ": "AO R", "ɑːɹ": "AA R", "ɛɹ": "EH R", "ɜː": "ER",
    "əl": "AH L", "ɚ": "ER", "ɝ": "ER", "ɑ": "AA", "ɒ": "AA", "æ": "AE", "a": "AA", "ʌ": "AH", "ə": "AH", "ɐ": "AH",
    "ɔ": "AO", "ɛ": "EH", "e": "EH", "ɪ": "IH", "ᵻ": "IH", "i": "IY", "o": "OW", "ʊ": "UH", "u": "UW", "y": "UW",
    "ø": "ER", "œ": "ER", "b": "B", "d": "D", "ð": "DH", "f": "F", "ɡ": "G", "g": "G", "h": "HH", "x": "K", "ç": "SH",
    "j": "Y", "k": "K", "l": "L", "ɫ": "L", "m": "M", "n": "N", "ŋ": "NG", "p": "P", "ɹ": "R", "r": "R", "ʁ": "R",
    "s": "S", "ʃ": "SH", "t": "T", "ɾ": "T", "ʔ": "T", "θ": "TH", "v": "V", "w": "W", "z": "Z", "ʒ": "ZH",
}  # fmt: skip
_SIGN = re.compile("|".join(sorted(map(re.escape, _SAID_AS), key=len, reverse=True)))
_WINDOW, _HOP = 512, 128  # samples
_DELAY, _TAPS = 3, 24  # frames: what is nearer is the voice itself, what is farther is faint
_ROUNDS = 3
_LEAST = 1e-8
_ANSWERS, _COMMANDS, _PHONES = "answers", "commands", "phones"
_VARIANT = 9  # numbers a pronunciation; the dictionary's own have lower ones
_TAIL = 5  # frames of a hundredth of a second that may be missing at the end
_PAUSES, _SLOWEST = 120, 20  # frames around the speech, and for a letter of it: "no" is not said in three seconds
_CLEAR = 0.2  # a margin that no other sentence came near to
_SCALE = 1024  # scores are natural logarithms, scaled down by this


def pronounce(words: Sequence[str], *, program: str = "espeak-ng") -> dict[str, str]:
    """Return ARPAbet for each word that can be said; nothing if espeak-ng is not installed. Blocking."""
    path = shutil.which(program)
    if path is None or not words:
        return {}
    try:
        command, text = [path, "-q", "-v", "en-us", "--ipa", "--stdin"], "\n\n".join(f"{word}." for word in words)
        ended = subprocess.run(command, input=text.encode(), capture_output=True, timeout=_TIME, check=True)
    except (OSError, subprocess.SubprocessError):
        return {}
    lines = [line for line in ended.stdout.decode(errors="replace").splitlines() if line.strip()]
    if len(lines) != len(words):
        return {}
    return {word: text for word, line in zip(words, lines, strict=True) if (text := to_arpabet(line))}


def without_r(phones: str) -> str:
    """Return how a word is pronounced where "r" is said before a vowel only, as in England."""
    followed = [(phone, after in _VOWELS) for phone, after in pairwise([*phones.split(), ""])]
    return " ".join(
        "AH" if phone == "ER" and not vowel else phone for phone, vowel in followed if phone != "R" or vowel
    )


_VOWELS = frozenset(("AA", "AE", "AH", "AO", "AW", "AY", "EH", "ER", "EY", "IH", "IY", "OW", "OY", "UH", "UW"))


def to_arpabet(ipa: str) -> str:
    """Translate IPA phonemes to ARPAbet, without marks of stress and length."""
    return " ".join(_SAID_AS[sign] for sign in _SIGN.findall(ipa))


def dereverberate(samples: Samples) -> Samples:
    """Return speech with less echo, as long as it was; too short a sound is returned as it is."""
    numpy = load_library("numpy")
    if len(samples) < _HOP * (_DELAY + _TAPS) * 2:
        return samples
    window = numpy.sqrt(numpy.hanning(_WINDOW + 1)[:-1])
    padded = numpy.pad(samples, (_WINDOW, _WINDOW + -len(samples) % _HOP))
    frames = numpy.lib.stride_tricks.sliding_window_view(padded, _WINDOW)[::_HOP] * window
    heard = numpy.fft.rfft(frames, axis=1).T  # frequency by time
    lags = range(_DELAY, _DELAY + _TAPS)
    past = numpy.stack([numpy.pad(heard, ((0, 0), (lag, 0)))[:, : heard.shape[1]] for lag in lags], 1)
    dry = heard
    for _ in range(_ROUNDS):
        power = numpy.maximum(abs(dry) ** 2, _LEAST + 1e-4 * (abs(heard) ** 2).mean())
        weighted = past / power[:, None, :]
        spread = weighted @ past.conj().transpose(0, 2, 1)
        spread += numpy.eye(_TAPS) * (1e-6 * numpy.trace(spread, axis1=1, axis2=2).real[:, None, None] + _LEAST)
        shared = weighted @ heard.conj()[:, :, None]
        dry = heard - (numpy.linalg.solve(spread, shared).conj().transpose(0, 2, 1) @ past)[:, 0]
    pieces = numpy.fft.irfft(dry.T, _WINDOW, axis=1) * window
    sound = numpy.zeros(len(padded))
    for index, piece in enumerate(pieces):
        sound[index * _HOP : index * _HOP + _WINDOW] += piece
    whole: Samples = sound[_WINDOW : _WINDOW + len(samples)] / (_WINDOW / _HOP / 2)
    return whole


class GrammarMatch(TypedDict):
    text: str
    margin: float


def prepare(devices: tuple[str, ...], tools: tuple[str, ...]) -> list[str]:
    """Load the model and the grammar; return the names that are left out because their pronunciation is unknown."""
    return sorted(_decoder().load(devices, tools))


def transcribe(audio: bytes, devices: tuple[str, ...], tools: tuple[str, ...]) -> GrammarMatch:
    """Return the most likely command, and its margin.

    The margin is how much more likely it makes each hundredth of a second than free phones do, in nats: about 0.1 to
    1.5 for a command of the grammar, less for everything else that people say.
    """
    decoder = _decoder()
    decoder.load(devices, tools)
    heard = decoder.compare(_COMMANDS, audio)
    if heard["margin"] >= _CLEAR:
        return heard
    samples = dereverberate(samples_of(audio))
    loudest = abs(samples).max() or 1.0
    cleaned: bytes = (samples / loudest * 16384).astype("<i2").tobytes()
    return max(heard, decoder.compare(_COMMANDS, cleaned), key=lambda found: found["margin"])


def answer(audio: bytes) -> GrammarMatch:
    return _decoder().compare(_ANSWERS, audio)


class _Decoder:
    """The acoustic model with two searches: commands, and phones in any order."""

    def __init__(self) -> None:
        library = load_library("pocketsphinx")
        # Normalised over each utterance by itself: what was said before must not change what is heard now.
        # Wide beams: the right command must not be lost at its first, unclear sound. Utterances are short.
        beams = {"beam": 1e-60, "wbeam": 1e-40, "pbeam": 1e-60}
        self._decoder = library.Decoder(lm=None, loglevel="FATAL", logfn=os.devnull, cmn="batch", **beams)
        phones = Path(library.get_model_path()) / "en-us" / "en-us-phone.lm.bin"
        self._decoder.add_allphone_file(_PHONES, str(phones))
        self._with_variant: set[str] = set()
        self._sentences = {_ANSWERS: self._add(_ANSWERS, render_answers())}
        self._names: tuple[tuple[str, ...], tuple[str, ...]] | None = None
        self._left_out: set[str] = set()

    def load(self, devices: tuple[str, ...], tools: tuple[str, ...]) -> set[str]:
        """Take these names into the grammar, unless they are there; return those that were left out."""
        if self._names != (devices, tools):
            unsayable = self._learn({word for name in (*devices, *tools) for word in name.split()})
            self._left_out = {name for name in (*devices, *tools) if not unsayable.isdisjoint(name.split())}
            if self._names is not None:
                self._decoder.activate_search(_PHONES)  # the active one cannot be removed
                self._decoder.remove_search(_COMMANDS)
            kept = ([name for name in names if name not in self._left_out] for names in (devices, tools))
            self._sentences[_COMMANDS] = self._add(_COMMANDS, render_grammar(*kept))
            self._names = (devices, tools)
        return self._left_out

    def compare(self, search: str, audio: bytes) -> GrammarMatch:
        """Return the sentence of a grammar that was said, and how much better it explains the sound than phones do."""
        text, score, frames = self.decode(search, audio)
        whole = self._sentences[search].accepts(text)  # or the end was lost, and with it perhaps the device
        if not whole or frames > _PAUSES + _SLOWEST * len(text):
            return {"text": "", "margin": -math.inf}
        _, free, _ = self.decode(_PHONES, audio)
        return {"text": text, "margin": (score - free) * _SCALE / frames}

    def _add(self, search: str, jsgf: str) -> CommandPaths:
        sentences = CommandPaths(jsgf)
        # How each word is said in England too; the acoustic model has learnt from Americans.
        for word in sorted(sentences.words - self._with_variant):
            self._with_variant.add(word)
            phones = self._decoder.lookup_word(word)
            said = phones and without_r(phones)
            if said and said != phones and " " in said:  # a single vowel would be found everywhere
                self._decoder.add_word(f"{word}({_VARIANT})", said, update=True)
        self._decoder.add_jsgf_string(search, jsgf)
        return sentences

    def decode(self, search: str, audio: bytes) -> tuple[str, float, int]:
        """Return the text, score and number of frames that a search finds; no text if it finds nothing."""
        decoder = self._decoder
        decoder.activate_search(search)
        decoder.start_utt()
        decoder.process_raw(audio, full_utt=True)
        decoder.end_utt()
        found, frames = decoder.hyp(), decoder.n_frames()
        if found is None or found.score <= 0:
            return "", -math.inf, 1
        *_, last = decoder.seg()
        if last.end_frame < frames - _TAIL:
            return "", -math.inf, 1  # the search gave up in the middle: its score is that of a part
        return found.hypstr, math.log(found.score), max(1, frames)

    def _learn(self, words: set[str]) -> set[str]:
        """Learn the words that the dictionary lacks; return those that cannot be learnt."""
        new = sorted(word for word in words if self._decoder.lookup_word(word) is None)
        said = pronounce(new)
        for word, phones in said.items():
            self._decoder.add_word(word, phones, update=True)
        return set(new) - set(said)


@cache
def _decoder() -> _Decoder:
    """One for the life of the helper process."""
    return _Decoder()
