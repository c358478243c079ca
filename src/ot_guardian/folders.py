"""Removing folders in which somebody else's code has worked."""

from __future__ import annotations

import os


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
