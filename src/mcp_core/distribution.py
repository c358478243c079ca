"""The distribution that contains all our packages; `onetool` on PyPI is someone else's."""

from __future__ import annotations

DISTRIBUTION = "onetool-run"


def installed_version() -> str:
    """Return the version of what is installed."""
    from importlib.metadata import version  # noqa: PLC0415 - start-up path: 20 ms, and most starts show none

    return version(DISTRIBUTION)


def with_extra(extra: str) -> str:
    """Return what to install for the libraries of an extra, such as `voice`."""
    return f"{DISTRIBUTION}[{extra}]"
