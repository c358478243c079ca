"""What all tests share: one event loop library, and a house for those that need one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.zwave_house import ZwaveHouse, start_zwave_house


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def zwave_house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZwaveHouse]:
    """A simulated Z-Wave house; mark its tests `xdist_group("zwave")`, so that one is enough."""
    with start_zwave_house(tmp_path_factory.mktemp("zwave")) as house:
        yield house
