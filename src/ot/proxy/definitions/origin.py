"""Where a server comes from: from files of this machine, or from elsewhere each time that it is started or reached."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ot.config.models import ServerSettings

_FETCH = frozenset({"npx", "pnpx", "bunx", "uvx", "dnx", "ssh", "mcp-remote", "mcp-proxy", "supergateway"})
"""Programs that fetch what they run, or pass on what a server elsewhere says."""

_FETCH_WITH: dict[str, frozenset[str]] = {
    "npm": frozenset({"exec", "x"}),
    "pnpm": frozenset({"dlx"}),
    "yarn": frozenset({"dlx"}),
    "bun": frozenset({"x"}),
    "pipx": frozenset({"run"}),
    "uv": frozenset({"tool"}),
    "docker": frozenset({"run", "exec"}),
    "podman": frozenset({"run", "exec"}),
    "nerdctl": frozenset({"run", "exec"}),
    "kubectl": frozenset({"run", "exec"}),
    "nix": frozenset({"run", "shell"}),
}
"""Programs that do so when one of these words follows."""

_TAKE_ADDRESSES = frozenset({"deno", "bun", "uv", "go", "jbang"})
"""Programs that do so when an address or a package of an index follows."""

_ADDRESS = re.compile(r"(?:https?|npm|jsr|git\+\w+):.|[\w.-]+\.\w+/[^@]+@")
_BETWEEN_WORDS = re.compile(r"[\s;&|()`'\"<>$]+")


def is_fetched(settings: ServerSettings) -> bool:
    """True for a url, and for a command that fetches a program, as far as its words show that.

    All words count, wherever they stand: a runner is often started by `env`, `sh -c` or another program.
    """
    if settings.command is None:
        return True
    words = [word for text in (settings.command, *settings.args) for word in _BETWEEN_WORDS.split(text)]
    return any(_fetches(word, words[place + 1 :]) for place, word in enumerate(words))


def _fetches(word: str, following: Sequence[str]) -> bool:
    program = re.sub(r".*/|(?<=.)@.*|\.(?:exe|cmd)$", "", word)  # without its folder and its version
    if program in _FETCH or not _FETCH_WITH.get(program, frozenset()).isdisjoint(following):
        return True
    return program in _TAKE_ADDRESSES and any(map(_ADDRESS.match, following))
