"""A confined program among mounts: it writes what is named, and neither side sees what the other one mounts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ot_confinement.confine import Confine
from ot_confinement.own_files import files_of_this_python
from ot_guardian import VARIABLE, guarded

MOUNTING = Path(__file__).parents[1] / "programs" / "shared_mounts.py"
TRIES = """
import json, os, sys

def show(**steps):
    print(json.dumps({name.replace("_", " "): outcome(step) for name, step in steps.items()}), flush=True)

def outcome(step):
    try:
        step()
    except OSError as error:
        return error.strerror
    return "done"

show(
    writes_what_is_named=lambda: open("writable/folder/new", "w"),
    writes_in_a_mount_there=lambda: open("writable/a mount/new", "w"),
    writes_in_a_read_only_one=lambda: open("writable/read_only/new", "w"),
    changes_a_mode_in_what_is_closed=lambda: os.chmod("writable/closed/mount/file", 0o600),
    changes_a_mode_elsewhere=lambda: os.chmod("elsewhere/file", 0o600),
)
sys.stdin.readline()
show(changes_a_mode_in_a_later_mount=lambda: os.chmod("later/file", 0o600))
"""


def test_what_is_named_can_be_written_and_no_mount_is_seen_on_the_other_side(tmp_path: Path) -> None:
    rights = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    alone = ["unshare", *rights, "--mount", "--propagation", "shared"]
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this system refuses mount namespaces")
    writable = tmp_path / "writable"
    bounds = Confine(files_of_this_python(), (str(writable),), closed=(str(writable / "closed"),))
    command = guarded([sys.executable, "-I", "-c", TRIES], confine=bounds)
    ledger = os.memfd_create("ledger")
    try:
        done = subprocess.run(
            [*alone, sys.executable, str(MOUNTING), str(tmp_path), str(ledger), *command],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            pass_fds=[ledger],
            env={**os.environ, VARIABLE: str(ledger)},
        )
    finally:
        os.close(ledger)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "writes what is named": "done",
        "writes in a mount there": "done",
        "writes in a read only one": "Read-only file system",
        "changes a mode in what is closed": "Read-only file system",
        "changes a mode elsewhere": "Read-only file system",
        "changes a mode in a later mount": "No such file or directory",
        "its mounts are unseen": True,
    }
