"""Takes its time to be imported."""

import time

time.sleep(1.5)


def answer() -> int:
    return 42
