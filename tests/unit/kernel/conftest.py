"""One supply of kernels for the tests of a file: each run has a kernel of its own anyway."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from ot.kernel.supply import KernelSupply
from tests.unit.kernel.kernels import kernels


@pytest.fixture(scope="module")
async def supply(anyio_backend: str) -> AsyncIterator[KernelSupply]:
    async with kernels(warm=2) as supply:
        yield supply
