"""A rehearsal: limits are counted by the minutes of the past."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mcp_core.quick_dataclass import replace
from ot.config.models import PolicySettings
from ot.config.team import LimitSettings
from ot.effects import Effect
from ot.execution.rehearsal import LIMITED, Rules, rehearse
from ot.journal.recorded import CallOutcome, RecordedCall, RecordedRun

pytestmark = pytest.mark.anyio

RUN = RecordedRun("r", "local", "/p", 0.0, "code", "editor", whole=True)


def run_at(began: float, *calls: float, seconds: float = 0.0, command: str = "code") -> RecordedRun:
    made = [
        RecordedCall(n, "mail.send", Effect.UNKNOWN, at, "", outcome=CallOutcome.VALUE) for n, at in enumerate(calls)
    ]
    return replace(RUN, time=began, seconds=seconds, command=command, calls=tuple(made))


@pytest.mark.parametrize(
    ("limits", "runs", "limited"),
    [
        ({"calls_per_minute": 2}, [run_at(0, 1, 2, 3), run_at(50, 51, 61)], 2),
        ({"runs_per_minute": 1}, [run_at(0, 1, 2), run_at(50, 51, 61), run_at(60, 61)], 2),
        ({"concurrent_runs": 1}, [run_at(0, 1, seconds=10), run_at(9, 9), run_at(10, 11)], 1),
        ({"concurrent_runs": 1}, [run_at(0, 1, seconds=10), run_at(9, 9, command="ot.wait(run='r')")], 0),
        ({"runs_per_minute": 1, "calls_per_minute": 1}, [run_at(0, 1), run_at(2, 3), run_at(60, 61)], 1),
    ],
)
async def test_limits_stop_what_a_minute_has_too_much_of(
    limits: dict[str, int], runs: Sequence[RecordedRun], limited: int
) -> None:
    today = Rules(PolicySettings.model_validate({}), LimitSettings())
    then = today._replace(limits=LimitSettings.model_validate(limits))

    found = await rehearse(runs, today, then, names_of=lambda tool: (tool,), arguments_of=lambda _: {})

    assert (found.before[LIMITED], found.after[LIMITED]) == (0, limited)
    assert sum(found.changes.values()) == limited


async def test_a_call_that_is_denied_takes_nothing_from_a_limit() -> None:
    policy = PolicySettings.model_validate({"deny": ["mail.send"]})
    rules = Rules(policy, LimitSettings.model_validate({"calls_per_minute": 1}))

    found = await rehearse([run_at(0, 1, 2, 3)], rules, rules, names_of=lambda tool: (tool,), arguments_of=lambda _: {})

    assert dict(found.after) == {"denied": 3}
