"""Appended to the text of a CPython test file: runs the tests defined in it and gives their outcomes as JSON."""

import json as _json
import unittest as _unittest
from typing import Any


class _Outcomes(_unittest.TestResult):
    def __init__(self) -> None:
        super().__init__()
        self.outcomes: dict[str, str] = {}
        self.details: dict[str, str] = {}

    def addSuccess(self, test: _unittest.TestCase) -> None:
        self.outcomes.setdefault(_name(test), "passed")

    def addFailure(self, test: _unittest.TestCase, err: Any) -> None:
        self._record(test, "failed", err)

    def addError(self, test: _unittest.TestCase, err: Any) -> None:
        self._record(test, "failed", err)

    def addSubTest(self, test: _unittest.TestCase, subtest: _unittest.TestCase, err: Any) -> None:
        if err is not None:
            self._record(test, f"failed in {subtest!s:.80}", err)

    def addSkip(self, test: _unittest.TestCase, reason: str) -> None:
        self.outcomes[_name(test)] = "skipped"
        self.details[_name(test)] = reason

    def addExpectedFailure(self, test: _unittest.TestCase, err: Any) -> None:
        self.outcomes[_name(test)] = "failed as expected"

    def addUnexpectedSuccess(self, test: _unittest.TestCase) -> None:
        self.outcomes[_name(test)] = "passed unexpectedly"

    def _record(self, test: _unittest.TestCase, outcome: str, err: Any) -> None:
        self.outcomes[_name(test)] = outcome
        self.details[_name(test)] = f"{err[0].__name__}: {err[1]}"


def _name(test: _unittest.TestCase) -> str:
    return test.id().removeprefix(f"{__name__}.")


def _own_tests() -> _unittest.TestSuite:
    suite = _unittest.TestSuite()
    loader = _unittest.TestLoader()
    for thing in list(globals().values()):
        if isinstance(thing, type) and issubclass(thing, _unittest.TestCase) and thing.__module__ == __name__:
            suite.addTests(loader.loadTestsFromTestCase(thing))
    load_tests = globals().get("load_tests")
    return load_tests(loader, suite, None) if load_tests else suite


def run_own_tests() -> str:
    results = _Outcomes()
    _own_tests().run(results)
    return _json.dumps([results.outcomes, results.details])
