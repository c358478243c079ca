"""With no file at all: the defaults, frozen, and nothing imported that is not needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ot.config import Config
from ot.config.models import ExecutionSettings, PackSettings
from ot.config.reading import SettingsError
from ot.config.server_settings import ServerSettings
from tests.unit.config.workspace import Workspace


def test_without_any_file_the_defaults_apply(workspace: Workspace) -> None:
    loaded = workspace.load()

    assert loaded.config == Config()
    assert loaded.files == ()
    assert loaded.project == workspace.project
    assert loaded.home == workspace.home


def test_the_defaults_are_those_of_the_design() -> None:
    config = Config()

    assert config.execution == ExecutionSettings(
        timeout=120, memory=1024**3, sandbox="standard", warm=4, readable=(), writable=()
    )
    assert (config.workers.idle_timeout, config.workers.call_timeout, config.workers.start_timeout) == (600, 60, 300)
    assert config.workers.launch == "direct"
    assert (config.results.inline_limit, config.results.keep_for) == (20000, 3600)
    assert config.stats.enabled
    assert config.security.pin_tools is None
    assert (config.policy.deny, config.policy.ask) == ((), ())
    assert (config.log.level, config.log.file) == ("info", None)
    assert config.docs_url == "https://onetool.beycom.online/reference/tools/"
    assert [config.projects, config.aliases, config.snippets, config.servers, config.packs] == [{}] * 5
    assert config.topics == ()


def test_a_configuration_cannot_be_changed() -> None:
    config = Config()

    with pytest.raises(AttributeError, match="frozen"):
        config.execution.timeout = 5  # type: ignore[misc]
    with pytest.raises(AttributeError, match="frozen"):
        del config.log


def test_an_empty_file_changes_nothing(workspace: Workspace) -> None:
    file = workspace.write("# nothing yet\n")

    loaded = workspace.load()

    assert loaded.config == Config()
    assert loaded.files == (file,)


def test_sections_without_lines_change_nothing(workspace: Workspace) -> None:
    sections = "".join(f"{name}:\n" for name in Config.settings)
    workspace.write("include:\n" + sections)

    assert workspace.load().config == Config()


def test_no_slow_library_is_imported_before_a_file_needs_it(tmp_path: Path) -> None:
    program = (
        "import sys\nfrom pathlib import Path\nfrom ot.config import load_config\n"
        "load_config(environ={}, cwd=Path(sys.argv[1]), home=Path(sys.argv[1]))\n"
        "slow = 'yaml', 'jinja2', 'mcp', 'pydantic', 'rapidfuzz', 'anyio', 'hashlib', 'secrets', 'ot.trust.store'\n"
        "print([name for name in slow if name in sys.modules])\n"
    )

    answer = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=True)

    assert answer.stdout.strip() == "[]"


def test_what_may_hold_a_secret_is_not_in_the_text_of_a_model() -> None:
    server = ServerSettings(command="npx", args=("--key=sesame",), env={"KEY": "sesame"})
    remote = ServerSettings(url="https://example.com/?key=sesame", headers={"Authorization": "sesame"})
    pack = PackSettings.model_validate({"timeout": 5, "api_key": "sesame"})

    assert "sesame" not in repr(Config(servers={"one": server, "two": remote}, packs={"three": pack}))


def test_a_validation_error_does_not_quote_the_value() -> None:
    with pytest.raises(SettingsError) as caught:
        Config.model_validate({"servers": {"one": {"command": "x", "env": ["sesame"]}}})

    assert "sesame" not in str(caught.value)
