"""The machines that are booted, what is changed in each before attempts are made, and what must come of them there."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any

from tests.vm.routes import ENDS_THE_RUN
from tests.vm.systems import BACKPORTS, BOOKWORM, TRIXIE, System

NOT_STARTED = 126  # the status of a guardian that did not start its program
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
    known: frozenset[str] = frozenset()
    """What this kernel cannot refuse a program, as docs/confinement.md says: `TRIAL, ATTEMPT`."""


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
BEFORE_6_12 = frozenset({"try_others, the guardian"})  # which may be sent signals
MACHINES = (
    Machine(
        "6.1",
        BOOKWORM,
        (
            Case("as it is", known=BEFORE_6_12),
            Case(
                "without user namespaces",
                "sysctl -w user.max_user_namespaces=0",
                "strict",
                without=frozenset(f"alice {trial}" for trial in _TRIALS),  # nothing else would guard truncation
                known=BEFORE_6_12,
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
    began: float = math.inf
    seconds: float = 0
    release: str = ""
    refused: int = 0
    ended: bool = False
    works: bool = False
    known: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    def hear(self, line: dict[str, Any]) -> None:
        """Take one line into account; `at` is when it was heard, in seconds."""
        self.began = min(self.began, line["at"])
        self.seconds = line["at"] - self.began
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
        try:
            found = json.loads(line["text"])
        except ValueError:
            self.broken.append(f"ot.health: {line['text']}")
            return
        for name, value in self.case.sandbox.items():
            if found[name] != value:
                self.broken.append(f"{name} is {found[name]!r}, not {value!r}")

    def _hear_run(self, line: dict[str, Any]) -> None:
        killed = line["name"] == ENDS_THE_RUN and line["failed"] and "GOT IN" not in line["text"]
        if killed or line["text"].startswith("refused"):
            self.refused += 1
        else:
            self.broken.append(f"{line['name']}: {line['text'][:200]}")

    def _hear_home(self, line: dict[str, Any]) -> None:
        if line["diary"] != "private\n" or line["planted"]:
            self.broken.append("files of the home were changed")

    def _hear_program(self, line: dict[str, Any]) -> None:
        name, tried, outcomes = line["name"], line["tried"], line["outcomes"]
        if f"{self.user} {name}" in self.case.without:
            if tried or line["status"] != NOT_STARTED:
                self.broken.append(f"{name}: a program was started: {line['explanation']}")
            else:
                self.refused += 1
            return
        for each, value in tried.items():
            attempt = f"{name}, {each}"
            if each in outcomes and outcomes[each] != value:
                self.broken.append(f"{attempt} should work: {value!r}")
            elif str(value).startswith("refused"):
                self.refused += 1
            elif each not in outcomes:
                (self.known if attempt in self.case.known else self.broken).append(f"{attempt}: {value!r}")
        if not line["kept"] or not tried:
            self.broken.append(f"{name}: {line['explanation'] or 'the secret was changed'}")

    def _hear_end(self, _: dict[str, Any]) -> None:
        self.ended = True
