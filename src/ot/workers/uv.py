"""Finding `uv`, and the part of the environment that it and workers need; nothing else of the server's reaches them."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path

_PASSED = frozenset({
    "HOME", "USER", "LOGNAME", "PATH", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
    # Windows
    "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "USERNAME", "APPDATA", "LOCALAPPDATA",
    "PROGRAMDATA", "PROGRAMFILES",
})  # fmt: skip
_PASSED_FAMILIES = ("LC_", "XDG_")
_OF_UV = ("UV_", "NETRC", "GIT_SSL_", "SSH_AUTH_SOCK")  # where packages come from, which may be a private index


def worker_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What every worker gets: home, language, certificates, proxies."""
    return {name: value for name, value in environ.items() if _passes(name.upper())}


def uv_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What uv gets besides: its own settings, which may hold the password of an index and are not for extensions."""
    own = {name: value for name, value in environ.items() if name.upper().startswith(_OF_UV)}
    # Our own interpreter last: one that fits need not be downloaded where the PATH has none.
    interpreter = Path(sys.base_prefix) / ("bin" if os.name == "posix" else "")
    path = os.pathsep.join(filter(None, (environ.get("PATH"), str(interpreter))))
    return worker_environment(environ) | own | {"PATH": path}


def find_uv(environ: Mapping[str, str]) -> Path | None:
    """The uv that runs us, that of our own environment, that on the PATH, or one where installers put it."""
    return next((candidate for candidate in _candidates(environ) if os.access(candidate, os.X_OK)), None)


def _candidates(environ: Mapping[str, str]) -> Iterator[Path]:
    if environ.get("UV"):
        yield Path(environ["UV"])  # set by `uv run` and `uvx`
    name = f"uv{sysconfig.get_config_var('EXE') or ''}"
    yield Path(sysconfig.get_path("scripts")) / name
    found = shutil.which("uv", path=environ.get("PATH", ""))
    if found:
        yield Path(found)
    # A desktop application starts us with a PATH that has none of these.
    home = Path(environ.get("HOME") or environ.get("USERPROFILE") or Path.home())
    for folder in (home / ".local/bin", home / ".cargo/bin", Path("/opt/homebrew/bin"), Path("/usr/local/bin")):
        yield folder / name


def _passes(name: str) -> bool:
    return name in _PASSED or name.startswith(_PASSED_FAMILIES)
