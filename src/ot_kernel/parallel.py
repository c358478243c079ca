"""`ot.parallel`: several calls of one run at once. It lives here because functions cannot cross to the server."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ot_kernel.values import Value

MAX_PARALLEL = 16

Step = Callable[[], Value]


def parallel(*calls: Step | Iterable[Step]) -> list[Value]:
    """Make several calls at once and return their values in order; the first failure is raised when all have ended.

    Example:
        ot.parallel(lambda: ot.packs(), lambda: proj.list())
        ot.parallel([lambda q=q: ot.help(query=q) for q in questions])
    """
    outcomes = _run_all(_collect(calls))
    for _, failure in outcomes:
        if failure is not None:
            raise failure
    return [value for value, _ in outcomes]


def _collect(calls: tuple[Step | Iterable[Step], ...]) -> list[Step]:
    steps: list[Step] = []
    for call in calls:
        steps.extend(call if isinstance(call, Iterable) and not callable(call) else [call])
    for step in steps:
        if not callable(step):
            raise TypeError(f"ot.parallel takes functions, not {type(step).__name__}: write lambda: pack.tool(...)")
    return steps


def _run_all(steps: list[Step]) -> list[tuple[Value, BaseException | None]]:
    import threading  # noqa: PLC0415 - loaded ahead, it would cost every fork half a millisecond

    outcomes: list[tuple[Value, BaseException | None]] = [(None, None)] * len(steps)
    waiting = iter(range(len(steps)))
    taking = threading.Lock()

    def work() -> None:
        while True:
            with taking:
                index = next(waiting, None)
            if index is None:
                return
            try:
                outcomes[index] = (steps[index](), None)
            except BaseException as error:  # noqa: BLE001 - handed to the thread that asked
                outcomes[index] = (None, error)

    threads: list[threading.Thread] = []
    for _ in range(min(MAX_PARALLEL, len(steps))):
        thread = threading.Thread(target=work, daemon=True)
        try:
            thread.start()
        except RuntimeError:
            break  # no memory for more: the threads that exist do everything, or this one if there are none
        threads.append(thread)
    if not threads:
        work()
    for thread in threads:
        thread.join()
    return outcomes
