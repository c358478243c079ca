"""Peers that cannot take part, or fail, are reported; the others are measured all the same."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench.drift import Drift
from bench.figures import Session
from bench.peers.contestants import Contestant
from bench.peers.environments import PeerMissingError, find_python
from bench.peers.rounds import FIRST, INITIALIZE, ROWS, build_rows, measure_rounds
from bench.stdio_client import StdioClient


def contestant(name: str, folder: Path, code: str) -> Contestant:
    command = [sys.executable, "-c", code]
    return Contestant(name, "1", lambda: StdioClient(command, environment={}, folder=folder))


def test_a_peer_that_fails_in_a_round_has_a_note_and_ends_nothing(tmp_path: Path) -> None:
    told: list[str] = []
    garbled = contestant("garbled", tmp_path, "print('not JSON')")
    silent = contestant("silent", tmp_path, "")

    measured = measure_rounds([garbled, silent], Session(1, told.append), Drift())

    assert measured["silent"].notes[FIRST] == "failed in round 1: CallFailedError: the server closed its output"
    assert measured["garbled"].notes[FIRST].startswith("failed in round 1: JSONDecodeError")
    assert "round 1 of 1: silent" in told
    assert all(one.figure(INITIALIZE).median is None for one in measured.values())
    assert [row.name for row in build_rows(measured)] == list(ROWS)


def test_the_machine_is_measured_in_every_round(tmp_path: Path) -> None:
    drift = Drift()

    measure_rounds([contestant("silent", tmp_path, "")], Session(2), drift)

    assert len(drift.loop_ms) == len(drift.pipe_us) == 2
    assert all(value > 0 for value in drift.loop_ms + drift.pipe_us)


def test_a_python_that_nobody_has_is_named_in_the_reason() -> None:
    with pytest.raises(PeerMissingError, match=r"needs Python 3\.99 or newer, and none was found"):
        find_python((3, 99))
