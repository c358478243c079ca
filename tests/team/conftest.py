"""What tests of a team's server share: one OpenID provider a worker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.team.oidc.openid_provider import OpenIdProvider, run_openid_provider


@pytest.fixture(scope="session")
def openid_provider() -> Iterator[OpenIdProvider]:
    """A provider for all tests of a worker; mark them `xdist_group("team")`, so that one is enough."""
    with run_openid_provider() as provider:
        yield provider
