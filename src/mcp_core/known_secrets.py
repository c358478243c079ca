"""Known secret values become `***`, however they are escaped, quoted or encoded in a text.

A text is searched as the bytes of its UTF-8, one character each. Escapes that stand for a character of a secret are
undone in a copy, which is searched for the secrets themselves; a copy without line breaks is searched for their base64.
Where something is found, its place in the text is worked out from the escapes before it.
"""

from __future__ import annotations

import binascii
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import cycle, product
from threading import Lock
from typing import AnyStr

MASK = "***"
SHORTEST = 6  # shorter values would blank out ordinary words
_WIDEST = 12  # characters that one byte of a secret takes: %25255Cu0061
_PIECE = 65536  # characters in which places are worked out together
_NEVER = 1 << 62  # characters that no text has
_ROUNDS = 8  # escapes inside escapes
_MOST_SLASHES = 4  # of a secret, each of which is read in two ways
_TO_URLSAFE = str.maketrans("+/", "-_")
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_HEX = "[0-9a-fA-F]"
_ENTITY = re.compile(rf"&(?:#[xX]0*({_HEX}{{1,6}})|#0*([0-9]{{1,7}})|(amp|lt|gt|quot|apos));")
_PLAIN_CODE = rf"(?:u00|U000000|x)([0-7]{_HEX})"
_CODE = rf"u([dD][89abAB]{_HEX}{{2}})\\+u([dD][c-fC-F]{_HEX}{{2}})|u({_HEX}{{4}})|U({_HEX}{{8}})|x({_HEX}{{2}})"
# Escapes of letters and digits, which nobody needs to write, and of what begins an escape or a line.
_ODD = r"3[0-9]|[46][1-9a-fA-F]|[57][0-9aA]"
_ODD_CODE = re.compile(rf"\\u00(?:{_ODD}|25|26|5[cC]|0[aAdD])")
_ODD_PERCENT = re.compile(rf"%(?:25)*(?:{_ODD}|5[cC]|0[aAdD])")
_ODD_ENTITY = re.compile(rf"&#(?:0*(?:4[89]|5[0-7]|6[5-9]|[78][0-9]|90|9[7-9]|1[01][0-9]|12[0-2])|[xX]0*(?:{_ODD}));")
_ALNUM = re.compile(r"[0-9A-Za-z]+")
_PADDING = re.compile(rb"[0-9A-Za-z+/]?={1,2}")
_BACKSLASH = re.compile(r"\\+(.?)", re.DOTALL)
_NO_BASE64 = re.compile(r"\\+r\\+n|\\+n?|[ \t\r\n]+")
_ESCAPED_BREAK = re.compile(r"\\+(?:r\\+)?n")
_PIECE_LETTERS, _FEWEST_LETTERS = 8, 4
_RARE = "0123456789srtnaioepldcumfghbETSAwyRCNIOLvPDMUFBGHkVWYxjKqzXJQZ"  # letters of base64, the rarest last
_MOST_TRIES = 1000  # letters in one text
_ONE_ALPHABET = bytes.maketrans(b"-_", b"+/")
Change = tuple[str, re.Pattern[str], Callable[[re.Match[str]], str]]
Span = tuple[int, int]


class KnownSecrets:
    """The secret values to hide from text; more can be learnt while it is used."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self.known: frozenset[str] = frozenset()
        self.active = False  # there is something to mask
        self._search: tuple[frozenset[str], _Search] = (self.known, _Search(()))
        self._learning = Lock()
        for secret in secrets:
            self.learn(secret)

    def learn(self, secret: str) -> None:
        """Mask this value from now on, also quoted or encoded; one of fewer than six characters is left alone."""
        if len(secret) >= SHORTEST and secret not in self.known:
            with self._learning:
                self.known = self.known.union([secret])
                self.active = True

    def text(self, text: str) -> str:
        known, search = self._search
        if known is not self.known:
            search = self._prepare()
        if len(text) < search.shortest:
            return text
        plain = text.isascii()
        raw = text if plain else _raw(text)
        if not search.holds(raw):
            return text
        masked = "".join(search.mask(raw[at : at + _PIECE] for at in range(0, len(raw), _PIECE)))
        return masked if plain else masked.encode("latin-1").decode("utf-8", "surrogatepass")

    def pieces(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """The same bytes in other pieces, without secrets, also where a piece ends in the middle of one."""
        if not self.active:
            yield from pieces
            return
        for piece in self._prepare().mask(piece.decode("latin-1") for piece in pieces):
            yield piece.encode("latin-1")

    def _prepare(self) -> _Search:
        if self._search[0] is not self.known:
            known = self.known
            self._search = (known, _Search(known))
        return self._search[1]


class _Search:
    """The bytes that are looked for in a text, and how the escapes in it are undone."""

    def __init__(self, secrets: Iterable[str]) -> None:
        raw = sorted({_raw(secret) for secret in secrets})
        self._changes = _changes("".join(raw))
        self._slashes = any("\\" in text for text in raw)  # no text tells which of them belong to an escape
        forms = (self._bare(self._undone(form)) for text in raw for form in self._read_slashes(text))
        undone = {text for text in forms if len(text) >= SHORTEST}
        self._plain = sorted(undone.union(raw))
        # No form has fewer characters: most cells of a table are shorter, and need no search.
        lengths = (len(text.encode("latin-1").decode("utf-8", "ignore")) for text in self._plain)
        self.shortest = min(lengths, default=_NEVER)
        # Forms write a space as a plus: such secrets are looked for in a copy in which every plus is a space, too.
        self._spaced = [text.replace("+", " ") for text in self._plain if " " in text]
        encoded = {form for text in raw for form in _base64_forms(text.encode("latin-1"))}
        self._encoded = [form.encode() for form in sorted(encoded)]
        either = encoded.union(form.translate(_TO_URLSAFE) for form in encoded)
        self._in_a_line = sorted([*self._plain, *either], key=len)
        self._lengths = [len(form) for form in self._in_a_line]
        # Nothing but an odd escape gets into a run of letters and digits, and of base64 a line break.
        self._runs = sorted({_longest_run(text) for text in raw})
        self._encoded_runs = sorted({_longest_run(form).encode() for form in encoded})
        pieces = {_rare_piece(run.decode()) for run in self._encoded_runs}
        # One of no letters fits any text.
        self._pieces = [(piece[:1], re.compile(r"[ \t\r\n\\rn]*".join(piece))) for piece in sorted(pieces)]
        self._overlap = max(map(len, raw), default=0) * _WIDEST

    def holds(self, text: str) -> bool:
        if "\n" not in text and "\\" not in text and "%" not in text and "&" not in text:
            fitting = bisect_right(self._lengths, len(text))
            forms = self._in_a_line if fitting == len(self._lengths) else self._in_a_line[:fitting]
            return any(map(text.__contains__, forms)) or (bool(self._spaced) and self._holds_spaced(text))
        if not self._suspicious(text):
            return False
        undone = self._undone(text)
        bare = self._bare(undone)
        return (
            any(map(bare.__contains__, self._plain))
            or self._holds_spaced(bare)
            or any(map(_joined(undone).__contains__, self._encoded))
            or (bare is not text and any(map(text.__contains__, self._plain)))
        )

    def _suspicious(self, text: str) -> bool:
        """True if a secret may be in the text: it finds out faster than by undoing the escapes."""
        return (
            any(map(text.__contains__, self._runs))
            or self._suspicious_base64(text)
            or ("\\" in text and "\\u00" in text and _ODD_CODE.search(text) is not None)
            or ("%" in text and _ODD_PERCENT.search(text) is not None)
            or ("&" in text and _ODD_ENTITY.search(text) is not None)
        )

    def _suspicious_base64(self, text: str) -> bool:
        """True if base64 of a secret may be in the text; looking for rare letters is faster than joining its lines."""
        letters = ((piece, at) for first, piece in self._pieces for at, _ in _places(text, [first]))
        for tried, (piece, at) in enumerate(letters):
            if tried == _MOST_TRIES:
                return any(map(_joined(text).__contains__, self._encoded_runs))
            if piece.match(text, at):
                return True
        return False

    def _holds_spaced(self, text: str) -> bool:
        return bool(self._spaced) and "+" in text and any(map(text.replace("+", " ").__contains__, self._spaced))

    def mask(self, pieces: Iterable[str]) -> Iterator[str]:
        held = ""
        for piece in pieces:
            data = held + piece
            done, held = self._mask_up_to(data, max(len(data) - self._overlap, 0))
            yield done
        yield self._mask_up_to(held, len(held))[0]

    def _mask_up_to(self, text: str, end: int) -> tuple[str, str]:
        """Mask every secret that begins before `end`; gives that, and the rest."""
        if not self.holds(text):
            return text[:end], text[end:]
        parts: list[str] = []
        position = 0
        for start, stop in sorted(self._spans(text)):
            if start >= position and start < end:
                parts += [text[position:start], MASK]
            if start < max(end, position):
                position = max(position, stop)
        parts.append(text[position:end])
        return "".join(parts), text[max(position, end) :]

    def _spans(self, text: str) -> Iterator[Span]:
        yield from _places(text, self._plain)
        copy = _Copy(text)
        for _ in range(_ROUNDS):
            changed = [copy.change(pattern, put) for _, pattern, put in self._changes]
            if not any(changed):
                break
        bare = copy.fork()
        if self._slashes:
            bare.change(_BACKSLASH, lambda found: found[1])
        yield from map(bare.origin, _places(bare.text, self._plain))
        yield from map(bare.origin, _places(bare.text.replace("+", " "), self._spaced))
        if not any(map(_joined(copy.text).__contains__, self._encoded)):
            return
        copy.change(_NO_BASE64, lambda _: "")
        raw = copy.text.encode("latin-1").translate(_ONE_ALPHABET)
        for start, stop in _places(raw, self._encoded):
            padding = _PADDING.match(raw, stop)
            yield copy.origin((start, padding.end() if padding else stop))

    def _undone(self, text: str) -> str:
        for _ in range(_ROUNDS):
            made = 0
            for sign, pattern, put in self._changes:
                if sign in text:
                    text, count = pattern.subn(put, text)
                    made += count
            if not made:
                break
        return text

    def _read_slashes(self, secret: str) -> Iterator[str]:
        """Yield a secret as a text may show it: what follows a backslash of its own may be escaped there by itself."""
        found = list(self._changes[0][1].finditer(secret))
        some = product((True, False), repeat=len(found)) if len(found) <= _MOST_SLASHES else ([True], [False])
        for kept in some:
            parts, done = [], 0
            for match, whole in zip(found, cycle(kept), strict=False):
                parts += [secret[done : match.start()], match[0] if whole else match[0].replace("\\", "")]
                done = match.end()
            yield "".join([*parts, secret[done:]])

    def _bare(self, text: str) -> str:
        return text.replace("\\", "") if self._slashes else text


class _Copy:
    """A copy of a text in which parts are replaced, and where each of its characters comes from."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._rounds: list[tuple[list[int], list[int], list[int], list[int]]] = []

    def fork(self) -> _Copy:
        other = _Copy(self.text)
        other._rounds = [*self._rounds]
        return other

    def change(self, pattern: re.Pattern[str], put: Callable[[re.Match[str]], str]) -> bool:
        """Replace what a pattern finds; False if there is nothing."""
        parts: list[str] = []
        starts, stops, origins, ends = [0], [0], [0], [0]  # of each replaced part: here, and in the text before
        done = size = 0
        for found in pattern.finditer(self.text):
            new = put(found)
            parts += [self.text[done : found.start()], new]
            size += found.start() - done
            starts.append(size)
            size += len(new)
            stops.append(size)
            origins.append(found.start())
            ends.append(found.end())
            done = found.end()
        if not parts:
            return False
        self.text = "".join([*parts, self.text[done:]])
        self._rounds.append((starts, stops, origins, ends))
        return True

    def origin(self, span: Span) -> Span:
        """Return where in the first text these characters come from; an escape counts as a whole."""
        start, stop = span
        for starts, stops, origins, ends in reversed(self._rounds):
            at = bisect_right(starts, start) - 1
            # What begins where a part ends comes from behind it; a part of which nothing is left is before it.
            start = origins[at] if start < stops[at] else ends[at] + start - stops[at]
            at = bisect_right(starts, stop - 1) - 1
            stop = ends[at] if stop <= stops[at] else ends[at] + stop - stops[at]
        return start, stop


def _places(text: AnyStr, forms: Iterable[AnyStr]) -> Iterator[Span]:
    for form in forms:
        at = text.find(form)
        while at >= 0:
            yield at, at + len(form)
            at = text.find(form, at + len(form))


def _changes(letters: str) -> list[Change]:
    """Return how escapes of these letters, and of those of base64, are undone: their first sign, and the rest."""
    signs = {letter for letter in letters if letter.isascii() and not letter.isalnum()}
    signs |= {"\r", "\n"} if signs & {"\r", "\n"} else set()
    controls = {short: letter for short, letter in _CONTROLS.items() if letter in signs}
    escaped = re.escape("".join(["/", *sorted(signs - {"\\"}), *controls]))
    codes = rf"\\\\*(?:{_PLAIN_CODE if letters.isascii() else _CODE}|([{escaped}]))"
    bytes_of_signs = "|".join(
        "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in f"{ord(sign):02x}")
        for sign in sorted(signs.union("+/=\n\r\\%&"))
    )
    percent = f"%({bytes_of_signs}|{_ODD}{'' if letters.isascii() else f'|[89a-fA-F]{_HEX}'})"
    return [
        ("\\", re.compile(codes), lambda found: _code(found, controls)),
        ("%", re.compile(percent), lambda found: chr(int(found[1], 16))),
        ("&", _ENTITY, _entity),
    ]


def _code(found: re.Match[str], controls: Mapping[str, str]) -> str:
    *digits, sign = found.groups()
    if sign:
        return controls.get(sign, sign)
    codes = [int(each, 16) for each in digits if each]
    if len(codes) == 2:
        codes = [0x10000 + ((codes[0] - 0xD800) << 10) + codes[1] - 0xDC00]
    # `\xc3` is a byte, as bytes are written; the others are characters.
    return chr(codes[0]) if codes[0] < 0x80 or digits[-1] else _character(codes[0], found[0])


def _entity(found: re.Match[str]) -> str:
    hexadecimal, decimal, name = found.groups()
    return _NAMED[name] if name else _character(int(hexadecimal, 16) if hexadecimal else int(decimal), found[0])


def _character(code: int, otherwise: str) -> str:
    return _raw(chr(code)) if code <= 0x10FFFF else otherwise


def _raw(text: str) -> str:
    """The bytes of a text, each as a character."""
    return text.encode("utf-8", "surrogatepass").decode("latin-1")


def _base64_forms(raw: bytes) -> Iterator[str]:
    """Encode it as part of something longer: the characters that depend on the secret alone."""
    for before in range(3):
        encoded = binascii.b2a_base64(bytes(before) + raw, newline=False).decode()
        yield encoded[-(-before * 8 // 6) : (before + len(raw)) * 8 // 6]


def _joined(text: str) -> bytes:
    """Return a text without line breaks, also escaped ones, and without what indents its lines, in one alphabet."""
    if "\\\\" in text:
        text = _ESCAPED_BREAK.sub("", text)
    elif "\\" in text:
        text = text.replace("\\r\\n", "").replace("\\n", "")
    return text.encode("latin-1").translate(_ONE_ALPHABET, b" \t\r\n\\")


def _rare_piece(run: str) -> str:
    """Return some letters of a run, the first of them rare; without those that escapes of line breaks have, too."""
    pieces = [re.split("[rn]", run[at : at + _PIECE_LETTERS])[0] for at in range(len(run))]
    return max(pieces, key=lambda piece: (len(piece) >= _FEWEST_LETTERS, _RARE.find(piece[:1])), default="")


def _longest_run(text: str) -> str:
    return max(_ALNUM.findall(text), key=len, default="")
