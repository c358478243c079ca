"""The configuration page is true: its examples load, and the table of keys is that of the models."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from ot.config import load_config
from ot.config.keys import Key, known_keys
from ot.config.models import Config, PackSettings
from ot.config.values import REQUIRED, parse_size
from tests.trusting import trust_project

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "configuration.md").read_text()
TABLE = (DOCS / "reference" / "keys.md").read_text()
BLOCKS = re.findall(r"^```yaml\n# (\S+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
ROWS: dict[str, str] = dict(re.findall(r"^\| `(\S+)` \| (.*?) \|", TABLE, re.MULTILINE))


@pytest.mark.parametrize("number", range(len(BLOCKS)), ids=[f"{n}-{name}" for n, (name, _) in enumerate(BLOCKS)])
def test_every_example_loads_beside_the_files_that_it_names(number: int, tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    for name, text in [*reversed(BLOCKS), BLOCKS[number]]:
        _write(home if name.startswith("~") else project, name, text)

    trust_project(project, home)
    loaded = load_config(environ={}, cwd=project, home=home)

    assert loaded.config != Config()
    assert loaded.refused == ()


def test_no_example_is_left_out() -> None:
    assert len(BLOCKS) == PAGE.count("```yaml") > 0


def test_the_page_shows_how_a_project_changes_one_key(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    _write(home, *BLOCKS[0])
    _write(project, *BLOCKS[1])
    trust_project(project, home)

    server = load_config(environ={"GITHUB_TOKEN": "t"}, cwd=project, home=home).config.servers["github"]

    assert (server.command, server.enabled) == ("npx", False)


def test_the_table_has_every_key_and_no_other() -> None:
    beyond_the_models = {"include", "packs.*.<key>"}

    assert set(ROWS) - beyond_the_models == {".".join(key.path) for key in known_keys()}
    assert beyond_the_models < set(ROWS)
    assert PackSettings.takes_any_key


@pytest.mark.parametrize("key", known_keys(), ids=lambda key: ".".join(key.path))
def test_the_table_has_the_default_of_each_key(key: Key) -> None:
    written = ROWS[".".join(key.path)]

    assert _read_default(written, key) == (list(key.default) if isinstance(key.default, tuple) else key.default)


def _read_default(written: str, key: Key) -> object:
    if written in ("required", "none"):
        return None if written == "none" else key.default
    value = yaml.safe_load(written.strip("`"))
    is_size = key.path[-1] in ("max_size", "undo_size") or (key.path[-1] == "memory" and len(key.path) == 2)
    return parse_size(value) if is_size else value


def test_only_keys_without_default_are_called_required() -> None:
    called = {key for key, default in ROWS.items() if default == "required"}

    assert called == {".".join(key.path) for key in known_keys() if key.field.default is REQUIRED}


def _write(root: Path, name: str, text: str) -> None:
    file = root / ".onetool" / Path(name).name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o600)
