"""Where help sends a reader: to a page that is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.raw_server import environment_of
from tests.preloaded import run_preloaded


@pytest.mark.parametrize("pack", ["git", "file", "notes"])
def test_a_pack_that_the_site_does_not_know_is_explained_by_the_command_that_help_names(
    tmp_path: Path, pack: str
) -> None:
    said = run_preloaded("help", pack, cwd=tmp_path, env=environment_of(tmp_path / "home")).stdout
    [line] = [line for line in said.splitlines() if line.startswith("Docs: ")]
    explained = run_preloaded(*line.split()[2:], cwd=tmp_path, env=environment_of(tmp_path / "home"))

    assert line == f"Docs: onetool help {pack}"
    assert (explained.returncode, explained.stdout) == (0, said)
