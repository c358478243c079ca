"""An ordinary worker on a node, hosted as an actor does it; the node is this machine, and there is no Ray."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from anyio import fail_after, to_thread

from ot.workers.ray.engine import make_order, write_bundle
from ot_ray.frames import Frames, Kind
from ot_ray.hosting import Hosting
from ot_sdk import protocol
from tests.e2e.processes import wait_until_gone
from tests.ray.engines import write_heavy
from tests.worker_pool import host_of

pytestmark = pytest.mark.anyio

SOURCE = "import os, time\ndef pid():\n    return os.getpid()\ndef hang():\n    time.sleep(600)\n"


@pytest.fixture(scope="module")
def sdk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a bundle that has arrived."""
    folder = tmp_path_factory.mktemp("node")
    with zipfile.ZipFile(write_bundle(folder)) as bundle:
        bundle.extractall(folder / "sdk")
    return folder / "sdk"


class Node:
    """What the driver sees of a worker."""

    def __init__(self, sdk: Path) -> None:
        self.hosting = Hosting(sdk, "here")
        self._frames = Frames()
        self._waiting: list[tuple[Kind, int, bytes]] = []

    async def next(self, kind: Kind) -> bytes:
        """Wait for a frame of a kind; what is told before it is passed over."""
        with fail_after(60):
            while True:
                while not self._waiting:
                    self._waiting = self._frames.feed(await self.hosting.read())
                found, number, payload = self._waiting.pop(0)
                assert number == 7
                if found is kind:
                    return payload

    async def ask(self, line: bytes) -> Any:
        """Send a message, and return the answer."""
        await self.hosting.write(line)
        return json.loads(await self.next(Kind.OUTPUT))


async def start(folder: Path, sdk: Path, source: str = SOURCE, **options: str) -> Node:
    """Have an extension hosted; it can be written to once it is placed."""
    _, order = await make_order(write_heavy(folder, source, **options), host_of(folder), lambda _: None)
    node = Node(sdk)
    node.hosting.start(7, order.to_json())
    return node


async def test_a_hosted_worker_answers_and_ends_with_its_input(
    tmp_path: Path, sdk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    node = await start(tmp_path, sdk)

    assert await node.next(Kind.PLACED) == b"here"
    await node.ask(protocol.write_request(0, "start", {"pack": "heavy"}))
    answer = await node.ask(protocol.write_call(1, "pid", {}, 0))
    node.hosting.close_input()
    end = json.loads(await node.next(Kind.ENDED))

    assert isinstance(answer["result"], int)
    assert (end["begun"][0], end["exit_code"]) == (1, 0)
    assert await node.hosting.read() == b""


async def test_a_hosted_worker_is_killed_with_its_call(tmp_path: Path, sdk: Path) -> None:
    node = await start(tmp_path, sdk)
    await node.next(Kind.PLACED)
    pid = (await node.ask(protocol.write_request(0, "start", {"pack": "heavy"})))["result"]["pid"]
    await node.hosting.write(protocol.write_call(1, "hang", {}, 0))
    await node.hosting.write(protocol.write_call(2, "pid", {}, 1))
    await node.next(Kind.OUTPUT)  # the second one was answered, so the first has begun

    node.hosting.kill()
    end = json.loads(await node.next(Kind.ENDED))

    assert end["begun"][:2] == [1, 2]
    await to_thread.run_sync(wait_until_gone, {pid})
