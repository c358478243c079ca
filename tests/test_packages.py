"""Every package of this project is shipped, and held to the rules about imports."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = {folder.parent.name for folder in (ROOT / "src").glob("*/__init__.py")}


def test_every_package_is_in_the_wheel() -> None:
    shipped = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]

    assert sorted(shipped) == sorted(f"src/{package}" for package in PACKAGES)


def test_no_package_is_left_out_of_the_rules_about_imports() -> None:
    linter = PYPROJECT["tool"]["importlinter"]
    without_circles = [contract for contract in linter["contracts"] if contract["type"] == "acyclic_siblings"]

    assert set(linter["root_packages"]) == PACKAGES
    assert [set(contract["ancestors"]) for contract in without_circles] == [PACKAGES]
