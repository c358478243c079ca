"""The compiled component: machines that share a folder each have their own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from ot.kernel.zygote_process import COMPILED
from ot_wasm.component import find_or_compile, remove_older
from tests.availability import require_component


class CompilingError(Exception):
    """It would be compiled now."""


def refuse() -> None:
    raise CompilingError


def test_what_was_compiled_for_another_processor_is_not_used(tmp_path: Path) -> None:
    require_component()
    tmp_path.chmod(0o700)
    compiled = Path(find_or_compile(os.environ[COMPILED], refuse))
    made, _, rest = compiled.name.partition("-")
    processor, _, digest = rest.rpartition("-")
    other = tmp_path / f"{made}-other-{processor}-{digest}"
    shutil.copyfile(compiled, other)
    other.chmod(0o600)

    with pytest.raises(CompilingError):
        find_or_compile(str(tmp_path), refuse)

    other.rename(tmp_path / compiled.name)
    assert find_or_compile(str(tmp_path), refuse) == str(tmp_path / compiled.name)


def test_only_what_other_components_left_is_removed(tmp_path: Path) -> None:
    for name in ("new-linux-a-1", "new-linux-b-2", "old-linux-a-3", "newer-linux-a-4"):
        (tmp_path / f"{name}.compiled").touch()

    remove_older(str(tmp_path), "new-linux-a")

    assert sorted(file.stem for file in tmp_path.iterdir()) == ["new-linux-a-1", "new-linux-b-2"]
