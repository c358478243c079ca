"""The children, the parent and the streams of a process, and the environment that it hands on."""

from __future__ import annotations

import os

import ot_system
from ot_system import adopt_orphans, children_of, kill

TYPE_CHECKING = False  # typing itself takes longer to import than all of a guardian
if TYPE_CHECKING:
    from collections.abc import Container, Mapping
else:
    pass  # its enumerations take as long to build as an interpreter to start

__all__ = [
    "adopt_orphans", "children_of", "clear_folder", "end_children", "end_with_parent", "let_go_of", "plain_environment",
]  # fmt: skip


def end_children(keep: Container[int]) -> None:
    """Kill all children of this process but these, and theirs as they are adopted; for a process with one thread."""
    immune: set[int] = set()
    while children := [pid for pid in children_of(os.getpid()) if pid not in keep and pid not in immune]:
        for pid in children:
            if kill(pid):
                os.waitpid(pid, 0)
            else:
                immune.add(pid)


def end_with_parent() -> None:
    """Have this process killed when its parent ends; for the child of a guardian, which may be killed itself."""
    ot_system.end_with_parent(os.getppid())


def let_go_of(*streams: int) -> None:
    """Put nothing in the place of these descriptors, so that they end when others end them."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in streams:
        os.dup2(nothing, descriptor)
    os.close(nothing)


def clear_folder(place: str | os.PathLike[str]) -> None:
    """Remove a folder and everything in it; what cannot be removed is left.

    Folders inside are moved to the top before they are emptied: nested ten thousand deep, no path would lead to the
    last, and no recursion either.
    """
    folder = os.fspath(place)
    token, count, waiting = os.urandom(8).hex(), 0, [folder]
    while waiting:
        current = waiting.pop()
        try:
            os.chmod(current, 0o700)  # code may have made one that nobody can enter
            for entry in list(os.scandir(current)):
                if not entry.is_dir(follow_symlinks=False):
                    os.unlink(entry.path)
                    continue
                os.chmod(entry.path, 0o700)
                count += 1
                waiting.append(os.path.join(folder, f".{token}-{count}"))
                os.rename(entry.path, waiting[-1])
            if current != folder:
                os.rmdir(current)
        except OSError:
            continue
    try:
        os.rmdir(folder)
    except OSError:
        pass


_PASSED = frozenset({
    "HOME", "USER", "LOGNAME", "PATH", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
})  # fmt: skip


def plain_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return home, language, certificates and proxies; no keys, no settings of the server."""
    names = [name for name in environ if name.upper() in _PASSED or name.upper().startswith(("LC_", "XDG_"))]
    return {name: environ[name] for name in names}
