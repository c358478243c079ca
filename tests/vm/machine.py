"""One emulated machine: it boots, reads its job from a shared folder, tells what it finds there, and switches itself off."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.vm.cases import Machine
from tests.vm.systems import CPU

SILENCE = 3600  # seconds without a line, after which a machine is given up
# Neither the time of a guest nor its timer may be measured while it boots, since this machine may be busy. And while a
# guest works, eight nanoseconds of its time are an instruction: no limit in it is over because this machine is busy.
_CLOCK = ("-icount", "shift=3")
_WORDS = "console=ttyS0 mitigations=off quiet loglevel=4 panic=-1 nowatchdog tsc_early_khz=1000000 tsc=nowatchdog no_timer_check"


class SilentError(Exception):
    """A machine has ended before its time, or says nothing any more."""


def boot(machine: Machine) -> Iterator[dict[str, Any]]:
    """Boot a machine, and yield what it tells until it has switched itself off. Raises SilentError."""
    console = machine.system.folder / f"{machine.name}.console"
    with tempfile.TemporaryDirectory() as name, console.open("wb") as output:
        share = Path(name)
        (share / "job.json").write_text(json.dumps(machine.describe()))
        told = share / "told.jsonl"
        told.touch()
        process = subprocess.Popen(
            _command(machine, share), stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            yield from _follow(process, told)
        finally:
            process.kill()
            process.wait()
            shutil.copy(told, console.with_suffix(".jsonl"))
    if process.returncode != 0:
        raise SilentError(f"it did not come to its end; see {console}")


def _follow(process: subprocess.Popen[bytes], told: Path) -> Iterator[dict[str, Any]]:
    heard = time.monotonic()
    with told.open("rb") as lines:
        rest = b""
        while True:
            ended = process.poll() is not None
            *whole, rest = (rest + lines.read()).split(b"\n")
            for line in whole:
                heard = time.monotonic()
                yield {**json.loads(line), "at": heard}
            if ended:
                return
            if time.monotonic() > heard + SILENCE:
                raise SilentError(f"nothing was heard for {SILENCE} s")
            time.sleep(0.5)


def _command(machine: Machine, share: Path) -> list[str]:
    folder = machine.system.folder
    return [
        *("qemu-system-x86_64", "-accel", "tcg,thread=single,tb-size=1024", "-cpu", CPU),
        *("-smp", "1", "-m", "2560", "-nographic", "-no-reboot", "-nic", "none", *_CLOCK),
        *("-kernel", str(folder / "vmlinuz"), "-initrd", str(folder / "initrd")),
        *("-append", f"{_WORDS} {machine.words}"),
        *("-drive", f"file={folder / 'disk'},format=raw,if=virtio,snapshot=on,cache=unsafe"),
        *("-drive", f"file={folder / 'project'},format=raw,if=virtio,readonly=on"),
        *("-virtfs", f"local,path={share},mount_tag=share,security_model=none"),
    ]
