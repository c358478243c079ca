"""Extensions that ask for Ray, as far as no cluster is needed: their headers, where they run, what is sent to a node."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ot.config.models import WorkerSettings
from ot.errors import WorkerStartError
from ot.execution.wording import word_error
from ot.workers.header_options import HeaderMistakeError, read_placement
from ot.workers.pep723 import parse_header
from ot.workers.pool import open_worker_pool
from ot.workers.ray.driver_process import start_driver
from ot.workers.ray.engine import make_order, needs_of, write_bundle
from ot.workers.uv_program import PreparationError
from ot_ray.frames import Frames, Kind, read_order, write_frame
from tests.ray.engines import write_heavy
from tests.worker_pool import host_of, open_pool

pytestmark = pytest.mark.anyio

PID = "import os\ndef pid():\n    return os.getpid()\n"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("cpus = 2", 'cpus without engine = "ray"'),
        ('engine = "cluster"', "engine in its header: must be 'local' or 'ray'"),
        ('engine = "ray"\n# cpus = 1.5', "cpus in its header: must be a whole number, or at most 1"),
        ('engine = "ray"\n# gpus = -1', "gpus in its header: "),
        ('engine = "ray"\n# memory = 5', "memory in its header: must be between 16m and 1t"),
        ('engine = "ray"\n# resources = { GPU = 1 }', "write cpus, gpus or memory"),
        ('engine = "ray"\n# cpu = 1', "has the key `cpu`; the keys are confine, engine, cpus"),
    ],
)
def test_a_mistake_in_what_a_header_asks_for_is_named_with_its_key(line: str, words: str) -> None:
    header, _ = parse_header(f"# /// script\n# [tool.onetool]\n# {line}\n# ///\n")

    with pytest.raises(HeaderMistakeError) as caught:
        read_placement(header)

    assert words in str(caught.value)


def test_what_a_header_asks_for_is_what_ray_is_asked_for() -> None:
    options = 'engine = "ray"\n# cpus = 0.5\n# gpus = 2\n# memory = "1g"\n# resources = { far = 1 }'
    header, _ = parse_header(f"# /// script\n# [tool.onetool]\n# {options}\n# ///\n")

    needs = needs_of(read_placement(header))

    assert needs == {"num_cpus": 0.5, "num_gpus": 2, "memory": 1024**3, "resources": {"far": 1}}


async def test_an_extension_that_asks_for_ray_runs_here_unless_there_is_a_cluster(tmp_path: Path) -> None:
    extension = write_heavy(tmp_path, PID)

    async with open_pool(tmp_path) as pool:
        assert await pool.call(extension, "pid", {})
        [status] = pool.status()

        assert (status.engine, status.node) == ("local", None)
        assert pool.engine_status() == {"engine": "local"}


async def test_other_extensions_run_here_although_there_is_a_cluster(tmp_path: Path) -> None:
    extension = write_heavy(tmp_path, PID)
    plain = replace(extension, header=None)

    async with open_pool(tmp_path, engine="ray") as pool:
        assert await pool.call(plain, "pid", {})

        assert [status.engine for status in pool.status()] == ["local"]
        assert pool.engine_status() == {"engine": "ray", "address": "auto", "connected": False, "last_error": None}


async def test_a_driver_that_finds_no_ray_is_a_start_that_fails_with_a_way_out(tmp_path: Path) -> None:
    """Nothing here has Ray, so the driver ends as it does where its cluster cannot be reached."""
    driver = start_driver(
        Path(sys.executable), write_bundle(tmp_path), "auto", environ=host_of(tmp_path).environ, folder=tmp_path
    )
    try:
        with pytest.raises(PreparationError) as caught:
            await driver.connect()
    finally:
        await driver.close()

    assert "no Ray cluster was reached at 'auto' (workers.ray_address): " in str(caught.value)
    assert "set workers.engine: local" in str(caught.value)


async def test_without_uv_a_call_says_what_is_missing(tmp_path: Path) -> None:
    extension = write_heavy(tmp_path, PID)
    host = replace(host_of(tmp_path), find_uv=lambda _: None)
    async with open_worker_pool(WorkerSettings(engine="ray"), host=host) as pool:
        with pytest.raises(WorkerStartError) as caught:
            await pool.call(extension, "pid", {})

    assert "uv, which installs them, was not found" in word_error(caught.value)


async def test_an_order_has_the_file_the_lock_and_the_bounds(tmp_path: Path) -> None:
    extension = write_heavy(tmp_path, PID, confine='{ read = ["/data"], hosts = ["example.com"] }')

    placement, order = await make_order(extension, host_of(tmp_path), lambda _: None)

    assert read_order(order.to_json()) == order
    assert order.source == extension.file.read_bytes()
    assert b"requires-python" in order.lock
    assert order.bounds is not None
    assert (order.bounds.read, order.bounds.write, order.bounds.hosts) == (("/data",), (), ("example.com",))
    assert placement.engine == "ray"


async def test_where_everything_is_confined_so_is_what_goes_to_a_node(tmp_path: Path) -> None:
    host = replace(host_of(tmp_path), always_confined=True)

    _, order = await make_order(write_heavy(tmp_path, PID), host, lambda _: None)

    assert order.bounds is not None
    assert (order.bounds.read, order.bounds.write, order.bounds.hosts) == ((), (), ())


@pytest.mark.parametrize("place", ["~/data", "data", "{project}/data"])
async def test_a_path_that_nodes_do_not_have_is_refused(tmp_path: Path, place: str) -> None:
    extension = write_heavy(tmp_path, PID, confine=f'{{ read = ["{place}"] }}')

    with pytest.raises(PreparationError, match="which a node of the cluster does not have"):
        await make_order(extension, host_of(tmp_path), lambda _: None)


def test_frames_are_cut_however_they_arrive() -> None:
    sent = [(Kind.WRITE, 1, b"x" * 300), (Kind.KILL, 2, b""), (Kind.OUTPUT, 3, b"\n")]
    stream = b"".join(write_frame(*frame) for frame in sent)

    for size in (1, 7, 200, len(stream)):
        frames = Frames()
        parts = [stream[start : start + size] for start in range(0, len(stream), size)]
        assert [frame for part in parts for frame in frames.feed(part)] == sent


def test_the_bundle_needs_nothing_but_an_interpreter(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path)
    code = f"import sys; sys.path.append({str(bundle)!r}); import ot_ray.hosting, ot_sdk.worker, ot_sdk.server"

    subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True, cwd="/")
    assert write_bundle(tmp_path) == bundle
