"""One configuration file, read into plain values; anything wrong with it raises one ConfigError."""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path
from typing import Protocol

from ot import config
from ot.config.paths import present
from ot.errors import ConfigError

MAX_BYTES = 1_000_000


class Documents(Protocol):
    """Where files are read from."""

    def read(self, file: Path, *, private: bool = False) -> dict[object, object] | None:
        """Return the mapping in a YAML file; None to leave the file out. Raises ConfigError."""

    def exists(self, file: Path) -> bool:
        """True if there is something to read, even if it cannot be read."""


class RememberedFiles:
    """Files as they were when they were first read, so that one configuration can be built from them more than once."""

    def __init__(self) -> None:
        self._read: dict[Path, dict[object, object]] = {}

    def read(self, file: Path, *, private: bool = False) -> dict[object, object]:
        if file not in self._read:
            self._read[file] = read_document(file, private=private)
        return self._read[file]

    def exists(self, file: Path) -> bool:
        return file in self._read or present(file)


def read_document(file: Path, *, private: bool = False) -> dict[object, object]:
    """Return the mapping in a YAML file; a `private` one must be closed to others, and is quoted in no mistake."""
    return parse_document(_read_bytes(file, private=private), file, private=private)


def parse_document(content: bytes, file: Path, *, private: bool = False) -> dict[object, object]:
    """Return the mapping in the content of a YAML file, which mistakes name as `file`."""
    _require_small(file, len(content))
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = content.count(b"\n", 0, exc.start) + 1
        raise ConfigError(f"is not UTF-8 text (line {line})", file=file, fix="save it as UTF-8") from None
    value = config.read_yaml(text, file=file, private=private)  # loaded here: PyYAML costs start-up time
    if value is None:
        return {}
    if not isinstance(value, dict):
        kind = "a list" if isinstance(value, list) else "a single value"
        raise ConfigError(f"holds {kind} where keys are expected", file=file, fix='write lines such as "key: value"')
    return value


def _read_bytes(file: Path, *, private: bool) -> bytes:
    try:
        # Not blocking, so that a named pipe is refused below and not waited for.
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        reason = "links to a file that does not exist" if file.is_symlink() else "does not exist"
        raise ConfigError(reason, file=file, fix="create it or correct its name") from None
    except (OSError, ValueError) as exc:
        raise _unreadable(file, exc) from exc
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise ConfigError("is a folder, not a file", file=file, fix="name the file inside it")
        if not stat.S_ISREG(status.st_mode) and str(file) != os.devnull:
            raise ConfigError("is not a regular file", file=file, fix="copy its content into a file")
        _require_small(file, status.st_size)
        if private:
            require_closed_to_others(file, status)
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            return stream.read(MAX_BYTES)
    except OSError as exc:
        raise _unreadable(file, exc) from exc
    finally:
        os.close(descriptor)


def _unreadable(file: Path, exc: OSError | ValueError) -> ConfigError:
    reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
    return ConfigError(f"cannot be read: {reason}", file=file, fix="check its name and permissions")


def _require_small(file: Path, size: int) -> None:
    if size > MAX_BYTES:
        fix = "move everything that is not configuration elsewhere"
        raise ConfigError(f"is larger than {MAX_BYTES:,} bytes", file=file, fix=fix)


def require_closed_to_others(file: Path, status: os.stat_result) -> None:
    if os.name == "posix" and stat.S_IMODE(status.st_mode) & 0o077:
        fix = f"chmod 600 {shlex.quote(str(file))}"
        raise ConfigError("other users of this machine can read it", file=file, fix=fix)
