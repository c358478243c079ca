"""The distribution that contains all our packages; `onetool` on PyPI is someone else's."""

from __future__ import annotations

DISTRIBUTION = "onetool-run"
VERSION = "0.1.0"  # the version of all of them; what builds the distribution reads it here


def with_extra(extra: str) -> str:
    """Return what to install for the libraries of an extra, such as `voice`."""
    return f"{DISTRIBUTION}[{extra}]"
