"""Run commands given as a JSON list on stdin in an engine in FOLDER, and print the garbage that each leaves, by kind.

Nobody else's objects are in this process: what a search finds was made by these runs.
"""

import gc
import json
import sys
from pathlib import Path

import anyio
from ot.clients.caller import Caller
from tests.engine import open_engine


async def garbage_of(app, command):
    gc.collect()
    started = app.supply.started
    gc.set_debug(gc.DEBUG_SAVEALL)
    for _ in range(5):
        await app.runs.run(command, caller=Caller())
    with anyio.fail_after(120):  # kernels are ended, and replaced, a moment later
        while app.supply.started < started + 4:
            await anyio.sleep(0.01)
    gc.collect()
    gc.set_debug(0)
    kinds = sorted({f"{type(each).__module__}.{type(each).__qualname__}" for each in gc.garbage})
    gc.garbage.clear()
    return kinds


async def main():
    async with open_engine(Path(sys.argv[1])) as app:
        gc.disable()
        return {command: await garbage_of(app, command) for command in json.load(sys.stdin)}


print(json.dumps(anyio.run(main)))
