"""The cluster that tests of Ray share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.ray.cluster import RayCluster, run_cluster


@pytest.fixture(scope="session")
def cluster() -> Iterator[RayCluster]:
    """Two nodes with one processor each; `near` and `far` are resources of one of them."""
    with run_cluster() as opened:
        opened.add("near", near=1)
        opened.add("far", far=1)
        yield opened
