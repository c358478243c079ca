"""Messages to topics: each is appended to its topic's file as a YAML document, whole, whoever else writes there.

Only files that the configuration names are written to. Servers of one person may append to the same file at the same
time: a lock on the file puts them in order, and a document that cannot be written whole is taken back.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path

from mcp_core.atomic_write import open_folder
from mcp_core.file_lock import lock
from ot.config.models import TopicSettings
from ot.errors import ToolError
from ot.files.changes import alone, folder_mark, note_change, note_result

MAX_MESSAGE = 1_000_000  # characters
PATIENCE = 5.0  # seconds to wait for the lock


def find_topic(topics: Sequence[TopicSettings], topic: str) -> TopicSettings | None:
    return next((each for each in topics if fnmatchcase(topic, each.pattern)), None)


def append_message(file: Path, topic: str, message: str, *, now: datetime | None = None) -> None:
    """Append a message to a file that need not exist yet; blocking. Raises ToolError and leaves the file as it was."""
    if len(message) > MAX_MESSAGE:
        raise ToolError(f"the message has {len(message):,} characters; at most {MAX_MESSAGE:,} are allowed")
    document = write_document(topic, message, now or datetime.now(UTC))
    try:
        with alone():
            _make_folder(file.parent)
        with open_folder(file.parent) as folder, alone():
            number = note_change(folder, file.name, Path(os.path.realpath(file.parent), file.name))
            _write(file, document)
            note_result(number, folder, file.name)
    except OSError as error:
        raise ToolError(f"cannot write to {file}: {error.strerror or error}") from error


def _make_folder(folder: Path) -> None:
    """Make a folder and those above it that are missing, and note each."""
    if not folder.is_dir():
        _make_folder(folder.parent)
        with open_folder(folder.parent) as above:
            note_change(above, folder.name, Path(os.path.realpath(folder.parent), folder.name), folder_mark())
            folder.mkdir(exist_ok=True)


def _write(file: Path, document: bytes) -> None:
    """Append a document under the lock of its file; raises ToolError or OSError."""
    # Not blocking, so that a named pipe is refused below and not waited for.
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(file, flags, 0o600)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ToolError(f"{file} is not a file; the topics of the configuration name files")
        if not lock(descriptor, patience=PATIENCE):
            raise ToolError(f"another program holds {file}; try again")
        _append(descriptor, document)
    finally:
        os.close(descriptor)  # which lets the lock go


def write_document(topic: str, message: str, now: datetime) -> bytes:
    """One YAML document; text of several lines stays readable."""
    import yaml  # noqa: PLC0415 - most servers never send a message, and PyYAML takes a while to load

    class Dumper(yaml.SafeDumper):
        """A separate class, so that its way of writing text affects no other dumper."""

    def represent(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
        # YAML knows more line breaks than Python does, and would fold them.
        plain = all(sign.isprintable() or sign == "\n" for sign in text)
        style = ("|" if "\n" in text else None) if plain else '"'
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    Dumper.add_representer(str, represent)
    fields = {"topic": topic, "time": now.isoformat(timespec="milliseconds"), "message": message}
    text = yaml.dump(fields, Dumper=Dumper, sort_keys=False, allow_unicode=True, explicit_start=True, width=2**31 - 1)
    return str(text).encode("utf-8", "backslashreplace")


def _append(descriptor: int, document: bytes) -> None:
    """Append all of it or nothing; the last line of the file may lack its line break."""
    size = os.fstat(descriptor).st_size
    if size and os.pread(descriptor, 1, size - 1) != b"\n":
        document = b"\n" + document
    try:
        view = memoryview(document)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    except OSError:
        os.ftruncate(descriptor, size)
        raise
