"""What an older OneTool left is read as it was meant; what a newer one left, or nobody can read, counts as absent."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from mcp_core.json_types import JsonObject
from ot.audit.chain import seal, word
from ot.audit.reading import AuditEntry, Finding, find_chains, walk
from ot.config.models import JournalSettings
from ot.config.server_settings import OAuthSettings
from ot.errors import RunNotResumableError
from ot.journal.journal import Journal
from ot.proxy.authorisation.login import open_login
from ot.proxy.definitions.pins import DefinitionCache, Offer, Pins
from ot.results.stored_file import StoredFile
from ot.shapes.pages import Learnt, Pages
from ot.store.credentials import FileCredentials
from ot.store.embedded_journal import EmbeddedJournal
from ot.store.owned_files import name_file
from ot.store.owner import Owner
from ot.store.results import HEADER, EmbeddedKeptNames, KeptEntry
from ot.store.shelf import Shelf
from ot.text.redaction import Redactor
from ot.trust.store import TrustStore
from ot.workers.installing import Lock, read_stamp, write_stamp
from ot.workers.pep723 import ScriptHeader
from tests.apart import run_apart

# Lines of a journal and the file of a result, as versions wrote them that named no form.
OLD_RUN = b"""\
{"principal":"local","project":"/home/me/shop","run":"rqp2emgby","n":1,"event":"start","whole":1,"time":1794881687.923,"client":"","command":"6*7"}
{"principal":"local","project":"/home/me/shop","run":"rqp2emgby","n":2,"event":"ended","outcome":"value","error":"","answer":"42","seconds":0.013534}
"""
OLD_HEADER = (
    b'{"kind": "text", "what": "str", "size": 6, "breaks": 1, "created": 1794881687.0, "expires": 1794885287.0, '
    b'"partial": false, "read_before": 0}'
)
OWNER = Owner("local", Path("/home/me/shop"))


class StateFile:
    """One kind of file: the one that is there now, a look at what its reader makes of it, and how it is replaced."""

    def __init__(self, file: Path, look: Callable[[], object], write: Callable[[], object] = lambda: None) -> None:
        self.file, self.look, self.write = file, look, write


def pins(state: Path) -> StateFile:
    kept = Pins(Shelf(state))
    kept.accept("d", "tools", [{"name": "a"}])
    return StateFile(
        state / "d.json", lambda: kept.read("d", "tools") or None, lambda: kept.accept("d", "tools", [{"name": "b"}])
    )


def definitions(state: Path) -> StateFile:
    kept = DefinitionCache(Shelf(state))
    kept.write("notes", "d", Offer(({"name": "a"},), "", "", "handshake", None))
    [file] = state.glob("notes*")
    return StateFile(file, lambda: kept.read("notes", "d"))


def kept_name(state: Path) -> StateFile:
    kept = EmbeddedKeptNames(state)
    kept.put(OWNER, "rows", KeptEntry("k7w2m9x4qd", 2e9), now=1e9)
    [file] = state.rglob("rows.json")
    write = partial(kept.put, OWNER, "rows", KeptEntry("k7w2m9x4qd", 3e9), now=1e9)
    return StateFile(file, lambda: kept.get(OWNER, "rows"), write)


def tokens(state: Path) -> StateFile:
    file = state / "tokens.json"
    file.write_text('{"form": 1, "tokens": {"access_token": "abcdef"}, "expires_at": 2000000000}')

    async def look() -> float | None:
        found = await open_login(FileCredentials(state), "tokens", settings=OAuthSettings(), learn=lambda _: None)
        return found.expires_at

    write = partial(FileCredentials(state).write, "tokens", {"tokens": {}, "expires_at": 2e9})
    return StateFile(file, lambda: run_apart(look), lambda: run_apart(write))


def trust(state: Path) -> StateFile:
    kept, project = TrustStore(state), state / "project"
    project.mkdir()
    kept.trust(project, {"onetool.yaml": b"packs: {}"}, whole=True)
    [file] = state.glob("trust/*/*.json")
    write = partial(kept.trust, project, {"onetool.yaml": b"packs: {x: {}}"}, whole=True)
    return StateFile(file, lambda: kept.projects() or None, write)


def shapes(state: Path) -> StateFile:
    kept = Pages(Shelf(state))
    kept.add("local", "place", {"get": Learnt("1", 2)})
    [file] = state.glob("*.json")
    file.write_text('{"form": 1, "tools": {"get": {"version": "1", "seen": 2, "shape": {}}}}')
    return StateFile(file, lambda: kept.read("local", "place") or None)


def stamp(state: Path) -> StateFile:
    extension, python = state / "x_tools.py", state / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    (state / "venv" / "pyvenv.cfg").touch()
    asked = (state, extension, ScriptHeader(), Lock("kept", extension))
    write_stamp(*asked, python)
    [file] = state.glob("environments/*.json")
    return StateFile(file, lambda: read_stamp(*asked))


KINDS = [pins, definitions, kept_name, tokens, trust, shapes, stamp]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_file_of_a_newer_form_or_without_sense_counts_as_absent(
    kind: Callable[[Path], StateFile], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    state = kind(tmp_path)
    written = json.loads(state.file.read_bytes())
    assert state.look() is not None

    for content in ({**written, "form": 99}, {"form": "x"}, [1, 2], "text"):
        state.file.write_text(json.dumps(content))
        with caplog.at_level(logging.WARNING):
            assert state.look() is None
    state.file.write_bytes(b"\x00\xff{")
    assert state.look() is None

    if kind not in (kept_name, stamp):  # a name that nobody gave, and a note for uv, need no word
        assert "a newer OneTool wrote it (form 99, this one knows" in caplog.text


@pytest.mark.parametrize("kind", [pins, kept_name, tokens, trust], ids=lambda kind: kind.__name__)
def test_what_a_newer_version_wrote_is_not_overwritten(kind: Callable[[Path], StateFile], tmp_path: Path) -> None:
    state = kind(tmp_path)
    content = json.dumps({**json.loads(state.file.read_bytes()), "form": 99})
    state.file.write_text(content)

    with pytest.raises(OSError, match=r"a newer OneTool wrote it \(form 99, this one knows \d\); it is left as it is"):
        state.write()

    assert state.file.read_text() == content
    state.file.write_text('{"form": "damaged')
    state.write()
    assert state.look() is not None


@pytest.mark.parametrize(
    ("kind", "old", "meant"),
    [
        (pins, b'{"a":{"name":"a"},"form":{"name":"form"}}', {"a": [{"name": "a"}], "form": [{"name": "form"}]}),
        (pins, b'{"form":2,"accepted":{"a":{"name":"a"}}}', {"a": [{"name": "a"}]}),
        (kept_name, b'{"handle": "k7w2m9x4qd", "expires": 2000000000.0}', KeptEntry("k7w2m9x4qd", 2e9)),
        (tokens, b'{"tokens": {"access_token": "abcdef"}, "expires_at": 2000000001}', 2000000001.0),
        (stamp, b'{"asked": "0", "python": "/usr/bin/python3", "state": [1]}', None),
    ],
    ids=["pins", "pins of one definition each", "kept name", "tokens", "stamp: uv is asked again"],
)
def test_a_file_from_before_forms_were_named_is_read_as_it_was_meant(
    kind: Callable[[Path], StateFile], old: bytes, meant: object, tmp_path: Path
) -> None:
    state = kind(tmp_path)

    state.file.write_bytes(old)

    assert state.look() == meant


def test_accepting_writes_what_was_accepted_before_forms_in_the_form_of_today(tmp_path: Path) -> None:
    (tmp_path / "d.json").write_bytes(b'{"a":{"name":"a"}}')

    Pins(Shelf(tmp_path)).accept("d", "tools", [{"name": "b"}])

    assert json.loads((tmp_path / "d.json").read_bytes()) == {
        "form": 3,
        "accepted": {"a": [{"name": "a"}], "b": [{"name": "b"}]},
    }


def test_a_result_of_an_older_version_is_read_and_one_of_a_newer_is_not(tmp_path: Path) -> None:
    file = tmp_path / "k7w2m9x4qd.result"
    content = OLD_HEADER.ljust(HEADER - 1) + b"\n" + b"hello\n" + bytes(8)
    file.write_bytes(content)
    with StoredFile(file) as stored:
        assert (stored.facts.lines, stored.read_all()) == (1, b"hello\n")

    file.write_bytes(b'{"form": 2, ' + content[1 : HEADER - 11] + content[HEADER:])

    with pytest.raises(ValueError, match="a newer OneTool wrote it"):
        StoredFile(file)


def test_a_run_of_an_older_version_is_read_and_one_of_a_newer_is_not(tmp_path: Path) -> None:
    file = tmp_path / "20261117T021447-960-0d52d94e.0001.jsonl"
    journal = Journal(
        EmbeddedJournal(tmp_path, keep_for=3600, max_size=10**8),
        JournalSettings(),
        project=OWNER.project,
        redactor=Redactor(),
        clock=lambda: 1794881700.0,
    )
    file.write_bytes(OLD_RUN)
    assert journal.find("local", "rqp2emgby").answer == "42"
    assert [run.command for run in journal.recent("local")] == ["6*7"]

    file.write_bytes(OLD_RUN.replace(b'"whole":1,', b'"whole":1,"form":2,'))

    assert journal.recent("local") == []
    with pytest.raises(RunNotResumableError) as refused:
        journal.find("local", "rqp2emgby")
    assert refused.value.reason == "a newer OneTool wrote it (form 2, this one knows 1)"


def test_a_newer_audit_log_is_reported_and_not_read(tmp_path: Path) -> None:
    name = name_file("20261117T021447-960-0d52d94e", 1, ".jsonl")
    (tmp_path / name).write_bytes(seal([word({"event": "start", "form": 2})], after=0, previous="")[0])

    [chain] = find_chains(tmp_path)

    assert list(walk(chain)) == [Finding(name, 1, "a newer OneTool wrote it (form 2, this one knows 1)")]


def test_an_older_audit_log_is_read(tmp_path: Path) -> None:
    head: JsonObject = {"event": "start", "chain": "20261117T021447-960-0d52d94e", "part": 1}
    file = tmp_path / name_file("20261117T021447-960-0d52d94e", 1, ".jsonl")
    file.write_bytes(seal([word(head)], after=0, previous="")[0])

    [chain] = find_chains(tmp_path)

    assert [item.fields["event"] for item in walk(chain) if isinstance(item, AuditEntry)] == ["start"]
