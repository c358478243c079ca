"""Code that misbehaves gets a clear answer, and the server goes on as if nothing had happened."""

from __future__ import annotations

import anyio
import pytest

from tests.abuse.conftest import TIME_LIMIT, Abused, Told
from tests.engines import FORGE, on_wasm

only_native = pytest.mark.only_as_process("no native code can be called there, so none can crash or map memory")
only_with_signals = pytest.mark.only_as_process("there are no signals there")
only_with_socket = pytest.mark.only_as_process("code has no socket to the server there; it hands over whole messages")
only_with_threads = pytest.mark.only_as_process("a run has one thread there")

ENDLESS = {
    "an endless loop": "x = 1\nwhile True: pass",
    "a long sleep": "import time\ntime.sleep(999)",
    "a catastrophic regular expression": "import re\nre.match(r'(a+)+$', 'a' * 40 + 'b')",
    "a number too large to finish": "x = 1\n10 ** 10 ** 8",
    "an endless loop that catches everything": (
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass"
    ),
    "a wait for a thread that never ends": "import threading\nthreading.Event().wait()",
    "a signal handler in the way": ("import signal\nsignal.signal(signal.SIGUSR1, signal.SIG_IGN)\nwhile True: pass"),
}


IN_C = {ENDLESS["a catastrophic regular expression"], ENDLESS["a number too large to finish"]}
"""On the engine wasm, nobody can tell the line of what a function written in C does."""


@pytest.mark.parametrize("code", ENDLESS.values(), ids=ENDLESS.keys())
async def test_code_without_end_is_stopped_at_its_limit_and_its_line_is_named(hasty_server: Abused, code: str) -> None:
    told = await hasty_server.run(code)

    assert told.is_error
    assert f"{TIME_LIMIT} 2 s" in told.text
    assert "line" in told.text or (on_wasm() and code in IN_C)
    assert await hasty_server.is_well()


ERRORS = {
    "a string of 3 GB": ("x = 'x' * (3 * 10**9)", "has at most 2 GB" if on_wasm() else "MemoryError"),
    "sys.exit with a status": ("import sys\nsys.exit(3)", "SystemExit"),
    "KeyboardInterrupt": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "SystemExit with a text": ("raise SystemExit('enough')", "enough"),
    "a BaseException of its own": ("class Mine(BaseException): pass\nraise Mine('own')", "Mine: own"),
    "infinite recursion": ("def f(): return f()\nf()", "RecursionError"),
    "20,000 nested parentheses": (
        "(" * 20_000 + ")" * 20_000,
        "too complex to parse" if on_wasm() else "too many nested parentheses",
    ),
    "a chain of 100,000 operators": ("+".join(["1"] * 100_000), "Error"),
    "StopIteration": ("raise StopIteration", "StopIteration"),
    "SIGINT to itself": pytest.param(
        "import os, signal\nos.kill(os.getpid(), signal.SIGINT)", "KeyboardInterrupt", marks=only_with_signals
    ),
    "a fork bomb": ("import os\nwhile True: os.fork()", "cannot start processes"),
    "threads without end": (
        "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(60,)).start()",
        "Error",
    ),
    "an exception whose text cannot be read": (
        "class E(Exception):\n    def __str__(self): raise RuntimeError\nraise E",
        "E",
    ),
    "a null byte": ("x = 1\0", "null"),
    "a file without end": ("f = open('x', 'wb')\nwhile True: f.write(b'x' * 10**6)", "64 MB"),
    "printing without end": ("while True: print('x' * 1000)", "64 MB"),
}


@pytest.mark.parametrize(("code", "clue"), ERRORS.values(), ids=ERRORS.keys())
async def test_code_that_breaks_itself_is_told_how(server: Abused, code: str, clue: str) -> None:
    told = await server.run(code)

    assert told.is_error
    assert clue in told.text
    assert await server.is_well()


ENDS = {
    "os._exit": ("import os\nos._exit(1)", "status 1"),
    "kill -9 of itself": pytest.param(
        "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "SIGKILL", marks=only_with_signals
    ),
    "a crash in C": pytest.param("import ctypes\nx = 1\nctypes.string_at(0)", "line 3", marks=only_native),
    "closing its connection": pytest.param(
        "import os\nos.close(4)\nimport time\ntime.sleep(60)", "ended", marks=only_with_socket
    ),
    "a forged frame": pytest.param(
        "import os, time\nos.write(4, b'\\xff' * 64)\ntime.sleep(60)", "ended", marks=only_with_socket
    ),
    "many small files": (
        "import os\nfor i in range(30_000): open(str(i), 'w').close()\nimport time\ntime.sleep(60)",
        "scratch",
    ),
    "memory that is not counted as data": pytest.param(
        (
            "import mmap, os, time\nmaps = []\nfor n in range(10):\n    fd = os.open(str(n), os.O_CREAT | os.O_RDWR)\n"
            "    os.ftruncate(fd, 60 * 2**20)\n    maps.append(mmap.mmap(fd, 60 * 2**20))\n"
            "    for i in range(0, 60 * 2**20, 4096): maps[-1][i] = 1\ntime.sleep(60)"
        ),
        "The run used more ",  # memory, or scratch space if that is full or looked at first
        marks=only_native,
    ),
    "files without a name": (
        (
            "import os, time\nfiles = []\nfor n in range(20):\n    files.append(open('x', 'wb'))\n"
            "    files[-1].write(bytes(60 * 2**20))\n    os.unlink('x')\ntime.sleep(60)"
        ),
        "256 MB",
    ),
    "a folder that nobody can list": (
        (
            "import os, time\nos.mkdir('x', 0o300)\nfor n in range(15): open(f'x/{n}', 'wb').write(bytes(60 * 2**20))\n"
            "time.sleep(60)"
        ),
        "256 MB",
    ),
    "thousands of threads": pytest.param(
        (
            "import threading, time\nthreading.stack_size(2**18)\ntry:\n"
            "    for n in range(6000): threading.Thread(target=time.sleep, args=(60,)).start()\n"
            "except RuntimeError: time.sleep(60)"
        ),
        "more threads than its limit of 256",
        marks=only_with_threads,
    ),
}


FORGED = [
    b"[]",
    b'{"op": []}',
    b'{"op": "nonsense"}',
    b'{"op": "call"}',
    b'{"op": "call", "id": 1, "tool": [], "args": 5, "kwargs": {}}',
    b'{"op": "call", "id": 1, "tool": "demo.foo", "args": [], "kwargs": {"text": {"$": "no such tag", "v": 1}}}',
    b'{"op": "file", "name": "../../etc/passwd"}',
    b'{"op": "references", "references": [{}]}',
    b'{"op": "value", "value": {"$": "bytes", "v": 5}}',
    b'{"op": "error", "type": 1, "message": 2, "frames": [[1e999, 1, 1]], "names": [], "notes": []}',
]


@pytest.mark.parametrize("message", FORGED)
async def test_a_message_that_code_made_up_ends_its_run_and_nothing_else(server: Abused, message: bytes) -> None:
    told = await server.run(f"{FORGE}import time\nforge({message!r})\ntime.sleep(60)")

    assert told.is_error
    assert TIME_LIMIT not in told.text  # it was noticed at once, not when the time was over
    assert await server.is_well()


@pytest.mark.parametrize(("code", "clue"), ENDS.values(), ids=ENDS.keys())
async def test_code_that_ends_its_own_process_is_told_how_it_ended(server: Abused, code: str, clue: str) -> None:
    told = await server.run(code)

    assert told.is_error
    assert clue in told.text
    assert await server.is_well()


TELL = f"{FORGE}import json, time\ndef tell(**m):\n    forge(json.dumps(m).encode())\n    time.sleep(60)\n"

LONG = {
    "the name of an exception": "raise type('E' * 300_000, (Exception,), {})()",
    "the name of an exception that is not to be described": (
        "class M(type):\n    def __instancecheck__(*_): raise ValueError\n"
        "class E(Exception):\n    @property\n    def __notes__(self): raise ValueError\nE.__name__ = 'E' * 300_000\nraise E"
    ),
    "the name of a cause": "raise ValueError('x') from type('E' * 300_000, (Exception,), {})()",
    "a message": "raise ValueError('x' * 300_000)",
    "a message that cannot be encoded": "raise ValueError(chr(0xd800) * 300_000)",
    "a missing key": "{}['k' * 300_000]",
    "many notes": "error = ValueError('x')\nfor _ in range(3000): error.add_note('n' * 4000)\nraise error",
    "a group of exceptions": "raise ExceptionGroup('g' * 300_000, [ValueError('x' * 300_000)])",
    "a status": "raise SystemExit('x' * 300_000)",
    "the names of functions": (
        "import sys\nscope = {}\nfor n in range(20):\n"
        "    name, inner = f'f{n}' + 'x' * 50_000, f'f{n - 1}' + 'x' * 50_000 if n else 'fail'\n"
        "    exec(compile('\\n' * n + f'def {name}(): {inner}()', '<run>', 'exec'), scope)\n"
        "scope[name]()"
    ),
    "the name of a file": "compile('(', 'n' * 300_000, 'exec')",
    "the text of a syntax error": "raise SyntaxError('m' * 300_000, ('<run>', 1, 1, 't' * 300_000))",
    "a line of the code": f"x = 1; 1 / 0; {'x' * 300_000}",
    "a name that nobody defined": "n" * 300_000,
    "a name that is said to be undefined": "raise NameError('x', name='n' * 300_000)",
    "a pack that is not there": f"{'n' * 300_000}.tool()",
    "packs that are not there": "\n".join(f"{'n' * 20_000}{number}.tool()" for number in range(20)),
    "a tool that is not there": f"demo.{'n' * 300_000}()",
    "a tool that is not there, by name": "getattr(demo, 'n' * 300_000)()",
    "an argument that no tool has": f"demo.upper({'n' * 300_000}=1)",
    "an argument that no tool has, unpacked": "demo.upper(**{'n' * 300_000: 1})",
    "much printed before": "print('p' * 300_000)\nraise type('E' * 300_000, (Exception,), {})()",
    "a snippet that is not there": f"${'n' * 300_000}",
    "a forged error": (
        f"{TELL}tell(op='error', type='E' * 90_000, message='m' * 90_000, names=['n' * 90_000], notes=['o' * 90_000] * 3, "
        "frames=[[n, 'f' * 40_000, 's' * 40_000] for n in range(5)])"
    ),
    "a forged circle of aliases": f"{TELL}tell(op='alias_cycle', names=['n' * 90_000] * 9)",
    "a forged word": f"{TELL}tell(op='x' * 900_000)",
}


@pytest.mark.parametrize("code", LONG.values(), ids=LONG.keys())
async def test_whatever_an_error_is_made_of_its_answer_stays_within_the_limit(server: Abused, code: str) -> None:
    told = await server.run(code)

    assert told.is_error
    assert TIME_LIMIT not in told.text
    assert len(told.text) <= 20_000
    assert await server.is_well()


LONG_NAMES = {
    "a record": "import dataclasses\ndataclasses.make_dataclass('R' * 300_000, ['a'])(1)",
    "a record that crosses": "import dataclasses\ndataclasses.make_dataclass('R' * 60_000, ['a'])('x' * 19_995)",
    "a class": "type('C' * 300_000, (), {})",
    "a key": "{'k' * 300_000: 1}",
}


@pytest.mark.parametrize("code", LONG_NAMES.values(), ids=LONG_NAMES.keys())
async def test_long_names_in_a_value_do_not_lengthen_its_answer(server: Abused, code: str) -> None:
    told = await server.run(code)

    assert not told.is_error
    assert len(told.text) <= 20_000


CHATTER = """
import threading
def chatter():
    while True: print('{"jsonrpc": "2.0"}')
threading.Thread(target=chatter).start()
42
"""

HARMLESS = {
    "sys.exit without a status": ("import sys\nprint('before')\nsys.exit()", "before"),
    "closing fd 1": ("import os\nos.close(1)\n41 + 1", "42"),
    "writing to fd 1": ("import os\nos.write(1, b'raw\\n')\n42", "raw"),
    "writing to sys.__stdout__": ("import sys\nprint('dunder', file=sys.__stdout__)\n42", "dunder"),
    "writing from a thread left running": pytest.param(CHATTER, "42", marks=only_with_threads),
    "a late __del__": (
        'class Late:\n    def __del__(self): print(\'{"jsonrpc": "2.0"}\')\nkept = Late()\n42',
        "42",
    ),
    "an answer of the protocol's as output": ('print(\'{"jsonrpc":"2.0","id":1,"result":{}}\')\n42', "42"),
    "NaN": ("float('nan')", "nan"),
    "lone surrogates": ("'\\ud800 ok'", "ok"),
    "a self-referencing value": ("a = [1]\na.append(a)\na", "[1, [...]]"),
    "a generator": ("(i * i for i in range(4))", "9"),
    "bytes": ("b'\\x00\\xff'", "xff"),
    "a value of a class of its own": ("class C:\n    def __repr__(self): return 'a C'\nC()", "a C"),
    "a function": ("lambda: 1", "<function"),
    "ten thousand lines": ("x = 0\n" + "x += 1\n" * 10_000 + "x", "10000"),
}


@pytest.mark.parametrize(("code", "clue"), HARMLESS.values(), ids=HARMLESS.keys())
async def test_code_that_only_looks_dangerous_gets_its_answer(server: Abused, code: str, clue: str) -> None:
    told = await server.run(code)

    assert not told.is_error, told.text
    assert clue in told.text
    assert await server.is_well()


async def test_sixteen_runs_at_once_see_only_their_own_output(server: Abused) -> None:
    told: dict[int, Told] = {}

    async def run(number: int) -> None:
        told[number] = await server.run(f"for i in range(20): print('run-{number:02}')\n{number}")

    async with anyio.create_task_group() as runs:
        for number in range(16):
            runs.start_soon(run, number)

    for number in range(16):
        assert told[number].text == f"run-{number:02}\n" * 20 + str(number)
    assert await server.is_well()


async def test_what_one_run_leaves_the_next_does_not_find(server: Abused) -> None:
    await server.run(
        "import builtins, json, os, sys\n"
        "builtins.leak = json.leak = sys.leak = leak = 1\n"
        "os.environ['LEAK'] = '1'\n"
        "open('leak', 'w').close()\n"
        "demo.leak = 1"
    )

    told = await server.run(
        "import builtins, json, os, sys\n"
        "found = [hasattr(m, 'leak') for m in (builtins, json, sys)]\n"
        "found, 'LEAK' in os.environ, os.listdir('.'), 'leak' in globals()"
    )

    assert "True" not in told.text
    assert "true" not in told.text
    assert "leak'" not in told.text
