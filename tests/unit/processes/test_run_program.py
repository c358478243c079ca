"""Programs are run to their end, with their input as a file and nothing of them left."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

from ot.processes.run_program import Finished, run_program
from ot.processes.standby import Standby
from ot_confinement.confine import Confine

Run = Callable[..., Awaitable[Finished]]


@pytest.fixture(params=["started", "forked"])
async def run_any(request: pytest.FixtureRequest) -> AsyncIterator[Run]:
    """Run a program below a guardian that is started, or forked by a standby."""
    async with Standby() as standby:
        chosen = standby if request.param == "forked" else None
        yield partial(run_program, environ=os.environ, cwd=Path.cwd(), standby=chosen)
        assert (standby.pid is not None) == (request.param == "forked")


@pytest.fixture
def run(run_any: Run) -> Run:
    """Run a program of Python."""
    return lambda source, stdin=b"", **options: run_any([sys.executable, "-c", source], stdin=stdin, **options)


async def test_what_it_reads_and_prints_are_bytes(run: Run) -> None:
    done = await run("import sys; sys.stdout.buffer.write(sys.stdin.buffer.read()[::-1])", b"\x00abc" * 100_000)

    assert (done.status, done.output) == (0, b"cba\x00" * 100_000)


async def test_its_status_and_the_end_of_its_stderr_are_told(run: Run) -> None:
    done = await run("import sys; sys.exit('no more paper')")

    assert done == Finished(1, b"", "no more paper")


async def test_it_inherits_nothing_but_its_streams(run: Run) -> None:
    done = await run("import os; print(sorted(os.listdir('/proc/self/fd')), 'OT_GUARDIAN_LEDGER' in os.environ)")

    assert done.output == b"['0', '1', '2', '3'] False\n"  # 3 is the folder that it lists


async def test_one_that_does_not_exist_is_named(run_any: Run) -> None:
    done = await run_any(["no-such-program"], environ={"PATH": "/usr/bin"})  # which every user may search

    assert (done.status, done.tail) == (127, "not found: no-such-program")


async def test_one_that_prints_too_much_is_killed(run: Run) -> None:
    done = await run("while True: print('x' * 1000)", output_limit=1000)

    assert done.status == 137


async def test_what_it_leaves_running_ends_with_it(run: Run) -> None:
    left = "import subprocess; print(subprocess.Popen(['sleep', '600'], start_new_session=True).pid)"

    done = await run(left)

    assert not Path(f"/proc/{int(done.output)}").exists()


async def test_it_ends_when_no_more_of_its_output_is_wanted(run_any: Run) -> None:
    taken: list[bytes] = []

    def take(data: bytes) -> bool:
        taken.append(data)
        return False

    command = [sys.executable, "-c", "while True: print('x' * 1000)"]
    done = await run_any(command, on_output=take)

    assert (done.status, done.stopped, done.output, len(taken)) == (137, True, b"", 1)


async def test_what_goes_wrong_with_its_output_is_told_to_who_waits(run_any: Run) -> None:
    def take(data: bytes) -> bool:
        raise ValueError("not what was expected")

    with pytest.raises(ValueError, match="not what was expected"):
        await run_any(["echo", "x"], on_output=take)


async def test_within_bounds_it_reaches_nothing_else(tmp_path: Path, run_any: Run) -> None:
    (tmp_path / "secret").write_text("secret")

    done = await run_any(["cat", "secret"], cwd=tmp_path, confine=Confine())

    assert (done.status, done.output) == (1, b"")
    assert "Permission denied" in done.tail
