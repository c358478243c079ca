"""Answers made speakable: sentence by sentence as they stream in, without Markdown, addresses and code."""

from __future__ import annotations

import re

LONGEST = 400  # characters that are said at once, where no sentence ends earlier

_FENCE = re.compile(r"^ {0,3}(?:```|~~~)")
_RULE = re.compile(r"^\s*(?:[-*_=]\s*){3,}$|^\s*\|?[\s:|-]+\|[\s:|-]*$")
_MARK = re.compile(r"^\s*(?:>\s*)*(?:#{1,6}\s+|[-*+]\s+(?:\[[ xX]\]\s+)?|\d{1,3}[.)]\s+)?")
_IMAGE_OR_LINK = re.compile(r"!?\[([^\]\n]*)\]\((?:[^()\n]|\([^()\n]*\))*\)")
_ADDRESS = re.compile(r"<?(?:https?|ftp)://[^\s>]+>?|\bwww\.\S+", re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z][^>\n]{0,200}>")
_CODE = re.compile(r"`+([^`\n]*)`+")
_EMPHASIS = re.compile(r"(\*{1,3}|_{1,3}|~~)(?=\S)(.+?)(?<=\S)\1")
_UNSPEAKABLE = re.compile(r"[^\w\s.,;:!?%°€$£&+'’()/@=-]|_")
_END = re.compile(r"[.!?…:]['\"”’)\]]*\s|\n")
_ABBREVIATION = re.compile(r"\b(?:[A-Za-z]|Mr|Mrs|Ms|Dr|St|vs|etc|e\.g|i\.e|approx|No)\.$", re.IGNORECASE)


class Sentences:
    """Turns the pieces of a stream into complete sentences, ready to be spoken."""

    def __init__(self) -> None:
        self._rest = ""
        self._in_code = False

    def add(self, piece: str) -> list[str]:
        """Take the next piece of the answer."""
        self._rest += piece
        return self._take_complete()

    def finish(self) -> list[str]:
        """End the answer; what is left is its last sentence."""
        self._rest += "\n"
        sentences = self._take_complete()
        self._in_code = False
        return sentences

    def clear(self) -> None:
        """Forget what was not spoken yet: the model has taken it back."""
        self._rest, self._in_code = "", False

    def _take_complete(self) -> list[str]:
        spoken = []
        while (sentence := self._next()) is not None:
            cleaned = clean(sentence)
            if cleaned:
                spoken.append(cleaned)
        return spoken

    def _next(self) -> str | None:
        """Return the next complete piece of text, an empty one for code; None if there is none yet."""
        if self._in_code or _FENCE.match(self._rest):
            line, newline, after = self._rest.partition("\n")
            if not newline:
                return None
            if _FENCE.match(line):
                self._in_code = not self._in_code
            self._rest = after
            return ""
        for found in _END.finditer(self._rest):
            if not _ABBREVIATION.search(self._rest[: found.end()].rstrip()) or found[0].endswith("\n"):
                return self._cut(found.end())
        if len(self._rest) > LONGEST:
            return self._cut(max(self._rest.rfind(" ", 0, LONGEST), LONGEST // 2))
        return None

    def _cut(self, end: int) -> str:
        sentence, self._rest = self._rest[:end], self._rest[end:]
        return sentence


def clean(text: str) -> str:
    """Return the speakable words of one line; nothing if there are none."""
    if _RULE.match(text):
        return ""
    text = _MARK.sub("", text, count=1)
    text = _IMAGE_OR_LINK.sub(r"\1", text)
    text = _ADDRESS.sub("", text)
    text = _CODE.sub(r"\1", text)
    text = _TAG.sub("", text)
    text = _EMPHASIS.sub(r"\2", text)
    text = " ".join(_UNSPEAKABLE.sub(" ", text).split())
    return text if any(character.isalnum() for character in text) else ""
