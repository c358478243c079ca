"""Boot Debian's own kernels, and try there what a run and a confined program must not reach.

    python -m tests.vm [MACHINE ...]

Each case is one line: what was refused, as which user, and how long it took. The status is 1 if anything got through,
was not refused as it should be, or was not tried.
"""

from __future__ import annotations

import sys
import time

from tests.vm.cases import MACHINES, Machine, Verdict
from tests.vm.guest import USERS
from tests.vm.machine import SilentError, boot
from tests.vm.systems import build


def main(names: list[str]) -> int:
    """Go through the machines, all of them unless some are named."""
    known = [machine.name for machine in MACHINES]
    if unknown := set(names) - set(known):
        sys.stderr.write(f"No such machine: {', '.join(unknown)}; there are {', '.join(known)}\n")
        return 2
    held = [_try_machine(machine) for machine in MACHINES if not names or machine.name in names]
    return 0 if all(held) else 1


def _try_machine(machine: Machine) -> bool:
    build(machine.system, component=any(other.component for other in MACHINES if other.system is machine.system))
    verdicts = {(case.name, user): Verdict(case, user) for case in machine.cases for user in USERS}
    _say(f"{machine.name}: {machine.system.suite}, booted with {machine.words or 'nothing else'}")
    began = time.monotonic()
    booted = 0.0
    try:
        for line in boot(machine):
            booted = booted or time.monotonic() - began
            verdict = verdicts[line["case"], line["user"]]
            verdict.hear(line)
            if verdict.ended:
                _report(verdict)
    except SilentError as error:
        _say(f"  {error}")
    for verdict in verdicts.values():
        if not verdict.ended:
            _report(verdict)
    _say(f"  booted in {booted:.0f} s, {time.monotonic() - began:.0f} s in all")
    return all(verdict.held for verdict in verdicts.values())


def _report(verdict: Verdict) -> None:
    word = "held" if verdict.held else "NOT HELD" if verdict.ended else "NOT TRIED TO THE END"
    tried = verdict.refused + len(verdict.known) + len(verdict.broken)
    refused = f"{verdict.refused} of {tried} refused"
    system = f"Linux {verdict.release}, {verdict.case.name}, as {verdict.user}"
    _say(f"  {word}: {system}: {refused}, {verdict.seconds:.0f} s")
    for text in verdict.known:
        _say(f"    known: {text}")
    for text in verdict.broken:
        _say(f"    WRONG: {text}")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
