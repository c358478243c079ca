"""What a guest tells is judged: whatever got through, did not work or was not tried is seen."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.vm.cases import Case, Verdict
from tests.vm.routes import ENDS_THE_RUN

ENDED = {"kind": "end"}
HELD: list[dict[str, Any]] = [
    {"kind": "system", "release": "6.1", "uid": 0},
    {"kind": "works", "text": "42", "failed": False},
    {"kind": "health", "text": json.dumps({"engine": "process", "status": "ok"})},
    {"kind": "run", "name": "mounting", "text": "refused: OSError", "failed": False},
    {"kind": "run", "name": ENDS_THE_RUN, "text": "The process ended.", "failed": True},
    {"kind": "home", "diary": "private\n", "planted": False},
    {
        "kind": "program", "name": "try_files", "tried": {"secret": "refused: PermissionError", "reads": "milk"},
        "outcomes": {"reads": "milk"}, "status": 0, "explanation": "", "kept": True,
    },
]  # fmt: skip
NOT_STARTED = {"tried": {}, "outcomes": {"reads": "milk"}, "status": 126, "explanation": "no Landlock", "kept": True}


def judge(*lines: dict[str, Any], case: Case = Case("as it is")) -> Verdict:  # noqa: B008 - it does not change
    verdict = Verdict(case, "root")
    for line in lines:
        verdict.hear({"at": 1.0, **line})
    return verdict


def test_what_was_refused_everywhere_is_held() -> None:
    verdict = judge(*HELD, ENDED)

    assert (verdict.held, verdict.refused, verdict.broken) == (True, 3, [])


@pytest.mark.parametrize(
    "line",
    [
        {"kind": "run", "name": "mounting", "text": "GOT IN: 0", "failed": False},
        {"kind": "run", "name": "mounting", "text": "The process ended.", "failed": True},
        {"kind": "run", "name": ENDS_THE_RUN, "text": "GOT IN: 1", "failed": False},
        {"kind": "home", "diary": "", "planted": False},
        {"kind": "health", "text": json.dumps({"engine": "wasm", "status": "ok"})},
        {"kind": "system", "release": "6.1", "uid": 1000},
        {"kind": "works", "text": "Error", "failed": True},
        {**HELD[-1], "tried": {"secret": "private key", "reads": "milk"}},
        {**HELD[-1], "tried": {"secret": "refused: PermissionError", "reads": "refused: PermissionError"}},
        {**HELD[-1], "kept": False},
        {"kind": "program", "name": "try_files", **NOT_STARTED},
    ],
)
def test_anything_else_is_not(line: dict[str, Any]) -> None:
    assert not judge(*HELD, line, ENDED).held


def test_what_was_not_tried_to_the_end_is_not_held() -> None:
    assert not judge(*HELD).held


def test_where_nothing_can_be_held_nothing_may_start() -> None:
    case = Case("bare", sandbox={"status": "refused"}, without=frozenset({"root try_files"}))
    refused = {"kind": "works", "text": "Error", "failed": True}
    program = {"kind": "program", "name": "try_files", **NOT_STARTED}

    assert judge(refused, program, ENDED, case=case).held
    assert not judge({**refused, "text": "42", "failed": False}, program, ENDED, case=case).held
    assert not judge(refused, {**program, "tried": {"secret": "refused"}, "status": 0}, ENDED, case=case).held


def test_what_a_kernel_is_known_not_to_refuse_is_named_and_no_more() -> None:
    line = {**HELD[-1], "tried": {"reads": "milk", "secret": "private key", "mode": None}}

    verdict = judge(*HELD, line, ENDED, case=Case("old", known=frozenset({"try_files, secret"})))

    assert (verdict.known, verdict.broken) == (["try_files, secret: 'private key'"], ["try_files, mode: None"])
