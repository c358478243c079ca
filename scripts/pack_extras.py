"""`python -m scripts.pack_extras [PACK]`: the packs that need libraries, or the requirements in the extra of one."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from ot.registry.from_source import read_pack

ROOT = Path(__file__).parent.parent
PACKS = ROOT / "src" / "ot_tools"
read_once = cache(read_pack)
"""For the built-in packs, which nobody changes meanwhile."""


def packs_with_needs() -> list[str]:
    """Return the built-in packs that declare `needs`."""
    return [file.stem for file in list_files(PACKS) if read_once(file).needs]


def list_files(folder: Path) -> list[Path]:
    """Return the files of the packs in a folder."""
    return [file for file in sorted(folder.glob("*.py")) if not file.name.startswith("_")]


def requirements_of(extra: str) -> list[str]:
    """Return the requirements that pyproject.toml has under the name of a pack."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [str(requirement) for requirement in project["optional-dependencies"].get(extra, [])]


def _lines(words: list[str]) -> Iterable[str]:
    return requirements_of(words[0]) if words else packs_with_needs()


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in _lines(sys.argv[1:]))
