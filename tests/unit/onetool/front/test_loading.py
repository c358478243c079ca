"""The protocol's library is loaded while a run connects a server that speaks it, too."""

from __future__ import annotations

import subprocess
import sys

# Other threads have their turn at every step, so that two which load the same library are in the middle of it together.
LOAD_BOTH = """
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from onetool.front.sdk_session import load_protocol
from ot.parts.known_tools import load_connection_builder

both = Barrier(2)

def load(part):
    both.wait()
    part()

sys.setswitchinterval(0.0005)
with ThreadPoolExecutor(2) as threads:
    list(threads.map(load, (load_protocol, load_connection_builder)))
print("loaded")
"""


def test_a_server_may_connect_while_the_protocol_is_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", LOAD_BOTH], capture_output=True, text=True, check=False, timeout=120)

    assert (done.stdout, done.stderr) == ("loaded\n", "")
