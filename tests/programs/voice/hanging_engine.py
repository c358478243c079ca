"""A recogniser whose library blocks: it writes its process's number, and comes back never."""

import os
import pathlib
import time


def prepare(folder):
    pass


def transcribe(audio, folder):
    (pathlib.Path(folder) / "pid").write_text(str(os.getpid()))
    time.sleep(3600)


def raising(audio, folder):
    raise MemoryError("no room for the model")


def dying(audio, folder):
    os._exit(7)
