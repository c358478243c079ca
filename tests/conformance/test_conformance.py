"""The official conformance suite against the real server over HTTP, at both revisions of the protocol.

The resources that the suite asks for are those of a server behind ours.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.conformance.exceptions import EXPECTED_FAILURES, PASSING
from tests.conformance.suite import Checks, run_suite
from tests.measured import MEASURED
from tests.proxied import program

pytestmark = pytest.mark.xdist_group("conformance")

REVISIONS = tuple(PASSING)
OFFERED = {
    "resources": [
        {"uri": f"test://{name}", "name": name} for name in ("static-text", "static-binary", "watched-resource")
    ],
    "templates": [{"uriTemplate": "test://template/{id}/data", "name": "template"}],
    "contents": {"test://static-binary": {"mimeType": "image/png", "blob": "iVBORw0KGgo="}},
}
SCENARIOS = [
    (revision, name)
    for revision in REVISIONS
    for name in sorted(PASSING[revision] | EXPECTED_FAILURES[revision].keys())
]


@pytest.fixture(scope="module")
def server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("server")
    config, offered = folder / "onetool.yaml", folder / "offered.json"
    offered.write_text(json.dumps(OFFERED))
    servers = {"fixture": program("offers", offered)}
    # Nobody reads what follows the address on stderr.
    config.write_text(json.dumps({"log": {"file": "server.log"}, "servers": servers}))
    arguments = ["serve", "--config", str(config), "--http", "127.0.0.1:0", "--no-token"]
    with subprocess.Popen(
        [sys.executable, "-m", "onetool", *arguments],
        cwd=folder,
        env={"HOME": str(folder), "PATH": "", **MEASURED},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        try:
            yield _read_url(server)
        finally:
            server.terminate()


@pytest.fixture(scope="module")
def results(server_url: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Checks]]:
    return {revision: run_suite(server_url, revision, tmp_path_factory.mktemp(revision)) for revision in REVISIONS}


@pytest.mark.parametrize(("revision", "scenario"), SCENARIOS)
def test_only_the_listed_checks_of_a_scenario_fail(
    results: dict[str, dict[str, Checks]], revision: str, scenario: str
) -> None:
    expected = EXPECTED_FAILURES[revision].get(scenario)

    failed = {check for check, status in results[revision][scenario].items() if status == "FAILURE"}

    assert failed == (expected.checks if expected else frozenset())


@pytest.mark.parametrize("revision", REVISIONS)
def test_every_scenario_of_the_suite_is_listed(results: dict[str, dict[str, Checks]], revision: str) -> None:
    listed = PASSING[revision] | EXPECTED_FAILURES[revision].keys()

    assert results[revision].keys() == listed


def _read_url(server: subprocess.Popen[str]) -> str:
    """The address that the server announces once it listens."""
    assert server.stderr
    said = []
    for line in server.stderr:
        said.append(line)
        if found := re.search(r"http://\S+", line):
            return found[0]
    pytest.fail(f"the server did not listen: {''.join(said)}")
