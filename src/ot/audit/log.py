"""The writer of the audit log: one chain for each engine, appended to by plain writes that outlive a `kill -9`.

A call with side effects is one line before it begins and one after it has ended, so that one which was in flight when
its process died is seen to have begun. The second is written a moment later, with those of other calls, so that code
which goes on with the answer does not wait for it, and at the latest with the next line. Nothing is made or opened
before the first line. A call is never kept from being made because it cannot be logged: that is reported in the log of
the server once, and in `problem`; the next line that can be written says how many are missing before it.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import lru_cache
from hashlib import sha256
from json.encoder import encode_basestring_ascii
from pathlib import Path

from mcp_core.distribution import VERSION
from mcp_core.json_types import JsonObject
from mcp_core.private_files import make_private
from ot.audit import chain
from ot.audit.chain import DAY, FILE_NAME, MOST_FILES
from ot.clients.caller import Caller
from ot.config.loader import LoadedConfig
from ot.config.models import AuditSettings
from ot.config.paths import state_folder
from ot.config.personal import PEOPLE_FOLDER
from ot.effects import Effect
from ot.logs import write_log
from ot.store.forms import FORM
from ot.store.opening import Backend, Store
from ot.store.owned_files import OwnedFile, prune
from ot.store.parts import AUDIT_ENDING, AUDIT_FOLDER, AuditRows
from ot.tasks.owned_tasks import soon
from ot.text.redaction import Redactor
from ot.values import Arguments, ToolValue
from ot_kernel.values import UnsupportedValueError, encode

LOCAL = "local"  # the command line of this machine; clients have a connection as well
LOOK_INTERVAL = 1.0  # seconds in which calls may begin in a file that somebody has removed
LARGEST_FILE = 4 * 1024**2  # bytes
_LONGEST_TEXT = 300  # characters


class AuditLog:
    """Appends lines; for one thread."""

    def __init__(  # noqa: PLR0913 - its places and bounds, of which a test does without most
        self,
        folder: Path,
        settings: AuditSettings,
        *,
        project: Path,
        redactor: Redactor,
        rows: AuditRows,
        person: str = LOCAL,
        largest_file: int = LARGEST_FILE,
        clock: Callable[[], float] = time.monotonic,
        later: Callable[[Callable[[], None]], object] | None = None,
    ) -> None:
        """`later` calls a function in a moment; without it every line is written at once.

        `rows` get every line as well, for those who read what all replicas have written.
        """
        self.folder = folder
        self._rows = rows
        self.problem = ""  # why lines are being lost, if so
        self.lost = 0  # lines
        self._settings = settings
        self._project = project
        self.redactor = redactor
        self._person = person
        self._largest = largest_file
        self._clock = clock
        self._next_look = 0.0
        self._later = later
        self._flushing = False  # in a moment
        self._ended: list[tuple[float, int, str, float]] = []  # when which calls have ended and how, to be written
        self._word = lru_cache(256)(self._word_begin)  # most calls begin as others did
        self._file = OwnedFile(folder, AUDIT_ENDING)
        self._number = 0  # of the last line
        self._previous = ""  # its digest
        self._unsaid = 0  # lost lines that no line has mentioned

    def begin(self, tool: str, effect: Effect, caller: Caller, *, depth: int, allowed_by: str, given: str) -> int:
        """Say that a call begins; return the number of the line, 0 if it could not be written."""
        what = self._word(self.redactor.known, tool, effect, caller.client, caller.memory.connection, allowed_by)
        fields = _stamp(f'"event":"{chain.BEGIN}",{what},"run":{caller.run},"depth":{depth},{given}')
        return self._append([*self._take_ended(), fields], hasty=True)

    def end(self, begun: int, outcome: str, seconds: float) -> None:
        """Say how the call ended that began in this line."""
        self._ended.append((time.time(), begun, outcome, seconds))
        if self._later is None:
            self.flush()
        elif not self._flushing:
            self._flushing = True
            self._later(self.flush)

    def flush(self) -> None:
        """Write what is still to be written."""
        self._flushing = False
        if lines := self._take_ended():
            self._append(lines)

    def _take_ended(self) -> list[str]:
        """Return the lines about calls that have ended, which nobody has written yet."""
        lines = []
        for when, begun, outcome, seconds in self._ended:
            how = encode_basestring_ascii(outcome[:_LONGEST_TEXT])
            what = f'"event":"{chain.END}","call":{begun},"outcome":{how}'
            lines.append(f'"time":{when:.3f},{what},"ms":{seconds * 1000:.3f}')
        self._ended.clear()
        return lines

    def asked(self, begun: int, answer: str) -> None:
        """Say what was answered to the tool's own question, in the call that began in this line."""
        self._append_now(chain.word({"event": chain.ASKED, "call": begun, "answer": self._clean(answer)}))

    def refused(self, tool: str, caller: Caller, *, depth: int, refused_by: str, given: str) -> None:
        """Say that a call was not let begin."""
        what = self._describe(tool, caller.client, caller.memory.connection) | {"refused_by": self._clean(refused_by)}
        fields = chain.word({"event": chain.REFUSED, **what, "run": caller.run, "depth": depth})
        self._append_now(f"{fields},{given}")

    def close(self) -> None:
        """Write the last line and let go of the file; nothing happens where there is none."""
        self.flush()
        if self._file.descriptor is not None:
            self._append_now(chain.word({"event": chain.CLOSE}))
        self._file.close()

    # -- lines

    def _describe(self, tool: str, client: str, connection: int) -> JsonObject:
        who: JsonObject = {"client": LOCAL}
        if client:  # whatever a client calls itself, only one with a connection is a client
            who = {"client": self._clean(client), "connection": connection}
        if self._person != LOCAL:
            who["person"] = self._person
        return {"tool": self._clean(tool), **who}

    def _word_begin(
        self, _known: frozenset[str], tool: str, effect: Effect, client: str, connection: int, allowed_by: str
    ) -> str:
        allowed = {"allowed_by": self._clean(allowed_by)} if allowed_by else {}
        return chain.word({**self._describe(tool, client, connection), "effect": effect, **allowed})

    def _clean(self, text: str) -> str:
        return self.redactor.text(text)[:_LONGEST_TEXT]

    def _append_now(self, fields: str) -> None:
        self.flush()
        self._append([_stamp(fields)])

    def _append(self, lines: Sequence[str], *, hasty: bool = False) -> int:
        """Write lines; a hasty one, for which a call waits, looks after the file once a second only."""
        try:
            full = self._file.descriptor is None or self._file.size >= self._largest
            if full or not hasty or self._clock() >= self._next_look:
                self._make_room()
            self._write(lines)
        except OSError as error:
            reason = error.strerror or str(error)
            if self.problem != reason:
                write_log(logging.WARNING, "audit.write", folder=str(self.folder), error=reason)
            self.problem = reason
            self.lost += len(lines)
            self._unsaid += len(lines)
            return 0
        self.problem = ""
        return self._number

    def _write(self, lines: Sequence[str]) -> None:
        sealed, number, previous = chain.seal(lines, after=self._number, previous=self._previous, lost=self._unsaid)
        begins = self._file.size
        self._file.append(sealed)
        with suppress(OSError):  # too many wait; what is missing is seen there, and is in the file
            self._rows.add(self._file.name, begins, sealed)
        self._number, self._previous, self._unsaid = number, previous, 0

    # -- files

    def _make_room(self) -> None:
        """Open the first file, or the next one where this one is full or somebody has removed it."""
        self._next_look = self._clock() + LOOK_INTERVAL
        if self._file.descriptor is None:
            self._open_next({})
        elif self._file.is_gone():
            self._open_next({"because": chain.REMOVED})
        elif self._file.size >= self._largest:
            self._open_next({"because": chain.FULL})

    def _open_next(self, reason: JsonObject) -> None:
        make_private(self.folder)
        keep_for, max_size = self._settings.keep_days * DAY, self._settings.max_size
        prune(self.folder, FILE_NAME.fullmatch, keep_for, max_size - self._largest, MOST_FILES)
        self._rows.prune(keep_for=keep_for, most_bytes=max_size)
        self._file.open_next()
        head: JsonObject = {
            "event": chain.START if self._file.part == 1 else chain.CONTINUED,
            FORM: chain.FORM_OF_LINES,
            "chain": self._file.chain,
            "part": self._file.part,
            **reason,
            "pid": os.getpid(),
            "version": VERSION,
            "project": self._clean(str(self._project)),
        }
        try:
            self._write([_stamp(chain.word(head))])
        except OSError:
            self._file.take_back()
            raise


def _stamp(fields: str) -> str:
    return f'"time":{time.time():.3f},{fields}'


MOST_NAMES = 30
LONGEST_NAME = 100  # characters
_PLAIN = 10**18

_as_json = json.JSONEncoder(separators=(",", ":"), sort_keys=True).encode


def summarize(arguments: Arguments, redactor: Redactor) -> str:
    """Describe arguments by two fields of a line: sizes in bytes of JSON by name, and the SHA-256 of all of them as one
    JSON object, keys in order. Known secrets are masked first, so that not even the digest depends on them.
    """
    mask = redactor.text if redactor.active else str
    whole: list[str] = []
    sizes: list[str] = []
    unnamed = 0
    for name in sorted(arguments, key=str):
        shown, text = mask(str(name)), mask(_write(arguments[name]))
        whole.append(f"{encode_basestring_ascii(shown)}:{text}")
        if len(sizes) < MOST_NAMES:
            sizes.append(f"{encode_basestring_ascii(shown[:LONGEST_NAME])}:{len(text)}")
        else:
            unnamed += len(text)
    if unnamed:
        sizes.append(f"{encode_basestring_ascii('…')}:{unnamed}")
    digest = sha256(f"{{{','.join(whole)}}}".encode()).hexdigest()
    return f'"arguments":{{{",".join(sizes)}}},"digest":"{digest}"'


def _write(value: ToolValue) -> str:
    if type(value) is str:  # most are, and to build an encoder takes longer than this
        return encode_basestring_ascii(value)
    if type(value) is int and -_PLAIN < value < _PLAIN:
        return repr(value)
    with suppress(TypeError, ValueError, RecursionError):  # bytes, dates and the like, or a number that JSON lacks
        return _as_json(value)
    try:
        return _as_json(encode(value))
    except (UnsupportedValueError, TypeError, ValueError, RecursionError):
        return _as_json(type(value).__name__)


@contextmanager
def open_audit(loaded: LoadedConfig, store: Store) -> Iterator[AuditLog | None]:
    """Open the log of calls with side effects, unless the configuration switches it off. Its file is made late."""
    if not loaded.config.audit.enabled:
        yield None
        return
    log = AuditLog(
        state_folder(loaded.home) / AUDIT_FOLDER,
        loaded.config.audit,
        project=loaded.project,
        redactor=loaded.redactor,
        person=loaded.principal,
        rows=store.audit,
        later=soon,
    )
    with closing(log):
        yield log


def audits_of_everybody(loaded: LoadedConfig, backend: Backend, *, person: str = "") -> Sequence[AuditRows]:
    """Return the audit logs of everybody in a team, as `Backend.audits_of_everybody` does."""
    state = state_folder(loaded.machine_home)
    theirs = (state / PEOPLE_FOLDER).glob(str(state_folder(Path("*")) / AUDIT_FOLDER))
    return backend.audits_of_everybody([state / AUDIT_FOLDER, *theirs], person=person)
