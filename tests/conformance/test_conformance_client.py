"""The official conformance suite against the proxy's client, at both revisions of the protocol.

Scenarios of extensions that are not offered are listed with the reason; all others must pass.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.suite import Checks, run_client_scenario, run_client_suite
from tests.preloaded import preloaded_command

pytestmark = pytest.mark.xdist_group("conformance")

_CLIENT = Path(__file__).parent / "client_program.py"
REVISIONS = ("2025-11-25", "2026-07-28")

NOT_OFFERED = {
    "auth/client-credentials-jwt": "an extension: a client that logs in with a key of its own, without a person",
    "auth/dpop": "an extension: tokens that are bound to a key",
    "auth/dpop-nonce": "an extension: tokens that are bound to a key",
    "auth/wif-jwt-bearer": "an extension: tokens by way of the identity of a workload",
}


@pytest.mark.parametrize("revision", [pytest.param(REVISIONS[0], marks=pytest.mark.long), REVISIONS[1]])
@pytest.mark.long
def test_every_required_scenario_passes(revision: str, tmp_path: Path) -> None:
    client = preloaded_command(str(_CLIENT))  # the suite starts it for each of dozens of scenarios
    results = run_client_suite(client, revision, tmp_path / "all")

    failed = {name: _failed(checks) for name, checks in results.items() if name not in NOT_OFFERED and _failed(checks)}

    # The suite plays all scenarios at once, which is too much for a busy machine: what failed is played again, alone.
    again = {
        name: _failed(run_client_scenario(client, name, revision, tmp_path / str(number)))
        for number, name in enumerate(failed)
    }
    assert {name: checks for name, checks in again.items() if checks} == {}
    assert len(results) > len(NOT_OFFERED) + 15
    assert results.keys() >= NOT_OFFERED.keys()


def _failed(checks: Checks) -> list[str]:
    return sorted(check for check, status in checks.items() if status == "FAILURE")
