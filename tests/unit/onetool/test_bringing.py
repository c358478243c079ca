"""Versions are compared as npm and Python mean them."""

from __future__ import annotations

import itertools

import pytest

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
