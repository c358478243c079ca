"""Extensions whose header confines them: they work, they are held, and a header that cannot be read starts nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from ot.errors import CallError, WorkerStartError
from ot.workers.extension import Extension
from ot.workers.header_options import HeaderMistakeError, read_confine
from ot.workers.pep723 import parse_header
from ot.workers.pool import WorkerPool
from tests.confine.pages import pages
from tests.engine import open_engine
from tests.worker_pool import PROGRAMS, open_pool, write_extension

pytestmark = pytest.mark.anyio

SOURCE = """\
# /// script
# requires-python = ">=3.11"
# dependencies = ["six"]
# [tool.onetool]
# confine = CONFINE
# ///
import os, socket, subprocess, tempfile, urllib.request

import six
import ot_sdk


def read(*, path: str) -> str:
    return open(path).read()


def write(*, path: str) -> int:
    return open(path, "w").write(six.text_type("bread"))


def connect(*, port: int) -> int:
    with socket.create_connection(("127.0.0.1", port), 5) as end:
        return end.send(b"hello")


def fetch(*, url: str) -> str:
    os.environ["no_proxy"] = ""
    with urllib.request.urlopen(url, timeout=20) as page:
        return page.read().decode()


def scratch() -> bool:
    with tempfile.NamedTemporaryFile() as file:
        return os.path.dirname(file.name) == os.environ["HOME"]


def start() -> int:
    return subprocess.run(["sh", "-c", "exit 3"]).returncode


def hold(*, size: int) -> int:
    return len(bytearray(size))
"""


async def outcome(pool: WorkerPool, extension: Extension, tool: str, **arguments: Any) -> str:
    """What came of a call, or the error of it."""
    try:
        return repr(await pool.call(extension, tool, arguments))
    except CallError as error:
        return f"{type(error).__name__}: {error}"


async def test_a_confined_extension_works_and_is_held(tmp_path: Path) -> None:
    tools, notes = tmp_path / "tools", tmp_path / "notes"
    tools.mkdir()
    notes.mkdir()
    (notes / "today").write_text("milk")
    (tmp_path / "secret").write_text("private")
    with pages() as port, pages() as other:
        confine = f'{{write = ["../notes"], hosts = ["127.0.0.1:{port}"], memory = "200m"}}'
        extension = write_extension(tools, SOURCE.replace("CONFINE", confine))
        async with open_pool(tmp_path) as pool:
            said = [
                await outcome(pool, extension, "read", path=str(notes / "today")),
                await outcome(pool, extension, "write", path=str(notes / "today")),
                await outcome(pool, extension, "scratch"),
                await outcome(pool, extension, "start"),
                await outcome(pool, extension, "fetch", url=f"http://127.0.0.1:{port}/a"),
            ]
            refused = [
                await outcome(pool, extension, "read", path=str(tmp_path / "secret")),
                await outcome(pool, extension, "write", path=str(tmp_path / "planted")),
                await outcome(pool, extension, "connect", port=other),
                await outcome(pool, extension, "fetch", url=f"http://127.0.0.1:{other}/"),
                await outcome(pool, extension, "hold", size=400 << 20),
            ]

    assert said == ["'milk'", "5", "True", "3", f"'/a of 127.0.0.1:{port}'"]
    assert [text for text in refused if "Error" not in text] == []
    assert (notes / "today").read_text() == "bread"


async def test_an_extension_with_empty_bounds_has_no_network(tmp_path: Path) -> None:
    extension = write_extension(tmp_path, SOURCE.replace("CONFINE", "{}"))
    with pages() as port:
        async with open_pool(tmp_path) as pool:
            assert await outcome(pool, extension, "scratch") == "True"
            assert "Error" in await outcome(pool, extension, "connect", port=port)
            assert "Error" in await outcome(pool, extension, "fetch", url=f"http://127.0.0.1:{port}/")


def test_where_namespaces_are_refused_hosts_start_nothing_and_the_rest_is_held(tmp_path: Path) -> None:
    tools = tmp_path / ".onetool" / "tools"
    tools.mkdir(parents=True)
    for name, confine in (("linked", '{hosts = ["example.com"]}'), ("shut", "{}")):
        write_extension(tools, SOURCE.replace("CONFINE", confine), name)
    (tmp_path / "secret").write_text("private")
    code = f"""
        found = []
        for call in (linked.scratch, shut.scratch, lambda: shut.read(path={str(tmp_path / "secret")!r})):
            try:
                found.append(call())
            except Exception as error:
                found.append(str(error))
        found
    """
    start = [
        sys.executable,
        str(PROGRAMS.parent / "restricted_start.py"),
        "bare",
        sys.executable,
        "-m",
        "onetool",
        "run",
    ]
    environ = {**os.environ, "HOME": str(tmp_path)}

    done = subprocess.run(
        [*start, code], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False, timeout=120
    )

    linked, shut, read = yaml.safe_load(done.stdout)
    assert "cannot be confined as its `confine` says: `hosts` needs a network namespace" in linked
    assert shut is True
    assert "Permission denied" in read


@pytest.mark.parametrize(
    ("confine", "reason"),
    [
        ('{hosts = ["http://example.com/"]}', "confine.hosts.0 in its header: must be a host"),
        ("{network = true}", "confine.network in its header"),
        ('"yes"', "confine in its header"),
        ('{read = "/"}', "confine.read in its header"),
        ('{write = ["."]}', "includes the file itself, which could then change its limits"),
    ],
)
async def test_bounds_that_cannot_be_read_start_nothing(tmp_path: Path, confine: str, reason: str) -> None:
    extension = write_extension(tmp_path, SOURCE.replace("CONFINE", confine))
    async with open_pool(tmp_path) as pool:
        with pytest.raises(WorkerStartError) as caught:
            await pool.call(extension, "scratch", {})

    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        pytest.param("# confine =", "confine =", id="a line that is no comment"),
        pytest.param('["six"]', '["six"', id="TOML with a mistake"),
        pytest.param("# /// script", "# //// script", id="another beginning"),
        pytest.param("# [tool.onetool]", "# ///\n# [tool.onetool]", id="closed before its bounds"),
    ],
)
async def test_an_extension_whose_header_cannot_be_read_is_not_started(tmp_path: Path, right: str, wrong: str) -> None:
    source = SOURCE.replace("CONFINE", "{}").replace(right, wrong).replace("import six", "")
    extension = write_extension(tmp_path, source)
    async with open_pool(tmp_path) as pool:
        with pytest.raises(WorkerStartError, match=r"script block|header"):
            await pool.call(extension, "scratch", {})
    async with open_engine(tmp_path / "project", extensions={"broken": source}) as app:
        answer = await app.runner.run("broken.scratch()")

    assert answer.is_error
    assert "broken_tools.py" in answer.text
    assert "script block" in answer.text


def test_paths_are_seen_from_the_file_and_the_project_has_a_name(tmp_path: Path) -> None:
    header, _ = parse_header(SOURCE.replace("CONFINE", '{read = ["data", "{project}/docs", "~/x"], write = ["/abs"]}'))
    assert header is not None

    confine = read_confine(header, tmp_path / "tools" / "a.py", project=tmp_path / "project")

    assert confine is not None
    assert confine.read == (tmp_path / "tools" / "data", tmp_path / "project" / "docs", Path("~/x").expanduser())
    assert confine.write == (Path("/abs"),)


def test_another_key_beside_confine_is_a_mistake() -> None:
    header, _ = parse_header("# /// script\n# [tool.onetool]\n# confined = {}\n# ///\n")
    assert header is not None

    with pytest.raises(HeaderMistakeError, match="the key `confined`; the keys are confine, engine"):
        read_confine(header, Path("/a.py"), project=Path("/"))
