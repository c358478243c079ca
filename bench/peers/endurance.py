"""Memory after many runs: what a server that is never restarted comes to."""

from __future__ import annotations

import time

from bench.figures import Figure, Session
from bench.peers.contestants import Contestant
from bench.peers.rounds import started
from bench.process_tree import proportional_set_size
from bench.stdio_client import StdioClient

_RUNS_A_ROUND = 2000  # so that five rounds come to ten thousand
_BUDGET = 45  # seconds for one contestant
_CHUNK = 100
_IN_FLIGHT = 16
_SETTLING = 2.0


def count_runs(session: Session) -> int:
    return _RUNS_A_ROUND * session.rounds


def measure_endurance(contestant: Contestant, session: Session) -> tuple[Figure, Figure]:
    """Return the memory after the runs in megabytes, and what that is more than after the first hundred, in percent."""
    runs = count_runs(session)
    session.tell(f"{runs:,} runs: {contestant.name}")
    try:
        with started(contestant, limit=_BUDGET * 2) as client:
            if not isinstance(client, StdioClient):
                return Figure(note="the SDK server's"), Figure(note="the SDK server's")
            client.initialize()
            begin = time.perf_counter()
            client.call_many(*contestant.trivial, count=_CHUNK, in_flight=_IN_FLIGHT)
            early = _settled_memory(client)
            done = _CHUNK
            while done < runs and time.perf_counter() - begin < _BUDGET:
                client.call_many(*contestant.trivial, count=_CHUNK, in_flight=_IN_FLIGHT)
                done += _CHUNK
            late = _settled_memory(client)
    except Exception as error:  # noqa: BLE001 - what a peer does wrong is said in its place
        return Figure(note=f"failed: {str(error)[:100]}"), Figure(note="failed")
    note = "" if done >= runs else f"after {done:,} runs, all that {_BUDGET} s allow"
    return Figure((late,), note), Figure((100 * (late / early - 1),), note)


def _settled_memory(client: StdioClient) -> float:
    time.sleep(_SETTLING)
    return proportional_set_size(client.pid) / 1e6
