"""The distribution that contains all our packages; `onetool` on PyPI is someone else's."""

from __future__ import annotations

DISTRIBUTION = "onetool-run"
VERSION = "0.1.0"  # the version of all of them; what builds the distribution reads it here


def with_extra(extra: str) -> str:
    """Return what to install for the libraries of an extra, such as `voice`."""
    return f"{DISTRIBUTION}[{extra}]"


def install_command(requirement: str, *options: str) -> str:
    """Return the command that installs a requirement beside OneTool, in whatever way that is installed here."""
    import json  # noqa: PLC0415 - start-up path: only who prints a remedy needs these
    import shlex  # noqa: PLC0415
    import sys  # noqa: PLC0415
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415
    from importlib.util import find_spec  # noqa: PLC0415
    from pathlib import Path  # noqa: PLC0415
    from urllib.parse import unquote, urlsplit  # noqa: PLC0415

    name = requirement.partition("[")[0]
    words = [requirement]
    try:
        origin = distribution(DISTRIBUTION).read_text("direct_url.json") if name == DISTRIBUTION else None
    except PackageNotFoundError:  # it runs from its source, and is not installed at all
        origin = None
    if origin is not None:  # no index has it: it came from a folder or a file of the person's own
        said = json.loads(origin)
        words = [f"{requirement} @ {said['url']}"]
        if "dir_info" in said:
            words = [unquote(urlsplit(said["url"]).path) + requirement.removeprefix(name)]
            words = ["--editable", *words] if said["dir_info"].get("editable") else words
    how = [sys.executable, "-m", "pip", "install"]
    if (Path(sys.prefix) / "pipx_metadata.json").exists():
        how = ["pipx", "runpip", DISTRIBUTION, "install"]
    elif find_spec("pip") is None:
        how = ["uv", "pip", "install", "--python", sys.executable]
    return shlex.join([*how, *options, *words])
