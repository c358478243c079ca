"""The groups of tests that go to one worker together, handed out as xdist does it, without looking at all that is done.

For each test that ends, xdist counts what is left of every group that its worker has ever had, and searches each test
of a new group in the list of all tests: of fifteen thousand tests that is half of what handing them out takes.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdist.scheduler import LoadGroupScheduling  # type: ignore[import-untyped]


class Groups(LoadGroupScheduling):  # type: ignore[misc]
    """Hands out groups, and forgets those that are done."""

    def add_node_collection(self, node: object, collection: Sequence[str]) -> None:
        super().add_node_collection(node, collection)
        if node in self.registered_collections:
            self.registered_collections[node] = _Numbered(self.registered_collections[node])

    def _pending_of(self, workload: dict[str, dict[str, bool]]) -> int:
        for group in [group for group, tests in workload.items() if all(tests.values())]:
            del workload[group]
        return sum(not done for tests in workload.values() for done in tests.values())


class _Numbered(list[str]):
    """A list of different names that knows the number of each."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(names)
        self._numbers = {name: number for number, name in enumerate(names)}

    def index(self, name: str, *_: object) -> int:
        return self._numbers[name]
