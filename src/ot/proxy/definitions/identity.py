"""The identity of a server, a digest of how it is reached, and its origin: files of this machine, or elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

from ot.config.server_settings import ServerSettings
from ot.registry.open_results import digest_of


def digest_of_configuration(name: str, settings: ServerSettings, *, project: Path) -> str:
    """Return a digest of everything that may change what the server offers; secrets are in it only as a digest."""
    described = {name: vars(settings)[name] for name in ("command", "args", "env", "url", "headers")}
    return digest_of(name, described, _folder(settings, project))


def digest_of_place(name: str, settings: ServerSettings, *, project: Path) -> str:
    """Return a digest of where the server is; a new token or other variables do not change it."""
    return digest_of(name, settings.command, settings.args, settings.url, _folder(settings, project))


def working_folder(settings: ServerSettings, project: Path) -> Path:
    return settings.cwd or project


def _folder(settings: ServerSettings, project: Path) -> str:
    return "" if settings.command is None else str(working_folder(settings, project))


_FETCH = frozenset({"npx", "pnpx", "bunx", "uvx", "dnx", "ssh", "mcp-remote", "mcp-proxy", "supergateway"})
"""Programs that fetch what they run, or pass on what a server elsewhere says."""

_FETCH_WITH: dict[str, tuple[str, ...]] = {
    "npm": ("exec", "x"), "pnpm": ("dlx",), "yarn": ("dlx",), "bun": ("x",), "pipx": ("run",), "uv": ("tool",),
    "nix": ("run", "shell"), **dict.fromkeys(("docker", "podman", "nerdctl", "kubectl"), ("run", "exec")),
}  # fmt: skip
"""Programs that do so when one of these words follows."""

_TAKE_ADDRESSES = frozenset({"deno", "bun", "uv", "go", "jbang"})
"""Programs that do so when an address or a package of an index follows."""

_ADDRESS = re.compile(r"(?:https?|npm|jsr|git\+\w+):.|[\w.-]+\.\w+/[^@]+@")
_BETWEEN_WORDS = re.compile(r"[\s;&|()`'\"<>$]+")


def is_fetched(settings: ServerSettings) -> bool:
    """True for a url, and for a command that fetches a program, as far as its words show that."""
    # All words count, wherever they stand: a runner is often started by `env`, `sh -c` or another program.
    if settings.command is None:
        return True
    words = [word for text in (settings.command, *settings.args) for word in _BETWEEN_WORDS.split(text)]
    for place, word in enumerate(words):
        program = re.sub(r".*/|(?<=.)@.*|\.(?:exe|cmd)$", "", word)  # without its folder and its version
        following = words[place + 1 :]
        if program in _FETCH or not set(following).isdisjoint(_FETCH_WITH.get(program, ())):
            return True
        if program in _TAKE_ADDRESSES and any(map(_ADDRESS.match, following)):
            return True
    return False
