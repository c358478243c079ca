"""What tests of several parts share: a server with resources and prompts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.http_programs import serve_http


@pytest.fixture(scope="session")
def notes_server() -> Iterator[dict[str, str]]:
    """The settings of a server over HTTP with resources and prompts, for tests that change nothing there."""
    with serve_http("handshake") as url:
        yield {"url": url}
