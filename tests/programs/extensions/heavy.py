# /// script
# requires-python = ">=3.11"
# dependencies = []
# [tool.onetool]
# engine = "ray"
# cpus = 0.5
# ///
"""Work for a cluster, of every kind that a worker can get."""

import asyncio
import os
import signal
import time

import ot_sdk

pack = "heavy"
secrets = ("TOKEN",)


@ot_sdk.reads
def pid() -> int:
    return os.getpid()


def echo(value: object) -> object:
    return value


def sizes(text: str) -> int:
    return len(text)


def refuse() -> None:
    raise ot_sdk.ToolError("no such city")


def fail() -> None:
    raise KeyError("absent")


def count(upto: int) -> int:
    for number in range(upto):
        ot_sdk.progress(number + 1, upto, f"step {number + 1}")
    return upto


def shout(text: str) -> str:
    return ot_sdk.call("words.upper", text=text)


def note(text: str) -> None:
    ot_sdk.log.info(text)


def known() -> list[str]:
    try:
        other = ot_sdk.secret("OTHER")
    except ot_sdk.ToolError as error:
        other = str(error)
    return [ot_sdk.secret("TOKEN")[::-1], other, *sorted(os.environ)]


async def wait(file: str) -> None:
    with open(file, "w") as began:
        began.write(str(os.getpid()))
    await asyncio.sleep(600)


def hang(file: str) -> None:
    with open(file, "w") as began:
        began.write(str(os.getpid()))
    while True:
        try:
            time.sleep(600)
        except BaseException:
            pass


def die() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)
