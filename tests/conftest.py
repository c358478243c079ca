"""What all tests share: one event loop library, groups that hold, and a house for those that need one."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import httpcore2
import pytest
from hypothesis import settings

from ot.kernel.zygote_process import COMPILED
from tests import unsteady
from tests.browser import browser, chromium
from tests.engines import add_engine_option, skip_other_engine, use_engine
from tests.measured import MEASURED
from tests.postgres import database, postgres, template
from tests.properties import unhurried
from tests.zwave_house import ZwaveHouse, start_zwave_house

__all__ = ["browser", "chromium", "database", "postgres", "template"]

SHARED = {"postgres": "databases", "notes_server": "proxy http"}
"""Servers that tests of several modules use, and the groups of these tests."""

TOGETHER = 8
"""The most tests of a file that go to one worker together, if they share nothing: what one loads, the next ones have."""

alone: Counter[str] = Counter()  # of a file, the tests so far that share nothing

os.environ.setdefault(COMPILED, str(Path(__file__).parents[1] / ".cache/wasm"))
# uv asks the first Python on the path, and remembers what it learns of a real one; a shim, as of pyenv, it asks each time.
if (interpreters := str(Path(sys.executable).resolve().parent)) not in os.environ["PATH"].split(os.pathsep):
    os.environ["PATH"] = os.pathsep.join([interpreters, os.environ["PATH"]])
# Each client of a test would read the certificates of the system, which takes longer than most of what it is for.
httpcore2.default_ssl_context = cache(httpcore2.default_ssl_context)
settings.register_profile("unhurried", unhurried)
settings.load_profile("unhurried")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell starts what runs in the background like that, and
    signal.signal(signal.SIGINT, signal.default_int_handler)  # the programs that tests interrupt would inherit it
if "PYTEST_XDIST_WORKER" in os.environ and not MEASURED:
    atexit.register(os._exit, 0)  # after all that is registered later: to free every test takes seconds


def pytest_addoption(parser: pytest.Parser) -> None:
    unsteady.pytest_addoption(parser)
    add_engine_option(parser)


def pytest_configure(config: pytest.Config) -> None:
    unsteady.pytest_configure(config)
    use_engine(config)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while tests are collected, and never look at them again: they stay to the end.

    What tests leave behind is looked at a tenth as often as usual, which took a tenth of a worker's time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(2_000, 20, 20)
        gc.enable()
        atexit.register(gc.unfreeze)  # libraries in C look at the end for what was never freed


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item: pytest.Item) -> None:
    """Put all who want one and the same server on one worker, and those of a file who share an engine or the like.

    Spread over the workers, they would have each of them build what one of them can build for all.
    """
    skip_other_engine(item.config, item)
    if item.get_closest_marker("xdist_group") is not None or not isinstance(item, pytest.Function):
        return
    if shared := SHARED.keys() & item.fixturenames:
        item.add_marker(pytest.mark.xdist_group(SHARED[shared.pop()]))
        return
    file = item.nodeid.partition("::")[0]
    fixtures = item._fixtureinfo.name2fixturedefs.values()
    if any(definitions[-1].scope == "module" for definitions in fixtures if definitions):
        item.add_marker(pytest.mark.xdist_group(file))
    else:
        item.add_marker(pytest.mark.xdist_group(f"{file} {alone[file] // TOGETHER}"))
        alone[file] += 1


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Make the groups of `--dist loadgroup` count: xdist 3.8 writes them into an attribute that pytest 9.2 left."""
    for item in items:
        grouped = getattr(item, "_nodeid", item.nodeid)
        if grouped != item.nodeid:
            item._id = type(item._id).parse(grouped)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    if config.getoption("dist") != "loadgroup":
        return None
    from tests.groups import Groups  # only the process that hands out tests needs it

    return Groups(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Leave out of a report what nobody reads and every worker would send, three times for each test."""
    report = yield
    report.keywords = {}
    return report


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def zwave_house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZwaveHouse]:
    """A simulated Z-Wave house; mark its tests `xdist_group("zwave")`, so that one is enough."""
    with start_zwave_house(tmp_path_factory.mktemp("zwave")) as house:
        yield house
