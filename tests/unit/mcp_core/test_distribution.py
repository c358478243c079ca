"""What errors and docs tell people to install is what pyproject.toml builds."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from mcp_core.distribution import DISTRIBUTION, with_extra
from mcp_core.installation import install_command

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_distribution_has_the_name_that_errors_give() -> None:
    assert PROJECT["name"] == DISTRIBUTION == "onetool-run"
    assert with_extra("voice") == "onetool-run[voice]"


def test_one_extra_brings_all_the_others() -> None:
    extras = PROJECT["optional-dependencies"]

    assert extras["all"] == [with_extra(",".join(sorted(set(extras) - {"all"})))]


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md"))])
def test_the_pages_install_nothing_else(page: str) -> None:
    installed = re.findall(r"(?:pip install|uvx|pipx install)\s+'?([\w-]+)(?:\[([\w,]+)\])?", (ROOT / page).read_text())

    assert {name for name, _ in installed if name.startswith("onetool")} <= {DISTRIBUTION}
    assert {extra for _, extras in installed for extra in extras.split(",") if extra} <= set(
        PROJECT["optional-dependencies"]
    )


def test_every_extra_that_a_remedy_names_is_there() -> None:
    sources = [file.read_text() for file in (ROOT / "src").rglob("*.py")]
    named = {extra for text in sources for extra in re.findall(r"""with_extra\(["'](\w+)["']\)""", text)}

    assert named
    assert named <= set(PROJECT["optional-dependencies"])
    assert not [text for text in sources if "pip install 'onetool" in text]


def test_the_command_installs_what_is_installed_here() -> None:
    """Here that is this checkout, which no index has."""
    assert shlex.split(install_command(with_extra("voice")))[-2:] == ["--editable", f"{ROOT}[voice]"]
    assert shlex.split(install_command("faster-whisper"))[-1] == "faster-whisper"
