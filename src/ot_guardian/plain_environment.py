"""The part of the server's environment that other programs get: what every program needs, and no secrets."""

from __future__ import annotations

from collections.abc import Mapping

_PASSED = frozenset({
    "HOME", "USER", "LOGNAME", "PATH", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
})  # fmt: skip
_PASSED_FAMILIES = ("LC_", "XDG_")


def plain_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return home, language, certificates and proxies; no keys, no settings of the server."""
    return {name: value for name, value in environ.items() if _passes(name.upper())}


def _passes(name: str) -> bool:
    return name in _PASSED or name.startswith(_PASSED_FAMILIES)
