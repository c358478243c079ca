"""The machines that are booted, what is changed in each before attempts are made, and what must come of them there."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from tests.vm.routes import ENDS_THE_RUN
from tests.vm.systems import BACKPORTS, BOOKWORM, TRIXIE, System

PROCESS: dict[str, object] = {"engine": "process", "status": "ok"}


@dataclass(frozen=True)
class Case:
    """One state of a machine."""

    name: str
    prepare: str = ""  # by root's shell
    level: str = "standard"  # of `execution.sandbox`
    delegated: bool = False
    """True to let systemd start it in a control group that is delegated to it."""
    sandbox: dict[str, object] = field(default_factory=lambda: PROCESS)
    """What `ot.health()` must say."""
    without: frozenset[str] = frozenset()
    """The programs that must not be started, as `USER TRIAL`."""


@dataclass(frozen=True)
class Machine:
    """A system, and how it is booted."""

    name: str
    system: System
    cases: tuple[Case, ...]
    words: str = ""  # for the kernel's command line
    component: bool = False

    def describe(self) -> dict[str, object]:
        """Return the job that the guest reads."""
        names = ("name", "prepare", "level", "delegated")
        return {"cases": [{name: getattr(case, name) for name in names} for case in self.cases]}


_TRIALS = ("try_files", "try_network", "try_others", "try_hosts")
NO_PROGRAM = frozenset(f"{user} {trial}" for user in ("root", "alice") for trial in _TRIALS)
MACHINES = (
    Machine(
        "6.1",
        BOOKWORM,
        (
            Case("as it is"),
            Case(
                "without user namespaces",
                "sysctl -w user.max_user_namespaces=0",
                "strict",
                without=frozenset({"alice try_hosts"}),
            ),
        ),
    ),
    Machine(
        "6.12-systemd",
        TRIXIE,
        (Case("in a delegated control group", delegated=True, sandbox={**PROCESS, "memory": "control group"}),),
        words="start=/usr/lib/systemd/systemd",
    ),
    Machine("newest", BACKPORTS, (Case("as it is"), Case("without io_uring", "sysctl -w kernel.io_uring_disabled=2"))),
    Machine(
        "newest-without-landlock",
        BACKPORTS,
        (
            Case("on the engine wasm", sandbox={"engine": "wasm", "status": "ok"}, without=NO_PROGRAM),
            Case(
                "without the engine wasm",
                "rm -r /opt/onetool/lib/python3*/site-packages/wasmtime*",
                sandbox={"status": "refused"},
                without=NO_PROGRAM,
            ),
        ),
        words="lsm=lockdown,capability,yama",
        component=True,
    ),
)


@dataclass
class Verdict:
    """What is known of one case as one user: built from the lines that the guest tells."""

    case: Case
    user: str
    seconds: float = 0
    release: str = ""
    tried: int = 0
    ended: bool = False
    works: bool = False
    broken: list[str] = field(default_factory=list)

    def hear(self, line: dict[str, Any]) -> None:
        """Take one line into account."""
        self.seconds = line["seconds"]
        getattr(self, f"_hear_{line['kind']}")(line)

    @property
    def held(self) -> bool:
        """True if everything was tried, and nothing got through."""
        return self.ended and not self.broken and self.works is (self.case.sandbox["status"] == "ok")

    def _hear_system(self, line: dict[str, Any]) -> None:
        self.release = line["release"]
        if (line["uid"] == 0) is not (self.user == "root"):
            self.broken.append(f"it is user {line['uid']}")

    def _hear_works(self, line: dict[str, Any]) -> None:
        self.works = (line["text"], line["failed"]) == ("42", False)

    def _hear_health(self, line: dict[str, Any]) -> None:
        if self.case.sandbox["status"] != "ok":  # then there is no run to ask it in
            return
        found = json.loads(line["text"])
        for name, value in self.case.sandbox.items():
            if found[name] != value:
                self.broken.append(f"{name} is {found[name]!r}, not {value!r}")

    def _hear_run(self, line: dict[str, Any]) -> None:
        self.tried += 1
        killed = line["name"] == ENDS_THE_RUN and line["failed"] and "GOT IN" not in line["text"]
        if not killed and not line["text"].startswith("refused"):
            self.broken.append(f"{line['name']}: {line['text'][:200]}")

    def _hear_home(self, line: dict[str, Any]) -> None:
        if line["diary"] != "private\n" or line["planted"]:
            self.broken.append("files of the home were changed")

    def _hear_program(self, line: dict[str, Any]) -> None:
        name = line["name"]
        if f"{self.user} {name}" in self.case.without:
            self.tried += 1
            if line["tried"] or line["status"] != 126:
                self.broken.append(f"{name}: a program was started: {line['explanation']}")
            return
        refused = {each for each, value in line["tried"].items() if str(value).startswith("refused")}
        done = {each: value for each, value in line["tried"].items() if each not in refused}
        self.tried += len(refused)
        self.broken += [
            f"{name}, {each}: {value!r}" for each, value in done.items() if line["outcomes"].get(each, done) != value
        ]
        self.broken += [f"{name}, {each}: did not work" for each in line["outcomes"].keys() - done.keys()]
        if not line["kept"] or not line["tried"]:
            self.broken.append(f"{name}: {line['explanation'] or 'the secret was changed'}")

    def _hear_end(self, _: dict[str, Any]) -> None:
        self.ended = True
