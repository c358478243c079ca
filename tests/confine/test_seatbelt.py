"""A program on macOS, from the guardian to its end, with a sandbox-exec that Linux plays: one that holds, others that do not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import ot_confinement
from ot.isolate.frames import CallRequest
from ot.isolate.helper import start_helper
from ot.processes.guarded_process import GuardedProcess, start_guarded
from ot_confinement.confine import Confine, RefusedError
from ot_confinement.own_files import files_of_this_python
from ot_confinement.seatbelt_probe import require_seatbelt
from ot_guardian import VARIABLE, Ledger, guarded
from tests.confine.pages import pages
from tests.opened_executor import write_pack

SOURCES = Path(ot_confinement.__file__).parents[1]
ISOLATE = SOURCES / "ot" / "isolate" / "__main__.py"
PROGRAMS = Path(__file__).parents[1] / "programs"
AS_ON_MACOS = str(PROGRAMS / "as_on_macos.py")
HOSTILE = PROGRAMS / "servers" / "hostile.py"
OWN = (*files_of_this_python(), str(HOSTILE))


@dataclass(frozen=True)
class Ended:
    """The output of a program, its status and its stderr, and the words of its guardian."""

    output: str
    status: int
    said: str
    explanation: str


@dataclass(frozen=True)
class Mac:
    """A folder with a program that plays sandbox-exec, and a count of how often it was started."""

    folder: Path
    how: str = "held"

    @property
    def sandbox_exec(self) -> str:
        file = self.folder / f"sandbox-exec-{self.how}"
        if not file.exists() and self.how != "missing":
            command = f"{sys.executable} -I {PROGRAMS / 'sandbox_exec.py'} {self.how}"
            file.write_text(f'#!/bin/sh\necho >> {self.folder}/started\nexec {command} "$@"\n')
            file.chmod(0o755)
        return str(file)

    def started(self) -> int:
        return len((self.folder / "started").read_text())

    def run(self, command: list[str], confine: Confine, **environ: str) -> Ended:
        python, *options, main, ledger, stdin, bounds = guarded([], confine=confine)
        played = [python, *options, AS_ON_MACOS, self.sandbox_exec]
        return self._start([*played, main, ledger, stdin, bounds, *command], environ)

    def _start(self, words: list[str], environ: dict[str, str]) -> Ended:
        ledger = os.memfd_create("ledger")
        stdin, held = os.pipe()
        try:
            done = subprocess.run(
                words, stdin=stdin, capture_output=True, text=True, check=False, timeout=120, pass_fds=[ledger], cwd="/",
                env={"PATH": os.environ["PATH"], "TMPDIR": str(self.folder), VARIABLE: str(ledger), **environ},
            )  # fmt: skip
            return Ended(done.stdout, done.returncode, done.stderr, Ledger(ledger).explanation())
        finally:
            for descriptor in (stdin, held, ledger):
                os.close(descriptor)


def attempts(**tried: str) -> list[str]:
    return [sys.executable, "-I", str(HOSTILE), json.dumps(tried)]


def test_a_program_touches_what_is_named_and_nothing_else(tmp_path: Path) -> None:
    for name in ("read", "written", "secret"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "notes").write_text("milk")
    (tmp_path / "written" / ".onetool").mkdir()
    confine = Confine(
        (*OWN, str(tmp_path / "read")), (str(tmp_path / "written"),), closed=(str(tmp_path / "written" / ".onetool"),)
    )

    ended = Mac(tmp_path).run(
        attempts(
            read=f"open({str(tmp_path / 'read/notes')!r}).read()",
            changed=f"open({str(tmp_path / 'read/notes')!r}, 'w')",
            written=f"open({str(tmp_path / 'written/notes')!r}, 'w').write('bread')",
            closed=f"open({str(tmp_path / 'written/.onetool/a')!r}, 'w')",
            secret=f"open({str(tmp_path / 'secret/notes')!r}).read()",
            own="open(os.path.join(os.environ['TMPDIR'], 'a'), 'w').write('abc')",
            home="os.environ['HOME'] == os.environ['TMPDIR']",
        ),
        confine,
        HOME=str(tmp_path),
    )

    assert (ended.status, ended.explanation) == (0, ""), ended.said
    tried = json.loads(ended.output)
    assert (tried["read"], tried["written"], tried["own"], tried["home"]) == ("milk", 5, 3, True)
    assert all("Error" in tried[name] for name in ("changed", "closed", "secret"))
    assert not list(tmp_path.glob("onetool-*"))  # its own folder is gone


def test_a_program_reaches_its_hosts_through_the_proxy(tmp_path: Path) -> None:
    with pages() as port:
        url = f"http://127.0.0.1:{port}/a"
        read = f"__import__('urllib.request').request.urlopen({url!r}, timeout=20).read().decode()"
        ended = Mac(tmp_path).run(attempts(page=read), Confine(OWN, hosts=(f"127.0.0.1:{port}",)))

    assert json.loads(ended.output) == {"page": f"/a of 127.0.0.1:{port}"}, ended.said


def test_a_program_that_is_not_there_is_reported_as_elsewhere(tmp_path: Path) -> None:
    ended = Mac(tmp_path).run(["no-such-program"], Confine())

    assert (ended.status, ended.said) == (127, "not found: no-such-program\n")


BROKEN = (
    "change the mode of a file, link a file, rename a file, create a file, list a folder, connect, listen, "
    "execute a program, move a folder that holds a closed one, open a file, truncate a file, remove a file, signal a process"
)
REFUSALS = {
    "hollow": f"Seatbelt does not hold here: a process inside it could {BROKEN}",
    "nested": "sandbox-exec fails: sandbox_apply: Operation not permitted",
    "missing": "this system has no {}",
}


@pytest.mark.parametrize(("how", "reason"), REFUSALS.items(), ids=REFUSALS.keys())
def test_nothing_starts_where_seatbelt_does_not_hold(tmp_path: Path, how: str, reason: str) -> None:
    mac = Mac(tmp_path, how)
    planted = tmp_path / "planted"
    way_out = ". Set `packs.git.confine: off`"

    ended = mac.run(["/usr/bin/touch", str(planted)], Confine(writable=(str(tmp_path),), otherwise=way_out))

    assert ended.explanation == f"cannot be confined: {reason.format(mac.sandbox_exec)}{way_out}"
    assert (ended.status, planted.exists()) == (126, False)


def test_without_confinement_nothing_is_asked_of_the_system(tmp_path: Path) -> None:
    mac = Mac(tmp_path, "missing")

    ended = mac.run([sys.executable, "-c", "import os; print(os.listdir(os.environ['TMPDIR']))"], Confine(off=True))

    assert (ended.output, ended.explanation) == ("[]\n", "")


def test_the_probe_runs_once_for_each_system(tmp_path: Path) -> None:
    mac, stamps = Mac(tmp_path), tmp_path / "stamps"
    stamps.mkdir(0o700)

    require_seatbelt(mac.sandbox_exec, stamps=str(stamps))
    require_seatbelt(mac.sandbox_exec, stamps=str(stamps))

    assert mac.started() == 1
    Path(mac.sandbox_exec).touch()
    require_seatbelt(mac.sandbox_exec, stamps=str(stamps))
    assert mac.started() == 2
    (stamps / "onetool-seatbelt").chmod(0o666)  # anybody could have written it
    require_seatbelt(mac.sandbox_exec, stamps=str(stamps))
    assert mac.started() == 3
    with pytest.raises(RefusedError, match="does not hold"):
        require_seatbelt(Mac(tmp_path, "hollow").sandbox_exec, stamps=str(stamps))


PACK = """
    import os
    from pathlib import Path

    def read(path):
        return Path(path).read_text()

    def make(name):
        return Path(os.environ["TMPDIR"], name).write_text("bread")
"""


@pytest.mark.anyio
async def test_a_helper_begins_again_within_its_bounds(tmp_path: Path) -> None:
    pack, secret, notes = write_pack(tmp_path, PACK), tmp_path / "secret", tmp_path / "notes"
    for file in (secret, notes):
        file.write_text("milk")
    mac = Mac(tmp_path)

    async def start(memory: str, bounds: str, handed: object) -> GuardedProcess:
        words = [sys.executable, "-P", AS_ON_MACOS, mac.sandbox_exec, str(ISOLATE), memory, bounds]
        return start_guarded(words, environ={"PATH": os.environ["PATH"]}, cwd=Path("/"))

    async def call(function: str, **arguments: str) -> dict[Any, object]:
        request: CallRequest = {"module": str(pack), "function": function, "arguments": arguments, "context": None}
        return await helper.call(request)

    confine = Confine((*OWN, str(SOURCES), str(PROGRAMS), str(pack)), files=(str(notes),))
    helper = await start_helper(2**31, confine, None, start)
    try:
        read, refused = await call("read", path=str(notes)), await call("read", path=str(secret))
        made = await call("make", name="made")

        assert (read["value"], refused["kind"], made["value"]) == ("milk", "PermissionError", 5)
        assert Path(helper.folder, "made").read_text() == "bread"
    finally:
        await helper.kill()
    assert not Path(helper.folder).exists()
