"""Writes statistics in batches of ten calls, as fast as it can, until it is killed."""

import sys
from pathlib import Path

from ot.stats.recorder import Recorder
from ot.store.embedded_statistics import EmbeddedStatRows

recorder = Recorder(lambda: EmbeddedStatRows(Path(sys.argv[1])), interval=3600.0)
while True:
    for _ in range(10):
        recorder.call("demo.upper", seconds=0.001, sent=b"x" * 500, received=b"y" * 500)
    recorder.flush()
    print("written", flush=True)
