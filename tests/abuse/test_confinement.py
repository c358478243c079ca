"""What code must not be able to do, tried from inside a run by the routes that an attacker would take."""

from __future__ import annotations

import os

import anyio
import pytest

from tests.abuse.conftest import SECRET, Abused
from tests.abuse.routes import ROUTES, is_known, is_native, write_attempt

only_native = pytest.mark.only_as_process("no native code can be called there, so none can make a system call")


@pytest.mark.parametrize(
    "attempt",
    [pytest.param(attempt, marks=only_native) if is_native(attempt) else attempt for attempt in ROUTES.values()],
    ids=ROUTES.keys(),
)
async def test_from_inside_a_run_there_is_no_way_to(server: Abused, attempt: str) -> None:
    if not is_known(attempt, os.uname().machine):
        pytest.skip("only x86_64 has this call")

    told = await server.run(write_attempt(attempt, str(server.home)))

    assert told.text.startswith("refused"), told.text


async def test_the_secret_is_in_nothing_that_code_can_see(server: Abused) -> None:
    backwards = SECRET[::-1]

    told = await server.run(
        "import gc, os, sys\n"
        "seen = [repr(os.environ), repr(sys.argv), repr(sys.orig_argv)]\n"
        "seen += [repr(o) for o in gc.get_objects() if isinstance(o, (dict, list)) and len(o) < 1000]\n"
        f"needle = {backwards!r}[::-1]\n"
        "any(needle in text for text in seen)"
    )

    assert told.text.lower() == "false", told.text


async def test_files_of_the_server_are_unharmed_after_all_attempts(server: Abused) -> None:
    await server.run(
        f"import os\nfor name in ('diary.txt', 'planted'): open(os.path.join({str(server.home)!r}, name), 'w')"
    )

    assert (server.home / "diary.txt").read_text() == "private\n"
    assert not (server.home / "planted").exists()
    assert not await anyio.Path("/tmp/onetool-planted").exists()


async def test_the_scratch_folder_is_the_codes_own(server: Abused) -> None:
    told = await server.run(
        "import os, pathlib, tempfile\n"
        "pathlib.Path('a/b').mkdir(parents=True)\n"
        "pathlib.Path('a/b/c.txt').write_text('hello')\n"
        "with tempfile.NamedTemporaryFile() as file: inside = file.name.startswith(os.getcwd())\n"
        "[pathlib.Path('a/b/c.txt').read_text(), inside, pathlib.Path.home() == pathlib.Path.cwd()]"
    )

    assert "hello" in told.text
    assert "false" not in told.text.lower()
