"""Versions are compared as npm and Python mean them; what a bundle needs, and whether it is still the same one."""

from __future__ import annotations

import io
import itertools
import zipfile

import pytest

from onetool.bringing.candidate import Candidate
from onetool.bringing.projects import read_project
from onetool.bringing.versions import is_newer

RISING = ("0.9", "1.0.0a1", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.0.1", "1.2", "1.10", "2026.1.1")


@pytest.mark.parametrize(("older", "newer"), [*itertools.pairwise(RISING)])
def test_a_later_version_is_newer(older: str, newer: str) -> None:
    assert is_newer(newer, older)
    assert not is_newer(older, newer)


@pytest.mark.parametrize("other", ["1.0.0", "1.0+build"])
def test_what_is_written_in_another_way_is_not_newer(other: str) -> None:
    assert not is_newer(other, "1.0")


def test_a_post_release_is_newer_than_its_release() -> None:
    assert is_newer("1.0.post1", "1.0")


@pytest.mark.parametrize("python", ["", ">=3.10", ">= 3.10 , < 4", "~=3.10", ">3.9,!=3.9.*", "==3.*", "<=4", ">=3.10,"])
def test_a_project_for_this_python_is_read(python: str) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("pyproject.toml", f'project = {{ name = "x", requires-python = "{python}" }}')

        assert read_project(archive).python == python


@pytest.mark.parametrize(
    ("address", "same"),
    [
        ("https://github.com/alice/weather/releases/download/v1.3.0/weather-1.3.0.mcpb", True),
        ("https://github.com/alice/weather/releases/download/1.3.0/weather-1.3.0.mcpb", True),
        ("https://github.com/alice/weather/releases/download/v1.3.0/weather-1.2.0.mcpb", False),
        ("https://github.com/mallory/weather/releases/download/v1.3.0/weather-1.3.0.mcpb", False),
        ("https://github.com/alice/weather1.3.0/releases/download/v1.3.0/weather-1.3.0.mcpb", False),
        ("https://github.com.evil.example/alice/weather/releases/download/v1.3.0/weather-1.3.0.mcpb", False),
    ],
)
def test_the_address_of_a_bundle_may_differ_in_its_version_only(address: str, *, same: bool) -> None:
    known = "https://github.com/alice/weather/releases/download/v1.2.0/weather-1.2.0.mcpb"

    def package(address: str, version: str) -> str:
        return Candidate("mcpb", "io.github.alice/weather", address, entry_version=version).package

    assert (package(known, "1.2.0") == package(address, "1.3.0")) is same
