"""The engine is loaded when the client has been greeted, and a client that leaves before that leaves nothing behind."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

LIMIT = 30  # seconds


def start(folder: Path) -> subprocess.Popen[str]:
    """A server that tells on stderr what it loads, and whose client has said nothing yet."""
    return subprocess.Popen(
        [sys.executable, "-X", "importtime", "-m", "onetool", "serve"],
        env={"HOME": str(folder), "PATH": ""},
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_nothing_of_the_engine_is_loaded_for_a_client_that_says_nothing(tmp_path: Path) -> None:
    with start(tmp_path) as server:
        said, loaded = server.communicate(timeout=LIMIT)

    modules = set(re.findall(r"\| +([\w.]+)$", loaded, re.MULTILINE))
    assert (server.returncode, said) == (0, "")
    assert "onetool.front.pipes" in modules
    assert (
        not {"mcp", "mcp_types", "ot.app", "ot.execution.tool_executor", "ot.run.runner", "ot.workers.pool"} & modules
    )


def test_a_client_that_leaves_before_the_engine_is_open_leaves_no_process_and_no_folder(tmp_path: Path) -> None:
    with start(tmp_path) as server:
        zygote = wait_for_child(server.pid)
        [scratch] = re.findall(r"'scratch': '([^']+)'", Path(f"/proc/{zygote}/cmdline").read_text())
        assert Path(scratch).is_dir()

        server.communicate(timeout=LIMIT)

    assert server.returncode == 0
    assert not Path(f"/proc/{zygote}").exists()
    assert not Path(scratch).exists()


def wait_for_child(pid: int) -> int:
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            if "zygote" in Path(f"/proc/{child}/cmdline").read_text():
                return int(child)
    raise TimeoutError("the server started no zygote")
