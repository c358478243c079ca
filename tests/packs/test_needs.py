"""The libraries of built-in packs are declared once in the pack, once as an extra, and pinned in a list of their own."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from ot.registry.definitions import Libraries
from ot.workers.pack_environments import is_installed
from scripts.pack_extras import PACKS, packs_with_needs, read_once, requirements_of

ROOT = Path(__file__).parent.parent.parent
WITH_NEEDS = packs_with_needs()


def libraries_of(pack: str) -> Libraries:
    found = read_once(PACKS / f"{pack}.py").libraries
    assert found is not None
    return found


def needs_of(pack: str) -> dict[str, str]:
    return read_once(PACKS / f"{pack}.py").needs


@pytest.mark.parametrize("pack", WITH_NEEDS)
def test_the_extra_of_a_pack_is_what_it_needs(pack: str) -> None:
    assert sorted(requirements_of(pack)) == sorted(set(needs_of(pack).values()))
    assert is_installed(libraries_of(pack))


@pytest.mark.parametrize("pack", WITH_NEEDS)
def test_the_list_of_a_pack_pins_all_that_it_needs_with_hashes(pack: str) -> None:
    lines = (PACKS / "requirements" / f"{pack}.txt").read_text().replace("\\\n", " ").splitlines()
    pinned = [line for line in lines if line and not line.lstrip().startswith("#")]

    assert all(
        re.fullmatch(r"[\w.-]+(\[[\w,-]+\])?==\S+( ; [^#]+?)?(\s+--hash=sha256:[0-9a-f]{64})+", line) for line in pinned
    )
    names = {re.split(r"[\[=]", line)[0] for line in pinned}
    assert {_normal(re.split(r"[^\w.-]", need)[0]) for need in needs_of(pack).values()} <= {*map(_normal, names)}


def test_everything_can_be_installed_at_once() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    [everything] = extras["all"]

    listed = re.fullmatch(r"onetool-run\[(.+)\]", everything)

    assert listed is not None
    assert sorted(listed[1].split(",")) == sorted(extras.keys() - {"all"})


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
