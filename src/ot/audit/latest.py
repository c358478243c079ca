"""The latest audited calls, read from the newest line on, and no further than to as many calls as are wanted.

`onetool audit --verify` says whether the whole log is as it was written. Here that is seen of the lines that are read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime
from fnmatch import translate
from heapq import merge
from typing import NamedTuple

from ot.audit.calls import AuditedCall, collect_calls
from ot.audit.chain import unseal
from ot.audit.reading import AuditEntry, Finding
from ot.store.newest_lines import ALL, LinePlace, LogLine, chain_of
from ot.store.parts import AuditRows

_BEGUN = re.compile(rb'\{"n":(\d{1,15}),"time":(\d+\.\d+),"event":"(begin|refused)","tool":("(?:[^"\\]|\\.)*")')
_PERSON = re.compile(rb',"person":("(?:[^"\\]|\\.)*")')
_ABOUT = re.compile(rb'\{"n":\d+,"time":[\d.]+,"event":"(end|asked)","call":(\d{1,15}),')
_ROUNDED = 0.001  # seconds by which a line may have been written before the time in it
_CHANGED = "a line was changed; onetool audit --verify names it"
_APART = "lines were removed, moved or added; onetool audit --verify names the place"


class LatestCalls(NamedTuple):
    calls: list[AuditedCall]  # the newest first
    findings: list[Finding]
    older: LinePlace | None  # before which there may be more


def read_latest(
    logs: Sequence[AuditRows],
    *,
    most: int = ALL,
    before: LinePlace | None = None,
    since: float = 0.0,
    tool: str = "",
    is_person: Callable[[str], bool] | None = None,
    most_lines: int = ALL,
) -> LatestCalls:
    """Read the latest calls of all logs: of one tool, pack or pattern, and of some people. Blocking; raises OSError.

    They began before a place, and not before `since`. Where fewer match, reading ends after so many lines.
    """
    is_tool = re.compile("|".join(map(translate, (tool, f"{tool}.*")))).match if tool else None
    chains: dict[str, _ReadChain] = {}
    findings: list[Finding] = []
    count, older, last = 0, None, None
    for number, (line, log) in enumerate(_merge(logs, before)):
        begun = _BEGUN.match(line.raw)
        wanted = begun is not None and (
            float(begun[2]) >= since
            and (is_tool is None or is_tool(_read_text(begun[4])) is not None)
            and (is_person is None or is_person(_person_in(line.raw)))
        )
        if line.at[0] < since - _ROUNDED:
            older = None
            break
        if number >= most_lines or (wanted and count >= most):
            older = older if count >= most else last
            break
        chain = chains.setdefault(chain_of(line.at[1]), _ReadChain(log))
        chain.lines.append(line)
        last = line.at
        if line.problem:
            findings.append(Finding(line.at[1], 0, line.problem))
        if wanted and begun is not None:
            (chain.chosen if begun[3] == b"begin" else chain.refused).add(int(begun[1]))
            count, older = count + 1, line.at
    else:
        older = None
    everything = is_tool is None and is_person is None
    calls = [call for name, chain in chains.items() for call in chain.calls(name, findings, everything=everything)]
    if since:  # some lines before it were read
        first = datetime.fromtimestamp(since, UTC).isoformat(timespec="milliseconds")
        calls = [call for call in calls if call.time >= first]
    return LatestCalls(sorted(calls, key=lambda call: call.time, reverse=True), [*dict.fromkeys(findings)], older)


def _merge(logs: Sequence[AuditRows], before: LinePlace | None) -> Iterator[tuple[LogLine, AuditRows]]:
    def lines_of(log: AuditRows) -> Iterator[tuple[LogLine, AuditRows]]:
        return ((line, log) for line in log.newest(before))

    return merge(*map(lines_of, logs), key=lambda each: each[0].at, reverse=True)


def _person_in(raw: bytes) -> str:
    found = _PERSON.search(raw)
    return "" if found is None else _read_text(found[1])


def _read_text(raw: bytes) -> str:
    try:
        return str(json.loads(raw))
    except ValueError:  # of a line that somebody has changed
        return ""


class _ReadChain:
    """The lines that were read of a chain, the newest first, and the numbers of wanted calls that begin in them."""

    def __init__(self, log: AuditRows) -> None:
        self.lines: list[LogLine] = []
        self.chosen: set[int] = set()
        self.refused: set[int] = set()
        self._log = log

    def calls(self, name: str, findings: list[Finding], *, everything: bool) -> list[AuditedCall]:
        """Return the chosen calls; where they ended after these lines, that is read too."""
        if not everything and not self.chosen | self.refused:
            return []
        lines = sorted(self.lines, key=lambda line: line.at[1:])  # as they were written, whatever the clock said
        told = [found for line in lines if (found := _ABOUT.match(line.raw)) is not None]
        going_on = self.chosen - {int(found[2]) for found in told if found[1] == b"end"}
        in_use, later = False, []
        if going_on:
            _, file, place = lines[-1].at
            in_use = self._log.in_use(file)  # asked first: whoever has ended since has written all
            later = [LogLine((0.0, file, 0), raw) for raw in self._log.about(file, place + 1, going_on)]
        chosen = None if everything else self.chosen | self.refused
        entries = [*self._entries(name, lines, findings, chosen)]
        entries += self._entries(name, later, findings, self.chosen)
        return collect_calls(entries, in_use=in_use)

    def _entries(
        self, name: str, lines: Sequence[LogLine], findings: list[Finding], chosen: Collection[int] | None
    ) -> Iterator[AuditEntry]:
        """Yield whole lines, of chosen calls or all; of all, each must follow the one before it."""
        previous: str | None = None
        for line in lines:
            file = line.at[1]
            if chosen is not None and _number_in(line.raw) not in chosen:
                continue
            entry, digest = unseal(line.raw)
            if entry is not None:
                if chosen is None and previous is not None and entry.get("prev") != previous:
                    findings.append(Finding(file, 0, _APART))
                yield AuditEntry(name, entry)
            elif line.raw.endswith(b"\n"):
                findings.append(Finding(file, 0, _CHANGED))
            previous = digest


def _number_in(raw: bytes) -> int | None:
    """Return the number of the call that a line is about."""
    if (begun := _BEGUN.match(raw)) is not None:
        return int(begun[1])
    found = _ABOUT.match(raw)
    return None if found is None else int(found[2])
