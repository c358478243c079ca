"""The pronunciation of words that no dictionary has: espeak-ng's phonemes in the acoustic model's ARPAbet."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence

_TIME = 10.0  # seconds

# Longer signs first, so that a diphthong is not read as its first vowel.
_PHONES = {
    "aɪɚ": "AY ER", "aɪə": "AY ER", "dʒ": "JH", "tʃ": "CH", "aɪ": "AY", "aʊ": "AW", "eɪ": "EY", "oʊ": "OW", "əʊ": "OW",
    "ɔɪ": "OY", "iə": "IY AH", "ɪɹ": "IH R", "ʊɹ": "UH R", "ɔːɹ": "AO R", "ɑːɹ": "AA R", "ɛɹ": "EH R", "ɜː": "ER",
    "əl": "AH L", "ɚ": "ER", "ɝ": "ER", "ɑ": "AA", "ɒ": "AA", "æ": "AE", "a": "AA", "ʌ": "AH", "ə": "AH", "ɐ": "AH",
    "ɔ": "AO", "ɛ": "EH", "e": "EH", "ɪ": "IH", "ᵻ": "IH", "i": "IY", "o": "OW", "ʊ": "UH", "u": "UW", "y": "UW",
    "ø": "ER", "œ": "ER", "b": "B", "d": "D", "ð": "DH", "f": "F", "ɡ": "G", "g": "G", "h": "HH", "x": "K", "ç": "SH",
    "j": "Y", "k": "K", "l": "L", "ɫ": "L", "m": "M", "n": "N", "ŋ": "NG", "p": "P", "ɹ": "R", "r": "R", "ʁ": "R",
    "s": "S", "ʃ": "SH", "t": "T", "ɾ": "T", "ʔ": "T", "θ": "TH", "v": "V", "w": "W", "z": "Z", "ʒ": "ZH",
}  # fmt: skip
_SIGN = re.compile("|".join(sorted(map(re.escape, _PHONES), key=len, reverse=True)))


def pronounce(words: Sequence[str], *, program: str = "espeak-ng") -> dict[str, str]:
    """Return ARPAbet for each word that can be said; nothing if espeak-ng is not installed. Blocking."""
    path = shutil.which(program)
    if path is None or not words:
        return {}
    try:
        said = subprocess.run(
            [path, "-q", "-v", "en-us", "--ipa", "--stdin"],
            input="\n\n".join(f"{word}." for word in words).encode(),
            capture_output=True,
            timeout=_TIME,
            check=True,
        ).stdout.decode(errors="replace")
    except (OSError, subprocess.SubprocessError):
        return {}
    lines = [line for line in said.splitlines() if line.strip()]
    if len(lines) != len(words):
        return {}
    phones = {word: to_arpabet(line) for word, line in zip(words, lines, strict=True)}
    return {word: text for word, text in phones.items() if text}


def without_r(phones: str) -> str:
    """Return how a word is pronounced where "r" is said before a vowel only, as in England."""
    said = phones.split()
    after = [*said[1:], ""]
    return " ".join(
        "AH" if phone == "ER" and following not in _VOWELS else phone
        for phone, following in zip(said, after, strict=True)
        if phone != "R" or following in _VOWELS
    )


_VOWELS = frozenset(("AA", "AE", "AH", "AO", "AW", "AY", "EH", "ER", "EY", "IH", "IY", "OW", "OY", "UH", "UW"))


def to_arpabet(ipa: str) -> str:
    """Translate IPA phonemes to ARPAbet, without marks of stress and length."""
    return " ".join(_PHONES[sign] for sign in _SIGN.findall(ipa))
