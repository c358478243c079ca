"""Definitions of built-in packs are read once, and read again when their file, or what reads them, has changed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ot.errors import PackLoadError
from ot.registry.definition_cache import DefinitionCache
from ot.registry.from_source import read_pack
from tests.opened_executor import BUILT_IN, write_pack

PACK = '"""A pack."""\n\nasync def tool(*, text: str = "a") -> str:\n    """Do something."""\n    return text\n'


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "state" / "definitions.json"


def test_what_comes_back_is_what_was_read(kept: Path) -> None:
    files = [file for file in sorted(BUILT_IN.glob("*.py")) if not file.name.startswith("_")]
    cache = DefinitionCache(kept)
    for file in files:
        cache.read(file)
    cache.save()

    again = DefinitionCache(kept)

    assert [again.read(file) for file in files] == [read_pack(file) for file in files]
    assert all(entry["pack"] is not None for entry in json.loads(kept.read_text()).values())
    assert kept.stat().st_mode & 0o777 == 0o600


def test_a_file_that_has_changed_is_read_again(tmp_path: Path, kept: Path) -> None:
    file = write_pack(tmp_path, PACK)
    cache = DefinitionCache(kept)
    cache.read(file)
    cache.save()
    file.write_text(PACK.replace("Do something", "Do something else"))

    assert DefinitionCache(kept).read(file).tools["tool"].description == "Do something else."


@pytest.mark.parametrize("damage", ["", "[]", '{"x": 1}', "{", '{"FILE": {"state": STATE, "pack": {"tools": 1}}}'])
def test_a_damaged_cache_is_as_good_as_none(tmp_path: Path, kept: Path, damage: str) -> None:
    file = write_pack(tmp_path, PACK)
    cache = DefinitionCache(kept)
    cache.read(file)
    cache.save()
    state = json.dumps(json.loads(kept.read_text())[str(file)]["state"])
    kept.write_text(damage.replace("FILE", str(file)).replace("STATE", state))

    assert DefinitionCache(kept).read(file) == read_pack(file)


def test_what_json_cannot_say_is_read_each_time(tmp_path: Path, kept: Path) -> None:
    file = write_pack(tmp_path, PACK.replace('text: str = "a"', "text: tuple = (1, 2)"))
    cache = DefinitionCache(kept)
    cache.read(file)
    cache.save()

    assert DefinitionCache(kept).read(file) == read_pack(file)


def test_a_folder_that_cannot_be_written_and_a_file_that_cannot_be_read_are_no_surprise(tmp_path: Path) -> None:
    file = write_pack(tmp_path, PACK)
    (tmp_path / "taken").touch()
    cache = DefinitionCache(tmp_path / "taken" / "definitions.json")

    assert cache.read(file) == read_pack(file)
    cache.save()
    os.truncate(file, 5)
    with pytest.raises(PackLoadError):
        cache.read(file)
