"""The part of our environment that other programs get: what every program needs, and nothing that is ours alone."""

from __future__ import annotations

from collections.abc import Mapping

_PASSED = frozenset({
    "HOME", "USER", "LOGNAME", "PATH", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
    # Windows
    "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "USERNAME", "APPDATA", "LOCALAPPDATA",
    "PROGRAMDATA", "PROGRAMFILES",
})  # fmt: skip
_PASSED_FAMILIES = ("LC_", "XDG_")


def plain_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Home, language, certificates, proxies; no keys, no settings of ours."""
    return {name: value for name, value in environ.items() if _passes(name.upper())}


def _passes(name: str) -> bool:
    return name in _PASSED or name.startswith(_PASSED_FAMILIES)
