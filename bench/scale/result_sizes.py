"""Results of 1 B to 100 MB: the code makes a text of that size and returns it, or counts it."""

from __future__ import annotations

import time
from collections.abc import Iterator

from bench.figures import Curve, Session
from bench.scale.growth import describe_growth, make_series
from bench.servers import RUN, open_servers, run, warm_up
from ot.kernel.limits import FILE_SIZE

SIZES = (1, 1_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
MOST_ROUNDS = 5
_KEPT = (
    "A long result is kept, and the client gets its beginning and a handle. "
    f"One of more than {FILE_SIZE // 2**20} MB is not kept: the client gets its beginning, and is told so."
)


def measure(session: Session, *, sizes: tuple[int, ...] = SIZES) -> Iterator[Curve]:
    returned: dict[float, list[float]] = {size: [] for size in sizes}
    counted: dict[float, list[float]] = {size: [] for size in sizes}
    with open_servers() as servers, servers.start_ours() as ours:
        warm_up(ours, RUN)
        for _ in range(min(session.rounds, MOST_ROUNDS)):
            for size in sizes:
                session.tell(f"result of {size:,} bytes")
                made = f"x = ('y' * 99 + '\\n') * ({size} // 100) + 'y' * ({size} % 100)"
                for samples, last in ((returned, "x"), (counted, "len(x)")):
                    time.sleep(0.05)
                    samples[size].append(ours.call(*run(f"{made}\n{last}")) * 1e3)
    result = make_series("returned", returned)
    yield Curve(
        "Large results",
        "bytes",
        "ms of the run",
        (result, make_series("made, and only counted", counted)),
        about=describe_growth(result),
        notes=(_KEPT,),
    )
