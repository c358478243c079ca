"""Functions in the place of those that a kernel is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TRUNCATING = """
import os, sys
from ot_confinement import Allowance
from ot_confinement.linux import LinuxConfinement
from ot_kernel.refusals import OwnFiles

os.chdir(sys.argv[1])
OwnFiles().install()
allowance = Allowance(("/usr", "/lib", sys.base_prefix, "read"), (), memory=2**30, file_size=1000, open_files=100)
confinement = LinuxConfinement(allowance, off=False, landlock_version=2)
confinement.share()
confinement.apply(confinement.build_rules("own"), os.getppid())
confinement.seal()
os.symlink("../outside", "own/link")
with open("own/open", "w") as opened:
    opened.write("content")
    opened.flush()
    for path in ("own/file", b"own/file", opened.fileno(), "own", "own/none", "own/link", "outside", "read"):
        try:
            os.truncate(path, 3)
            print("done")
        except OSError as error:
            print(type(error).__name__, error.filename)
print(open("own/file").read(), open("own/open").read())
"""


def test_where_landlock_does_not_guard_truncation_a_run_cuts_its_own_files_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    for name in ("own/file", "outside", "read"):
        (tmp_path / name).write_text("content")

    told = subprocess.run(
        [sys.executable, "-c", TRUNCATING, str(tmp_path)], capture_output=True, text=True, check=False, timeout=60
    )

    assert told.stderr == ""
    assert told.stdout.splitlines() == [
        "done", "done", "done", "IsADirectoryError own", "FileNotFoundError own/none", "PermissionError own/link",
        "PermissionError outside", "PermissionError read", "con con",
    ]  # fmt: skip
    assert {(tmp_path / name).read_text() for name in ("outside", "read")} == {"content"}
