"""The way in which OneTool is installed here, and the commands that follow from it."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path

from mcp_core.distribution import DISTRIBUTION
from mcp_core.quick_dataclass import dataclass


class Way(StrEnum):
    """A way of installing it."""

    BUNDLE = "bundle"
    CHECKOUT = "checkout"
    PIP = "pip"
    PIPX = "pipx"
    UV_TOOL = "uv tool"
    UVX = "uvx"


@dataclass(frozen=True, slots=True)
class Installation:
    """How it was installed, and from where: a `folder` or a `file` of the person's own, or else from an index."""

    way: Way
    folder: Path | None = None
    file: str = ""

    @property
    def from_index(self) -> bool:
        return self.folder is None and not self.file


def find_installation() -> Installation:
    """Look at what those who install programs leave beside them."""
    import json  # noqa: PLC0415 - start-up path: only who prints a remedy needs these
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415
    from urllib.parse import unquote, urlsplit  # noqa: PLC0415

    try:
        origin = distribution(DISTRIBUTION).read_text("direct_url.json")
    except PackageNotFoundError:  # it runs from its source, and is not installed at all
        return Installation(Way.CHECKOUT, Path(__file__).parents[2])
    said = json.loads(origin or "{}")
    folder = Path(unquote(urlsplit(said["url"]).path)) if "dir_info" in said else None
    file = said["url"] if said and folder is None else ""
    if folder is not None and said["dir_info"].get("editable"):
        return Installation(Way.CHECKOUT, folder)
    return Installation(_find_way(Path(sys.prefix)), folder, file)


def _find_way(prefix: Path) -> Way:
    import json  # noqa: PLC0415 - as above

    if (prefix / "uv-receipt.toml").exists():
        return Way.UV_TOOL
    if (prefix / "pipx_metadata.json").exists():
        return Way.PIPX
    if prefix.parent.name in ("archive-v0", "environments-v2"):  # in uv's cache
        return Way.UVX
    try:
        manifest = json.loads((prefix.parent / "manifest.json").read_bytes())
    except (OSError, ValueError):
        return Way.PIP
    return Way.BUNDLE if isinstance(manifest, dict) and "manifest_version" in manifest else Way.PIP


def install_command(requirement: str, *options: str) -> str:
    """Return the command that installs a requirement beside OneTool, in whatever way that is installed here."""
    import shlex  # noqa: PLC0415 - as above
    from importlib.util import find_spec  # noqa: PLC0415

    name = requirement.partition("[")[0]
    words = [requirement]
    found = find_installation()
    if name == DISTRIBUTION and found.file:  # no index has it
        words = [f"{requirement} @ {found.file}"]
    elif name == DISTRIBUTION and found.folder is not None:
        words = [f"{found.folder}{requirement.removeprefix(name)}"]
        words = ["--editable", *words] if found.way is Way.CHECKOUT else words
    how = [sys.executable, "-m", "pip", "install"]
    if found.way is Way.PIPX:
        how = ["pipx", "runpip", DISTRIBUTION, "install"]
    elif find_spec("pip") is None:
        how = ["uv", "pip", "install", "--python", sys.executable]
    return shlex.join([*how, *options, *words])


def upgrade_command(found: Installation) -> str:
    """Return the one line for a shell that brings the newest version; nothing where there is none."""
    import shlex  # noqa: PLC0415 - as above

    if found.file or found.way is Way.BUNDLE:
        return ""
    pull = ""
    if found.folder is not None and (found.folder / ".git").exists():
        pull = shlex.join(["git", "-C", str(found.folder), "pull", "--ff-only"]) + " && "
    ways = {
        Way.CHECKOUT: shlex.join(["make", "-C", str(found.folder), "setup"]),
        Way.PIPX: f"pipx upgrade {DISTRIBUTION}",
        Way.UV_TOOL: f"uv tool upgrade {DISTRIBUTION}",
        Way.UVX: f"uvx --refresh-package {DISTRIBUTION} {DISTRIBUTION}@latest --version",
    }
    return pull + (ways.get(found.way) or install_command(DISTRIBUTION, "--upgrade"))
