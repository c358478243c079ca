"""`python -m tests.homes.write`: keep a home as this version writes it, with something of every kind in it."""

from __future__ import annotations

import json
import shutil
import sys
import tarfile
import time

from mcp_core.distribution import VERSION
from mcp_core.json_types import JsonObject
from ot.store.credentials import FileCredentials
from tests.apart import run_apart
from tests.homes import HOMES, PLACE, PROJECT, onetool, opened_place

_CONFIG = """\
servers:
  parrot: {command: python3, args: [/tmp/onetool-kept-home/parrot.py]}
"""
_MADE_AGAIN = ("definitions.json", "environments", "log", "pack_environments", "running", "sdk", "wasm", "words")
"""Of the state folder: what is large, or belongs to the machine, and is made again where it is missing."""
_FAILS = """\
notes.write(title="before the mistake", content="once")
undefined_name
"""
_SKILL = "scaffold.skill(name='double', code='2 * n', description='Twice a number.', parameters='n: int')"


def main() -> None:
    with opened_place():
        _live()
        [long] = [each["handle"] for each in json.loads(onetool("results", "--json").stdout) if each["size"] > 1000]
        runs = {each["command"].splitlines()[0]: each["run"] for each in json.loads(onetool("runs", "--json").stdout)}
        facts = {"version": VERSION, "time": time.time(), "long": long, "runs": runs}
        (PLACE / "facts.json").write_text(json.dumps(facts))
        for name in _MADE_AGAIN:
            made = PLACE / ".onetool/state" / name
            shutil.rmtree(made, ignore_errors=True) if made.is_dir() else made.unlink(missing_ok=True)
        kept = HOMES / f"{VERSION}.tar.xz"
        with tarfile.open(kept, "w:xz") as archive:
            archive.add(PLACE, ".", filter=_without_names)
    sys.stdout.write(f"{kept}: {kept.stat().st_size:,} bytes\n")


def _live() -> None:
    """Do what a person does in the first days."""
    own = PLACE / ".onetool"
    own.mkdir()
    (own / "onetool.yaml").write_text(_CONFIG)
    shutil.copy(HOMES.parent / "programs/servers/plain_server.py", PLACE / "parrot.py")
    (PROJECT / ".onetool").mkdir()
    (PROJECT / ".onetool/onetool.yaml").write_text("aliases: {places: proj.list}\n")
    (PROJECT / "a.txt").write_text("as it was")
    for words, stdin in (
        (("trust", "--yes"), ""),
        (("secrets", "set", "BRAVE_API_KEY"), "key-of-brave"),
        (("run", "ot.keep(name='rows', value=[1, 2, 3])"), ""),
        (("run", "print('long ' * 9000)"), ""),
        (("run", "notes.write(title='plans', content={'year': 2027})"), ""),
        (("run", "file.write(path='a.txt', content='changed')"), ""),
        (("run", _FAILS), ""),
        (("run", _SKILL), ""),
        (("trust", "--yes"), ""),
        (("run", "skills.double(n=21)"), ""),
        (("run", "parrot.echo(text='hello')"), ""),
    ):
        done = onetool(*words, stdin=stdin)
        if (done.returncode == 0) is (words[-1] == _FAILS):
            sys.exit(f"{words}: {done.stdout}{done.stderr}")
    login: JsonObject = {"tokens": {"access_token": "access"}, "expires_at": 4e9}
    run_apart(lambda: FileCredentials(own / "state/servers/tokens").write("github", login))


def _without_names(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


if __name__ == "__main__":
    main()
