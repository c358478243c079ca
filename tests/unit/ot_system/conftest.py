"""Both ways of doing what systems do differently: Linux's own, and the one that other systems go."""

from __future__ import annotations

from types import ModuleType

import pytest

from ot_system import linux, portable


@pytest.fixture(params=[linux, portable], ids=["linux", "portable"])
def system(request: pytest.FixtureRequest) -> ModuleType:
    found: ModuleType = request.param
    return found
