"""The client's side: asks every running server of this person, by one word, and answers the questions of runs."""

from __future__ import annotations

import json
import re
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from mcp_core.atomic_write import open_folder
from mcp_core.json_types import Json, list_of
from onetool.control import ENDING, QUESTIONS, SETTLE, running_folder
from onetool.http.listening import find_served
from ot.clients.caller import Choice, Some
from ot.errors import ConfigError
from ot.run.client_requests import OpenQuestion, Settled, encode_choice
from ot_system.socket_folders import socket_folder

_PATIENCE = 30.0  # seconds for an answer: a busy server's turn, and a configuration that is read again
_NAME = re.compile(r"(?P<pid>\d+)-[0-9a-f]+\.sock")


@dataclass(frozen=True, slots=True)
class ControlReply:
    """The answer of one running server; `error` is why there is none."""

    pid: int
    project: str
    over: str
    since: float
    answer: Json = None
    error: str = ""

    def __str__(self) -> str:
        began = datetime.fromtimestamp(self.since, tz=UTC).astimezone().strftime("%Y-%m-%d %H:%M")
        return f"server {self.pid} of {self.project} ({self.over}, since {began})"


def ask_running(home: Path, word: str, *, patience: float = _PATIENCE) -> list[ControlReply]:
    """Ask all running servers of a person at once; raises ConfigError if others can write to their folder."""
    folder = running_folder(home)
    if not folder.is_dir():
        return []
    with open_folder(folder) as opened, socket_folder(opened, folder) as near:
        try:
            served = find_served(near, ENDING)
        except ValueError as error:
            raise ConfigError("belongs to others, or others can write to it", file=folder, fix="remove it") from error
        if not served:
            return []
        with ThreadPoolExecutor(16) as threads:
            told = list(threads.map(partial(_ask, word=word, patience=patience), served))
    return sorted((each for each in told if each is not None), key=lambda each: (each.project, each.since))


def find_questions(home: Path, *, patience: float = _PATIENCE) -> list[OpenQuestion]:
    """Return the open questions of runs in all running servers, the oldest first; raises ConfigError."""
    told = [each for reply in ask_running(home, QUESTIONS, patience=patience) for each in list_of(reply.answer)]
    return sorted(map(OpenQuestion.decoded, told), key=lambda each: each.since)


def settle_question(home: Path, run: str, name: str, choice: Choice | Some | None, *, place: str) -> Settled | None:
    """Answer a question, in whichever server its run is; None if that has ended. Raises ConfigError."""
    answer = {"run": run, "name": name, "choice": encode_choice(choice), "in": place}
    for reply in ask_running(home, f"{SETTLE} {json.dumps(answer)}"):
        match reply.answer:
            case [bool(counts), str(text)]:
                return Settled(counts, text)
    return None


def _ask(path: Path, *, word: str, patience: float) -> ControlReply | None:
    name = _NAME.fullmatch(path.name)
    if name is None:  # somebody else's
        return None
    try:
        since = path.lstat().st_mtime
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(patience)
            connection.connect(str(path))
            connection.sendall(word.encode())
            line = b"".join(iter(partial(connection.recv, 65536), b""))
    except TimeoutError:
        return ControlReply(int(name["pid"]), "?", "?", since, error=f"did not answer within {patience:g} s")
    except OSError:
        return None
    with suppress(ValueError, TypeError):
        return ControlReply(**json.loads(line))
    return None
