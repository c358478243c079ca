"""Ordinary code around files and threads: what a run has is used as anywhere, what it has not is told with a way out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ot.app import App
from tests.engine import answer_of, open_engine
from tests.engines import on_wasm

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[App]:
    """An engine with a project named shop."""
    folder = tmp_path_factory.mktemp("shop")
    (folder / "README.md").write_text("hello")
    async with open_engine(folder / "home", config=f"projects: {{shop: {{path: '{folder}'}}}}") as opened:
        yield opened


@pytest.mark.only_as_process(
    "a run has one thread there; only ThreadPoolExecutor has a stand-in, which works one after the other"
)
async def test_a_pool_of_threads_works_as_anywhere(app: App) -> None:
    code = "from multiprocessing.pool import ThreadPool\nwith ThreadPool(4) as pool:\n    found = pool.map(lambda n: n * n, range(5))\nfound"

    assert await answer_of(app, code) == "[0, 1, 4, 9, 16]"
    assert await answer_of(app, "import multiprocessing\nwith multiprocessing.Lock():\n    x = 1\nx") == "1"


async def test_a_file_of_a_project_is_refused_with_the_tool_that_reads_it_and_the_key(app: App) -> None:
    for code in ("open(proj.shop / 'README.md')", "import pathlib\npathlib.Path(proj.shop, 'README.md').read_text()"):
        told = await app.runner.run(code)

        assert ("FileNotFoundError" if on_wasm() else "PermissionError") in told.text
        assert "file.read(path=...)" in told.text
        assert "execution.readable" in told.text
    told = await app.runner.run("(proj.shop / 'README.md').read_text()")
    assert (
        "project 'shop' has no attribute 'read_text'; it touches no disk, so hand it to a tool: file.read" in told.text
    )


@pytest.mark.parametrize(
    "code",
    [
        "open('orders.csv')",
        "import pathlib\npathlib.Path('orders.csv').read_text()",
        "import os\nos.stat('orders.csv')",
    ],
)
async def test_a_name_that_is_not_in_the_scratch_folder_names_the_tool_that_reads_the_project(
    app: App, code: str
) -> None:
    told = (await app.runner.run(code)).text

    assert "No such file or directory: 'orders.csv'" in told
    assert "file.read(path='orders.csv')" in told


async def test_a_file_that_a_tool_did_not_find_is_not_looked_for_in_the_scratch_folder(app: App) -> None:
    told = (await app.runner.run("file.read(path='orders.csv')")).text

    assert "scratch folder" not in told


IN_SCRATCH = {
    "shutil.copy": ("shutil.copy('a', 'b')\nopen('b').read()", "x"),
    "shutil.copy2": ("os.utime('a', (1, 2))\nshutil.copy2('a', 'b')\nos.stat('b').st_mtime", "2.0"),
    "shutil.copytree": (
        "os.makedirs('d/e')\nos.rename('a', 'd/e/a')\nshutil.copytree('d', 'f')\nos.listdir('f/e')",
        "[a]",
    ),
    "os.utime": ("os.utime('a', ns=(5, 7))\nos.stat('a').st_atime_ns, os.stat('a').st_mtime_ns", "[5, 7]"),
    "os.utime to now": ("os.utime('a', (1, 1))\nos.utime('a')\nos.stat('a').st_mtime > 1e9", "True"),
    "os.chmod": ("os.chmod('a', 0o640)\noct(os.stat('a').st_mode)", "0o100640"),
    "no more than a mode": ("os.chmod('a', 0o4777)\noct(os.stat('a').st_mode)", "0o100777"),
    "a folder": ("os.mkdir('d')\nos.chmod(b'd', 0o750)\noct(os.stat('d').st_mode)", "0o40750"),
    "through a link of its own": ("os.symlink('a', 'l')\nos.chmod('l', 0o600)\noct(os.stat('a').st_mode)", "0o100600"),
    "os.truncate": ("os.truncate('a', 3)\nos.stat('a').st_size", "3"),
    "pathlib": ("p = pathlib.Path('a')\np.touch()\np.chmod(0o600)\np.exists()", "True"),
    "nothing there": (
        "try:\n    os.chmod('b', 0o600)\nexcept FileNotFoundError as error:\n    print(error.filename)",
        "b\nDone: no value returned.",
    ),
}


only_with_modes = pytest.mark.only_as_process("files have no modes there")


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=only_with_modes) if "st_mode" in IN_SCRATCH[name][0] else name for name in IN_SCRATCH],
)
async def test_files_in_the_scratch_folder_are_ordinary_files(app: App, name: str) -> None:
    code, value = IN_SCRATCH[name]

    assert await answer_of(app, f"import os, pathlib, shutil\nopen('a', 'w').write('x')\n{code}") == value


FORGED_PATHS = {
    "out of the folder": ["..", "victim"],
    "in one word": ["../victim"],
    "behind a linked folder": ["outside", "victim"],
    "a link": ["link"],
    "nowhere": [],
    "the folder itself": ["."],
}


@pytest.mark.only_as_process("code can neither make links out of its folder there nor read the server's answers itself")
@pytest.mark.parametrize("name", FORGED_PATHS)
async def test_no_other_file_is_changed_whatever_a_kernel_asks(app: App, tmp_path: Path, name: str) -> None:
    victim = tmp_path / "victim"
    victim.write_text("")
    victim.chmod(0o600)
    message = {"op": "attributes", "id": 1, "path": FORGED_PATHS[name], "mode": 0o777, "times": [1, 1]}
    code = (
        f"import json, os, time\nos.symlink({str(tmp_path)!r}, 'outside')\nos.symlink({str(victim)!r}, 'link')\n"
        f"message = json.dumps({message!r}).encode()\nos.write(4, len(message).to_bytes(4, 'big') + message)\n"
        "json.loads(os.read(4, 1000)[4:])['value'] != 0"
    )

    assert await answer_of(app, code) == "True"
    for path in (str(victim), "link", "outside/victim"):
        told = await app.runner.run(
            f"import os\nos.symlink({str(tmp_path)!r}, 'outside')\nos.symlink({str(victim)!r}, 'link')\nos.chmod({path!r}, 0o777)"
        )
        assert "PermissionError: [Errno 1] Operation not permitted" in told.text
    assert victim.stat().st_mode & 0o777 == 0o600
    assert victim.stat().st_mtime > 1
