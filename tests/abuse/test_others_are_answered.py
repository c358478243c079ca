"""Whatever one run writes to the server or asks of it, the next client is answered."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from bench.hostile_runs import FORGE, HOSTILE
from bench.servers import RUN, open_servers, run, warm_up
from tests.abuse.conftest import Abused, Told
from tests.longer import long_after

SEEDS = range(12)
AT_ONCE = 4

# A program that makes up its own messages and its own mischief: the same ones for the same seed, and not for long.
RANDOM = (
    FORGE
    + r"""
import random
rng = random.Random(SEED)
end = time.monotonic() + 1.5
TAGS = ['int', 'float', 'str', 'complex', 'bytes', 'tuple', 'set', 'frozenset', 'dict', 'record', 'image', 'audio',
        'resource', 'datetime', 'date', 'time', 'timedelta', 'decimal', 'fraction', 'uuid', 'path', 'project_path', 'x']
OPS = ['call', 'attribute', 'describe', 'references', 'value', 'large', 'nothing', 'error', 'alias_cycle', 'interrupted',
       'file', 'ready', 'probed', 'go', 'x', None, 5, []]
KEYS = ['op', 'id', 'tool', 'args', 'kwargs', 'pack', 'name', 'value', 'head', 'total', 'kind', 'references', 'names',
        'type', 'message', 'frames', 'notes', 'not_kept', '$', 'v', 'keywords', 'line']
def scalar():
    return rng.choice([None, True, -1, 2**70, 0.5, 'x', '', 'demo.foo', 'demo', 'foo', '.message-1', 'n' * 10**5,
                       '0x' + 'f' * rng.randrange(10**5), '1E+999999', '9' * 4000, 'e' * 300])
def value(depth=4):
    kind = rng.randrange(7)
    if depth == 0 or kind < 2:
        return scalar()
    if kind == 2:
        return [value(depth - 1) for _ in range(rng.randrange(5))]
    if kind == 3:
        return {rng.choice(KEYS): value(depth - 1) for _ in range(rng.randrange(4))}
    if kind == 4:
        return [scalar()] * rng.randrange(20)
    return {'$': rng.choice(TAGS), 'v': value(depth - 1)}
def frame():
    message = {key: value() for key in rng.sample(KEYS, 6)} | {'op': rng.choice(OPS)}
    return rng.choice([json.dumps(message).encode(), json.dumps(value()).encode(), rng.randbytes(100), b''])
def write_frames():
    for _ in range(rng.randrange(1, 30)):
        send(frame())
def write_bytes():
    data = rng.randbytes(rng.randrange(1, 5000))
    wit_world.tell(data.decode('latin-1')) if component else os.write(4, data)
def call_host():
    if component:
        wit_world.at_line(rng.randrange(2**32))
        wit_world.pending()
        wit_world.pause(rng.choice([0, -1, 0.1, float('nan')]))
def write_file():
    open('.message-9', 'wb').write(frame() * rng.randrange(1, 50))
    forge(op='file', name='.message-9')
def call_tools():
    for _ in range(20):
        try:
            getattr(demo, rng.choice(['foo', 'upper', 'nobody', 'n' * 1000]))(**{rng.choice(KEYS): value()})
        except Exception: pass
def start_threads():
    for _ in range(0 if component else rng.randrange(50)):
        threading.Thread(target=call_tools, daemon=True).start()
def fill_memory():
    try: return [bytearray(10**6) for _ in range(rng.randrange(400))]
    except MemoryError: pass
def fill_scratch():
    for n in range(rng.randrange(300)):
        open(str(n), 'wb').write(bytes(10**5))
def close_descriptors():
    os.close(rng.randrange(5))
def print_much():
    for _ in range(1000): print('x' * rng.randrange(1000))
def spin():
    while time.monotonic() < end: pass
while time.monotonic() < end:
    rng.choice([write_frames, write_frames, write_bytes, write_file, call_tools, start_threads, fill_memory, fill_scratch,
                close_descriptors, print_much, spin, call_host])()
"""
)


async def answers_beside(server: Abused, codes: list[str]) -> int:
    """Run these at once, and other runs beside them until they have ended; how many others were answered."""
    answered, running = 0, len(codes)

    async def misbehave(code: str) -> None:
        nonlocal running
        await server.run(code)
        running -= 1

    async with anyio.create_task_group() as runs:
        for code in codes:
            runs.start_soon(misbehave, code)
        while running:
            assert await server.run("6 * 7") == Told("42", is_error=False)
            answered += 1
    return answered


@pytest.mark.parametrize(
    "names", [list(HOSTILE)[at : at + AT_ONCE] for at in range(0, len(HOSTILE), AT_ONCE)], ids=", ".join
)
async def test_others_are_answered_beside_hostile_runs(hasty_server: Abused, names: list[str]) -> None:
    assert await answers_beside(hasty_server, [f"{FORGE}{HOSTILE[name]}" for name in names]) > 0
    assert await hasty_server.is_well()


@pytest.mark.only_as_process("a run has one thread there, so it cannot write and read at once")
async def test_calls_that_wait_in_their_kernel_are_answered_all_the_same(server: Abused) -> None:
    code = """
payload = json.dumps({'op': 'call', 'id': 1, 'tool': 'demo.upper', 'args': [], 'kwargs': {'text': 'x' * 900_000}}).encode()
writer = threading.Thread(target=lambda: [send(payload) for _ in range(80)])
writer.start()
received = 0
while received < 80 * 900_000:
    received += len(os.read(4, 2**20))
writer.join()
"""

    told = await server.run(f"{FORGE}{code}'all'")

    assert told == Told("all", is_error=False)


def peak_memory(pid: int) -> int:
    facts = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(facts["VmHWM"].split()[0]) * 1024


def test_calls_that_come_faster_than_they_are_answered_wait_in_their_kernel() -> None:
    """A megabyte of empty lists takes twenty when it is read; forty of them had taken the server to 749 MB."""
    with open_servers() as servers:
        servers.enable_demo()
        with servers.start_ours() as server:
            warm_up(server, RUN)
            before = peak_memory(server.pid)
            server.begin(*run(f"{FORGE}{HOSTILE['calls with many small values']}"))
            for _ in range(60):
                server.call(*RUN)

            assert peak_memory(server.pid) - before < 250 * 1024**2


@pytest.mark.parametrize("first", long_after(1, SEEDS[::AT_ONCE]))
async def test_others_are_answered_beside_random_frames_and_programs(hasty_server: Abused, first: int) -> None:
    codes = [RANDOM.replace("SEED", str(seed)) for seed in range(first, first + AT_ONCE)]

    assert await answers_beside(hasty_server, codes) > 0
    assert await hasty_server.is_well()
