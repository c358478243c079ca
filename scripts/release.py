"""Makes what is published of a version: `make release`, or `python -m scripts.release [--component FILE]`.

Everything is made from what is committed, in two clones whose bytes must be the same, and lies in dist/release: sdist,
wheel, bundle, the component of the engine `wasm`, an SBOM, notes and checksums. Two components that are made from the
same sources differ, so a release has one, made once: publishing/component.toml names its digest, and
`--component FILE` is how somebody else has it.

    python -m scripts.release --record    write into publishing/component.toml that the component here is released
    python -m scripts.release --ready     fail, and say why, as long as this version must not be published
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import anyio
from mcp import Client, StdioServerParameters
from mcp_types import TextContent

from mcp_core.distribution import DISTRIBUTION, VERSION
from ot_wasm import component
from scripts import build_wasm_kernel
from scripts.bundle import build_bundle
from scripts.pack_extras import ROOT
from scripts.shop_window import read_facts, wheel_name

RELEASE = ROOT / "dist" / "release"
RECORD = ROOT / "publishing" / "component.toml"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
LARGEST = 20_000_000  # bytes of the wheel: the component is five sixths of it
_SUFFIXES = frozenset(
    {".css", ".html", ".in", ".j2", ".js", ".py", ".sources", ".sql", ".svg", ".txt", ".typed", ".wasm", ".wit"}
)
_BIN = Path(sys.executable).parent
_RECORD_TEXT = """\
# The component of the engine `wasm` that is released with this version; `python -m scripts.release --record` writes it.
made_from = "{}"  # the sources of the kernel
sha256 = "{}"
"""


class ReleaseError(Exception):
    """Something is wrong with what would be released."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m scripts.release")
    parser.add_argument("--component", type=Path, help="the component of the release, made elsewhere")
    parser.add_argument(
        "--record", action="store_true", help="record the component that is here as that of the release"
    )
    parser.add_argument("--ready", action="store_true", help="fail as long as this version must not be published")
    options = parser.parse_args(arguments)
    try:
        if options.record:
            build_wasm_kernel.main([])
            RECORD.write_text(_RECORD_TEXT.format(component.digest_sources(), _digest(component.COMPONENT)))
        elif not options.ready:
            make_release(take_component(options.component))
        hindrances = [] if options.record else list(find_hindrances())
    except (ReleaseError, subprocess.CalledProcessError) as error:
        sys.exit(f"release: {error}")
    for hindrance in hindrances:
        sys.stderr.write(f"Not to be published yet: {hindrance}\n")
    return 1 if options.ready and hindrances else 0


def find_hindrances() -> Iterator[str]:
    """Say why this version must not be published."""
    if read_facts().is_placeholder:
        yield "publishing/publisher.toml names no publisher"
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if read_notes(changelog, "Unreleased") or not read_notes(changelog, VERSION):
        yield f"what is new in {VERSION} does not stand under {VERSION} in CHANGELOG.md"
    if not _is_recorded(component.COMPONENT):
        yield "publishing/component.toml names another component; write it with `python -m scripts.release --record`"


def make_release(kernel: Path) -> None:
    """Make and check all of it."""
    if changed := _output("git", "status", "--porcelain"):
        raise ReleaseError(f"commit first what is changed here:\n{changed}")
    shutil.rmtree(RELEASE, ignore_errors=True)
    RELEASE.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _say("building in two clones")
        for file in build_twice(folder, kernel):
            shutil.copy(file, RELEASE)
        wheel = RELEASE / wheel_name()
        _say("checking")
        check_wheel(wheel, forbidden=[str(folder), str(ROOT)])
        _run(_BIN / "twine", "check", "--strict", *RELEASE.iterdir())
        build_bundle(wheel, RELEASE)
        shutil.copy(kernel, RELEASE / f"kernel-{VERSION}.wasm")
        index = folder / "index"  # a new place: uv knows what it has installed from an earlier one
        index.mkdir()
        shutil.copy(wheel, index)
        used = [python for version in PYTHONS if (python := find_python(version)) is not None]
        for python in used:
            _say(f"trying it with {_output(python, '--version')}")
            anyio.run(try_wheel, python, index)
        _write_sbom(folder / "venv", index)
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    (RELEASE / "NOTES.md").write_text(read_notes(changelog, "Unreleased") or read_notes(changelog, VERSION))
    files = sorted(RELEASE.iterdir())
    (RELEASE / "SHA256SUMS").write_text("".join(f"{_digest(file)}  {file.name}\n" for file in files))
    _say(f"{len(files) + 1} files in {RELEASE.relative_to(ROOT)}, tried with {len(used)} versions of Python")


def take_component(given: Path | None) -> Path:
    """Return the component: the one of the release, or one that is made here."""
    if given is None:
        build_wasm_kernel.main([])
        return component.COMPONENT
    if not _is_recorded(given):
        raise ReleaseError(f"{given} is not the component that publishing/component.toml names for these sources")
    shutil.copyfile(given, component.COMPONENT)
    component.MADE_FROM.write_text(component.digest_sources())
    return component.COMPONENT


def _is_recorded(file: Path) -> bool:
    if not RECORD.exists() or not file.exists():
        return False
    recorded = tomllib.loads(RECORD.read_text(encoding="utf-8"))
    return recorded == {"made_from": component.digest_sources(), "sha256": _digest(file)}


def build_twice(folder: Path, kernel: Path) -> list[Path]:
    """Build sdist and wheel in two clones, which differ in path, permissions and times; return those of one."""
    made: list[list[Path]] = []
    for name, umask in (("clone", 0o022), ("another/clone", 0o077)):
        clone, out = folder / name, folder / f"{name}-built"
        _run("git", "clone", "--quiet", "--no-hardlinks", ROOT, clone, umask=umask)
        for file in (kernel, component.MADE_FROM):
            shutil.copyfile(file, clone / file.relative_to(ROOT))
        _run(
            sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-t", "wheel", "-d", out, cwd=clone, umask=umask
        )
        made.append(sorted(out.iterdir()))
    for first, second in zip(*made, strict=True):
        if first.read_bytes() != second.read_bytes():
            raise ReleaseError(f"two clones make two different {first.name}")
    return made[0]


def check_wheel(wheel: Path, *, forbidden: list[str]) -> None:
    """Raise ReleaseError if the wheel holds anything but our packages, or names a place of this machine."""
    if wheel.stat().st_size > LARGEST:
        raise ReleaseError(f"{wheel.name} has {wheel.stat().st_size:,} bytes, more than {LARGEST:,}")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = {Path(each).name for each in project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]}
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            path = Path(name)
            if path.parts[0].endswith(".dist-info"):
                continue
            if path.parts[0] not in packages or path.suffix not in _SUFFIXES or re.search(r"(^|/)tests?[_/]", name):
                raise ReleaseError(f"{wheel.name} holds {name}, which does not belong there")
            content = archive.read(name)
            # In the component, the runtime that comes with componentize-py names the home of those who have built it.
            places = forbidden if path.suffix == ".wasm" else [*forbidden, str(Path.home())]
            if found := [place for place in places if place.encode() in content]:
                raise ReleaseError(f"{name} in {wheel.name} names {found[0]}, a place of this machine")


def find_python(version: str) -> str | None:
    """Find an interpreter that is installed here; pyenv's are found too where none of them is chosen."""
    environ = dict(os.environ)
    if shutil.which("pyenv"):
        environ["PYENV_VERSION"] = ":".join(_output("pyenv", "versions", "--bare", "--skip-aliases").split())
    command = [str(_BIN / "uv"), "python", "find", "--no-project", "--no-python-downloads", "--system", version]
    found = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    return found.stdout.strip() if found.returncode == 0 else None


async def try_wheel(python: str, index: Path) -> None:
    """Start the wheel as a newcomer does, by `uvx`, with this interpreter; raise ReleaseError if it does not answer."""
    home = Path(tempfile.mkdtemp(dir=index.parent))
    environ = newcomer(index) | {"HOME": str(home), "UV_PYTHON": python}
    server = StdioServerParameters(command=str(_BIN / "uvx"), args=[DISTRIBUTION, "serve"], cwd=home, env=environ)
    async with Client(server) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        result = await client.call_tool("run", {"command": "sum(range(7))"})
    answer = [block.text for block in result.content if isinstance(block, TextContent)]
    if (tools, answer) != (["run"], ["21"]):
        raise ReleaseError(f"with {python}, the tools are {tools}, and sum(range(7)) is {answer}")


def newcomer(index: Path) -> dict[str, str]:
    """Return the environment of somebody whose index has our wheel; uv takes the libraries that it was tested with."""
    cache = _output(_BIN / "uv", "cache", "dir")
    settings = {name: value for name, value in os.environ.items() if name.startswith(("UV_", "SSL_", "PIP_"))}
    places = {"UV_FIND_LINKS": str(index), "UV_CONSTRAINT": str(ROOT / "requirements.txt"), "UV_CACHE_DIR": cache}
    return {**settings, **places, "PATH": "/usr/bin:/bin"}


def _write_sbom(venv: Path, index: Path) -> None:
    """List what somebody gets who installs the wheel with everything that we have tested it with."""
    uv = _BIN / "uv"
    _run(uv, "venv", "--quiet", "--python", sys.executable, venv)
    _run(uv, "pip", "install", "--quiet", "--python", venv / "bin/python", f"{DISTRIBUTION}[wasm]", env=newcomer(index))
    made = RELEASE / f"{DISTRIBUTION}-{VERSION}.cdx.json"
    _run(
        _BIN / "cyclonedx-py", "environment", "--output-reproducible", "--of", "JSON", "--pyproject",
        ROOT / "pyproject.toml", "-o", made, venv / "bin/python",
    )  # fmt: skip


def read_notes(changelog: str, version: str) -> str:
    """Return the section of a version; nothing if there is none."""
    found = re.search(
        rf"^## \[?{re.escape(version)}(?![\w.]).*?\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL
    )
    return found[1].lstrip() if found else ""


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _run(*words: object, **options: object) -> None:
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL, **options)  # type: ignore[call-overload]


def _output(*words: object) -> str:
    return subprocess.run(
        [str(word) for word in words], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()


def _say(text: str) -> None:
    sys.stderr.write(f"{text} ...\n")


if __name__ == "__main__":
    sys.exit(main())
