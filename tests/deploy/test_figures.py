"""The figures of a server, and the alert rules and the dashboard in `deploy/` that are made of them."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.availability import require_installed
from tests.e2e.raw_server import WAIT
from tests.team.team_server import TeamServer, serve_team, text_of

pytestmark = pytest.mark.anyio

DEPLOY = Path(__file__).parents[2] / "deploy"
RULES = DEPLOY / "prometheus" / "onetool.rules.yaml"
_NOT_NAMES = re.compile(r"by \([^)]*\)|\{[^}]*\}")
_NAME = re.compile(r"\b(?:onetool|process|mcp|gen_ai)_\w+")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TeamServer]:
    with serve_team(tmp_path_factory.mktemp("team"), auth={}, config={"limits": {"runs_per_minute": 2}}) as found:
        yield found


def scrape(server: TeamServer) -> str:
    return httpx2.get(f"{server.public_url}/metrics", timeout=WAIT).text


def figure(text: str, name: str) -> float:
    [line] = [each for each in text.splitlines() if each.startswith(f"{name} ")]
    return float(line.rpartition(" ")[2])


async def test_an_operator_sees_refusals_kernels_and_the_build(server: TeamServer) -> None:
    key = server.keys("new", "--for", "ada")
    before = scrape(server)
    httpx2.post(server.url, timeout=WAIT)
    async with server.connect(key) as client:
        told = [text_of(await client.call_tool("run", {"command": "1 + 1"})) for _ in range(9)]
    after = scrape(server)

    refused = 'onetool_limit_refusals_total{limit="runs_per_minute"}'
    assert figure(before, refused) == 0
    assert figure(after, refused) == sum("limit of 2 runs" in each for each in told) > 0
    assert figure(after, 'onetool_http_refusals_total{status="401"}') == 1
    assert figure(after, "onetool_engine_open") == 1
    assert figure(after, "onetool_store_up") == 1
    assert figure(after, "onetool_run_takeovers_total") == 0
    assert re.search(r'onetool_build_info\{version="\S+",store="sqlite"\} 1', after)
    assert "ada" not in after


def names_in(texts: list[str]) -> set[str]:
    return {name for text in texts for name in _NAME.findall(_NOT_NAMES.sub("", text))}


def test_every_name_of_the_rules_and_of_the_dashboard_is_scraped(server: TeamServer) -> None:
    found = {line.split()[2] for line in scrape(server).splitlines() if line.startswith("# TYPE")}
    panels = json.loads((DEPLOY / "grafana" / "onetool.json").read_text())["panels"]
    shown = [target["expr"] for panel in panels for target in panel["targets"]]
    wanted = names_in(shown) | names_in(re.findall(r"expr: (.*?)\n +(?:for|labels):", RULES.read_text(), re.DOTALL))

    assert len(wanted) > 15
    assert {re.sub(r"_(bucket|count|sum)$", "", name) if name not in found else name for name in wanted} <= found


def test_the_rules_and_the_figures_are_well_formed(server: TeamServer) -> None:
    promtool = require_installed("promtool", package="prometheus")

    rules = subprocess.run([promtool, "check", "rules", RULES], check=False, capture_output=True, text=True)
    alerts = subprocess.run(
        [promtool, "test", "rules", Path(__file__).parent / "alerts.yaml"], check=False, capture_output=True, text=True
    )
    figures = subprocess.run(
        [promtool, "check", "metrics"], check=False, input=scrape(server), capture_output=True, text=True
    )

    assert rules.returncode == 0, rules.stdout + rules.stderr
    assert "SUCCESS" in rules.stdout
    assert alerts.returncode == 0, alerts.stdout + alerts.stderr
    assert figures.returncode in (0, 3), figures.stderr  # 3: names that its lint would rather have otherwise
    assert "error" not in figures.stderr.lower().replace("error_type", ""), figures.stderr
