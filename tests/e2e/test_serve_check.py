"""`onetool serve --check`: what a server would lack is said before anybody depends on it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.raw_server import environment_of
from tests.preloaded import run_preloaded

TEAM = """
auth: {public_url: "http://team.example", issuer: "http://127.0.0.1:9"}
store: postgresql://app:pw-of-the-database@127.0.0.1:1/team
telemetry: {otlp: "http://127.0.0.1:1"}
http: {connections: 100000}
"""


def test_everything_that_a_team_lacks_is_found_at_once(tmp_path: Path) -> None:
    (tmp_path / "onetool.yaml").write_text(TEAM)

    done = run_preloaded(
        "serve", "--config", "onetool.yaml", "--check", "--json", cwd=tmp_path, env=environment_of(tmp_path)
    )

    told = json.loads(done.stdout)
    red = {finding["area"] for finding in told["findings"] if finding["light"] == "red"}
    assert (done.returncode, told["ok"]) == (1, False)
    assert {"address", "people", "store", "sealing"} <= red
    [dashboard] = [finding for finding in told["findings"] if finding["area"] == "dashboard"]
    assert "auth.client_id and auth.client_secret not set" in dashboard["text"]
    assert "http://team.example/login/callback" in dashboard["fix"]
    assert all(finding["fix"] for finding in told["findings"] if finding["light"] != "green")
    assert any("cannot be reached" in finding["text"] for finding in told["findings"] if finding["area"] == "telemetry")
    assert "pw-of-the-database" not in done.stdout + done.stderr


def test_a_persons_own_server_lacks_nothing(tmp_path: Path) -> None:
    done = run_preloaded("serve", "--check", "--http", "127.0.0.1:0", cwd=tmp_path, env=environment_of(tmp_path))

    assert done.returncode == 0, done.stdout
    assert "it can listen at 127.0.0.1:0" in done.stdout
    assert "0 red" in done.stdout
