"""What flows by value cost: arguments that are compared with what came, and a text that comes in."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from statistics import median

from bench.report import Line
from bench.servers import Servers
from ot.clients.caller import Caller, ClientMemory
from ot.execution.value_flows import ValueFlows
from ot.flows.seen_values import Source
from ot.flows.traces import Traces
from ot.values import Arguments

_REPEATS = 200
_LARGE = 100_000  # characters
_WORDS = (
    "the meeting that we had planned for this week is moved to another day because several people are away and the "
    "report is not finished yet please tell everybody who wanted to come and answer before the end of the month"
)
_BODY = (
    "Hello {}, the meeting that we had planned for Friday is moved to Monday at ten, in the large room. "
    "Please tell Alice. Thanks"
)


def measure(_: Servers) -> Iterator[Line]:
    flows, caller = ValueFlows(), Caller(memory=ClientMemory())
    seen, text = flows.of(caller.memory), _invent_mail()

    def bring() -> None:
        traces = Traces(came=True)
        traces.add(text)
        seen.bring(Source(("mail.read",), time.time()), seen.prepare(traces), traces.size)

    def compare(arguments: Iterator[Arguments]) -> None:
        list(flows.compare(next(arguments), caller, seen))

    yield Line("by value: 100 kB that comes in", _take(bring, 1) * 1e3, None, "ms", 20)
    new, other = _write(anew=True), _write(anew=False)
    taken = _take(lambda: compare(new), 20)
    yield Line("by value: a call with 200 bytes of arguments", taken * 1e6, None, "µs", 30)
    taken = _take(lambda: compare(other), 20)
    yield Line("by value: another text of that length to the same person", taken * 1e6, None, "µs", 30)


def _write(*, anew: bool) -> Iterator[Arguments]:
    """Yield arguments of calls, no two of which are the same; `anew` if nothing in them was given before."""
    for number in range(2 * _REPEATS) if anew else range(10 * _REPEATS, 12 * _REPEATS):
        name = "".join(chr(97 + int(digit)) for digit in str(number))
        own = name if anew else "bob"
        yield {"to": f"{own}@ours.example", "subject": f"Meeting on Friday, {own}", "body": _BODY.format(name)}


def _take(work: Callable[[], object], times: int) -> float:
    """Return the seconds of processor that something usually takes."""
    taken = []
    for _ in range(_REPEATS // times):
        began = time.thread_time()
        for _ in range(times):
            work()
        taken.append((time.thread_time() - began) / times)
    return median(taken)


def _invent_mail() -> str:
    chosen, lines, ordinary = random.Random(1), list[str](), _WORDS.split()
    while sum(map(len, lines)) < _LARGE:
        words = " ".join(chosen.choice(ordinary) for _ in range(24))
        lines.append(f"{words} user{chosen.randrange(9999)}@host{chosen.randrange(99)}.example {chosen.random():.4}")
    return "\n".join(lines)
