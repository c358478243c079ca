"""One configuration file, read into plain values; anything wrong with it raises one ConfigError."""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path

from ot.errors import ConfigError

MAX_BYTES = 1_000_000


def read_document(file: Path, *, private: bool = False) -> dict[object, object]:
    """Return the mapping in a YAML file; an empty file is an empty mapping.

    A `private` file must be closed to other users, and no mistake quotes a value of it.
    """
    text = _decode(_read_bytes(file, private=private), file)
    from ot.config.yaml_reader import read_yaml  # noqa: PLC0415 - PyYAML costs start-up time, and there may be no file

    value = read_yaml(text, file=file, private=private)
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
        _require_plain_file(file, status)
        if private:
            _require_closed_to_others(file, status)
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            return stream.read(MAX_BYTES)
    except OSError as exc:
        raise _unreadable(file, exc) from exc
    finally:
        os.close(descriptor)


def _unreadable(file: Path, exc: OSError | ValueError) -> ConfigError:
    reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
    return ConfigError(f"cannot be read: {reason}", file=file, fix="check its name and permissions")


def _require_plain_file(file: Path, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise ConfigError("is a folder, not a file", file=file, fix="name the file inside it")
    if not stat.S_ISREG(status.st_mode) and str(file) != os.devnull:
        raise ConfigError("is not a regular file", file=file, fix="copy its content into a file")
    if status.st_size > MAX_BYTES:
        raise ConfigError(
            f"is larger than {MAX_BYTES:,} bytes", file=file, fix="move everything that is not configuration elsewhere"
        )


def _require_closed_to_others(file: Path, status: os.stat_result) -> None:
    if os.name == "posix" and stat.S_IMODE(status.st_mode) & 0o077:
        raise ConfigError(
            "other users of this machine can open it", file=file, fix=f"chmod 600 {shlex.quote(str(file))}"
        )


def _decode(content: bytes, file: Path) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = content.count(b"\n", 0, exc.start) + 1
        raise ConfigError(f"is not UTF-8 text (line {line})", file=file, fix="save it as UTF-8") from None
