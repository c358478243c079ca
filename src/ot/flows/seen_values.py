"""A client's memory of values: what guarded calls have brought to it, and what it had said or got before.

What came is kept as an unordered set of digests for each call, with the person's key, so that it can be kept beside
whatever the client writes; what was known before is only for this process. Neither holds text.
"""

from __future__ import annotations

import json
import re
import secrets
import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2s
from typing import NamedTuple

from mcp_core.quick_dataclass import dataclass, field
from ot.flows.encodings import unescape
from ot.flows.letters import flatten, skeleton
from ot.flows.numbers import numbers_in
from ot.flows.traces import Traces

AT_LEAST = 2 * 1024 * 1024  # characters of what came that are remembered
EVERYTHING = "*"
_MOST_KNOWN = 200_000
_MOST_PASSED = 10_000
_FORM = 2
_DIGEST = 8  # bytes
_FIGURE = re.compile(r"\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d{1,3})?")
_LITERAL = re.compile(r"[\"']([^\"'\n]+)[\"']")


class Source(NamedTuple):
    """A call that brought values: all names of its tool, when it was made, and in which run."""

    names: tuple[str, ...]
    time: float  # seconds since the epoch
    run: str = ""


class Found(NamedTuple):
    """A trace in what is given to a call, and the call that brought it; `computed` if it is not there word for word."""

    text: str
    key: str  # identifies the value, and tells nothing of it
    source: Source
    computed: bool = False


class Carried(NamedTuple):
    """Something in an argument that a guarded call brought."""

    argument: str
    found: Found


class _Batch(NamedTuple):
    source: Source
    size: int  # characters
    digests: array[int]


class SeenValues:
    """The values that one client has seen."""

    def __init__(self, key: bytes) -> None:
        self.id = secrets.token_hex(8)
        self.version = 0
        self.lost: set[str] = set()  # names of tools of which not everything is remembered
        self.adopted: dict[str, int] = {}  # versions of other clients' memories that are part of this one
        self._key = blake2s(key).digest()  # of one length, which texts follow
        self._brought: dict[int, int] = {}  # the numbers of batches by digest
        self._hashes: set[int] = set()  # of this process, for what came here: quicker to look up than digests
        self._batches: dict[int, _Batch] = {}
        self._count = 0
        self._size = 0
        self._passed: set[int] = set()  # hashes of texts that were given since something came, and carry nothing
        self._known: tuple[set[int], set[int]] = (set(), set())  # hashes of traces; the older set is dropped first

    @property
    def mark(self) -> str:
        """The name of this memory as it is now, for whatever the client writes."""
        return f"#{self.id}.{self.version}"

    # -- what is known

    def learn(self, traces: Iterable[str]) -> None:
        """Remember what the client has said or got; what guarded calls brought before stays theirs."""
        if len(self._known[0]) > _MOST_KNOWN:
            self._known = set(), self._known[0]
        self._known[0].update(map(hash, traces))

    def knows(self, trace: str) -> bool:
        number = hash(trace)
        return number in self._known[0] or number in self._known[1]

    def has_passed(self, text: str, own: object) -> bool:
        """True if a text was given before, nothing of it had come, and nothing has come since."""
        return hash((text, id(own))) in self._passed

    def note_passed(self, texts: Iterable[str], own: object) -> None:
        if len(self._passed) > _MOST_PASSED:
            self._passed.clear()
        self._passed.update(hash((text, id(own))) for text in texts)

    # -- what came

    def prepare(self, traces: Traces) -> array[int]:
        """Return the digests of what is not known; on whatever thread."""
        fresh, older = self._known
        new = [trace for trace in traces.found if (number := hash(trace)) not in fresh and number not in older]
        self._hashes.update(map(hash, new))
        return array("Q", sorted(self._digests(new)))

    def bring(self, source: Source, digests: array[int], size: int, *, cut: bool = False) -> None:
        """Remember that a call brought these; the oldest ones make room, and are known to be lost."""
        if cut:
            self.lost.update(source.names)
        self._passed.clear()
        self._count += 1
        new = array("Q", [digest for digest in digests if digest not in self._brought])
        self._batches[self._count] = _Batch(source, size, new)
        self._brought.update(dict.fromkeys(new, self._count))
        self._size += size
        while self._size > 2 * AT_LEAST and len(self._batches) > 1:
            number = next(iter(self._batches))
            oldest = self._batches.pop(number)
            self._size -= oldest.size
            self.lost.update(oldest.source.names)
            for digest in oldest.digests:
                self._brought.pop(digest, None)
        if not self._batches or len(self._hashes) > 4 * len(self._brought) + _MOST_KNOWN:
            self._hashes = set()
            self.adopted.setdefault("", 0)  # from now on digests alone decide
        self.version += 1

    def find(self, traces: Mapping[str, str]) -> list[Found]:
        """Return those of these traces that guarded calls brought."""
        if not self._brought:
            return []
        likely = [*traces]
        if not self.adopted:
            if self._hashes.isdisjoint(map(hash, likely)):
                return []
            likely = [trace for trace in likely if hash(trace) in self._hashes]
        found = []
        for trace, digest in zip(likely, self._digests(likely), strict=True):
            number = self._brought.get(digest)
            if number is not None:
                found.append(Found(traces[trace], f"{digest:016x}", self._batches[number].source))
        return found

    def key_of(self, trace: str) -> str:
        return f"{self._digests([trace])[0]:016x}"

    def _digests(self, traces: Sequence[str]) -> Sequence[int]:
        """Return a number for each of these, which only who has the key can make."""
        key, digests = self._key, array("Q")
        texts = "\n".join(traces).encode("utf-8", "surrogatepass").split(b"\n") if traces else ()
        digests.frombytes(b"".join([blake2s(key + text, digest_size=_DIGEST).digest() for text in texts]))
        if sys.byteorder == "big":
            digests.byteswap()
        return digests

    # -- its way to other clients

    def pack(self) -> bytes:
        """Return everything that came as one document."""
        batches = [
            {**batch.source._asdict(), "size": batch.size, "count": len(batch.digests)}
            for batch in self._batches.values()
        ]
        head = {"form": _FORM, "version": self.version, "lost": sorted(self.lost), "batches": batches}
        content = array("Q")
        for batch in self._batches.values():
            content.extend(batch.digests)
        if sys.byteorder == "big":
            content.byteswap()
        return json.dumps(head).encode("ascii") + b"\n" + content.tobytes()

    def adopt(self, name: str, version: int, document: bytes) -> None:
        """Take over what another client's document remembers; raises ValueError where that makes no sense."""
        head, _, data = document.partition(b"\n")
        try:
            facts = json.loads(head)
            if facts["form"] != _FORM or facts["version"] < version:
                raise ValueError("it is another document than was meant")
            content = array("Q", data)
            if sys.byteorder == "big":
                content.byteswap()
            start = 0
            self.lost.update(map(str, facts["lost"]))
            for batch in facts["batches"]:
                end = start + int(batch["count"])
                source = Source(tuple(map(str, batch["names"])), float(batch["time"]), str(batch["run"]))
                self.bring(source, content[start:end], int(batch["size"]))
                start = end
        except (LookupError, TypeError) as error:
            raise ValueError(f"not a memory of values: {error}") from error
        self.adopted[name] = int(facts["version"])


@dataclass(eq=False, slots=True)
class RunValues:
    """The values that code of a run may give to calls without computing them, and its guarded calls so far."""

    written: str = ""  # the tokens of its command, with blanks between and around them
    numbers: frozenset[str] = frozenset()
    sources: dict[tuple[str, ...], Source] = field(default_factory=dict)  # of what it has got, by names

    def writes(self, text: str) -> bool:
        """True if a text stands in the command, however it is quoted there."""
        return f" {' '.join(flatten(text).split())} " in self.written


def read_command(command: str) -> tuple[RunValues, set[str]]:
    """Return what a command writes, and the traces of that."""
    traces = Traces(came=False)
    traces.add(command)
    text = unescape(command)
    tokens = flatten(text).split()
    numbers = {number for figure in _FIGURE.findall(text) for number in numbers_in(figure)}
    literals = {skeleton(literal) for literal in _LITERAL.findall(text)}
    return RunValues(f" {' '.join(tokens)} ", frozenset(numbers)), {*traces.found, *tokens, *numbers, *literals}
