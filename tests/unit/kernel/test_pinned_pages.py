"""Kernels find the pages that they write to copied by the fork, where the system can do that; and work where it cannot."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys

import pytest

from ot.kernel.kernel import Kernel
from ot.kernel.supply import KernelSupply
from ot_kernel.pinned_pages import open_pages
from tests.unit.kernel.kernels import kernels, run, until

FEW = 150  # faults; without pinned pages there are several hundred before the first line of code

ENOUGH = 8 * 1024**2  # bytes that an ordinary user may pin


def faults_of(kernel: Kernel) -> int:
    with open(f"/proc/{kernel.pid}/stat") as file:  # noqa: PTH123 - read at once
        return int(file.read().rpartition(")")[2].split()[7])


def can_pin() -> bool:
    pages = open_pages()
    if pages is None:
        return False
    pages.close()
    limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    return os.geteuid() == 0 or limit == resource.RLIM_INFINITY or limit >= ENOUGH


@pytest.mark.only_as_process("no pages are pinned there: an instance gets pages of its memory as it writes to them")
@pytest.mark.parametrize("sandbox", ["standard", "off"])
async def test_kernels_after_the_first_run_copy_no_pages_of_their_own(sandbox: str) -> None:
    if not can_pin():
        pytest.skip("this system pins no pages")
    async with kernels(warm=1, sandbox=sandbox) as supply:
        faults = []
        for number in range(10):  # a zygote pins nothing before it has seen a kernel end
            assert (await run(supply, f"x = [{number}]\nx * 2")).value == [number, number]
            await until(lambda: len(supply._ready) == 1)
            faults.append(faults_of(supply._ready[0]))

    assert min(faults) < FEW < faults[0]


@pytest.mark.only_as_process("no native code can be called there, so none can make a system call")
async def test_a_kernel_can_neither_reach_nor_pin_pages_of_the_zygote(supply: KernelSupply) -> None:
    code = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for descriptor in range(256):
    try:
        os.fstat(descriptor)
    except OSError:
        break
[descriptor, *((libc.syscall(number, 0, 0, None, 0), ctypes.get_errno()) for number in (425, 426, 427))]
"""
    await run(supply, "1")

    assert (await run(supply, code)).value == [5, *[(-1, errno.EPERM)] * 3]


async def test_kernels_work_where_their_user_may_lock_no_memory() -> None:
    """As an ordinary user: root may lock any."""
    soft, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, hard))
    try:
        async with kernels(warm=1) as supply:
            assert [(await run(supply, f"{number} + 1")).value for number in range(5)] == [1, 2, 3, 4, 5]
            assert supply._link.last_words() == ""
    finally:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (soft, hard))


def test_where_the_system_pins_nothing_there_is_nothing_to_pin_with() -> None:
    code = "import resource\nfrom ot_kernel.pinned_pages import open_pages\nresource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))\nprint(open_pages())"

    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)

    assert (answer.stdout, answer.stderr) == ("None\n", "")
