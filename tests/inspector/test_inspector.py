"""The view that the official Inspector has of servers of others: the same through OneTool as directly."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.availability import report_missing, require_node
from tests.preloaded import preloaded_command, run_preloaded
from tests.reference_servers.servers import reference_server

pytestmark = pytest.mark.long

PROGRAM = Path(__file__).parent / "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
LISTS = {"prompts/list": "prompts", "resources/list": "resources", "resources/templates/list": "resourceTemplates"}
SERVERS = ("everything", "memory", "sqlite")
OURS = "onetool://results/{handle}"


def seen(server: dict[str, Any], method: str, folder: Path) -> list[dict[str, Any]]:
    """The items of a list as the Inspector shows them."""
    if not PROGRAM.exists():
        report_missing("the Inspector", remedy="`make test-long` installs it (scripts/install-inspector).")
    node = require_node()
    variables = [word for name, value in server["env"].items() for word in ("-e", f"{name}={value}")]
    found = subprocess.run(
        [node, PROGRAM, "--cli", *variables, "--method", method, server["command"], *server["args"]],
        env={"PATH": f"{node.parent}:{os.environ['PATH']}", "HOME": str(folder)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if found.returncode and "Method not found" in found.stderr + found.stdout:
        return []
    start = found.stdout.find("{")
    assert start >= 0, found.stdout + found.stderr
    listed: list[dict[str, Any]] = json.loads(found.stdout[start:])[LISTS[method]]
    return listed


def test_the_inspector_sees_the_same_prompts_resources_and_templates(tmp_path: Path) -> None:
    servers = {}
    for name in SERVERS:
        (tmp_path / name).mkdir()
        servers[name] = reference_server(name, tmp_path / name).settings()
    home = tmp_path / "home"
    home.mkdir()
    (home / "onetool.yaml").write_text(json.dumps({"servers": servers}))
    variables = {"HOME": str(home), "PATH": os.environ["PATH"]}
    heard = run_preloaded(
        "--config", str(home / "onetool.yaml"), "run", "len(ot.resources()), len(ot.prompts())", cwd=home, env=variables
    )
    assert heard.returncode == 0, heard.stderr  # at the very first start the lists fill as servers are heard
    program = tmp_path / "onetool"  # the Inspector takes `--config` for its own
    program.write_text(
        f"#!/bin/sh\nexec {shlex.join(preloaded_command('onetool'))} serve --config {home}/onetool.yaml\n"
    )
    program.chmod(0o755)
    onetool = {"command": str(program), "args": [], "env": variables}

    for method in LISTS:
        direct = []
        for name in SERVERS:
            items = seen(servers[name], method, tmp_path / name)
            own = method == "prompts/list"
            direct += [{**item, "name": f"{name}.{item['name']}"} if own else item for item in items]
        through = [item for item in seen(onetool, method, home) if item.get("uriTemplate") != OURS]
        assert through == direct
        assert direct
