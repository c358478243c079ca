"""Answers each call with what it was asked, some at once and some later."""

import asyncio
import random
import time


def echo(*, value: int) -> int:
    if random.random() < 0.5:
        time.sleep(random.random() / 50)
    return value


async def later(*, value: int) -> int:
    await asyncio.sleep(random.random() / 50)
    return value
