"""The messages between server, zygote and kernel, for type checkers only: what arrives is hostile until it is checked.

Nothing imports this file at run time, because every module that is loaded makes each fork slower.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, TypedDict

from ot_kernel.parts import Report
from ot_kernel.references import Reference
from ot_kernel.values import Value

WrittenReference: TypeAlias = Reference


class ErrorFacts(TypedDict):
    """A failed call: the builtin exception that it resembles, and its message."""

    kind: str
    message: str


class SkillSource(TypedDict):
    """A skill that the kernel executes itself."""

    name: str
    file: str
    source: str


class WrittenFacts(TypedDict):
    """A large argument of `ot.keep`, which the kernel has written to a file."""

    file: str
    kind: str
    what: str


class Description(TypedDict, total=False):
    """The documentation of a pack, with the names in it, or of a tool, with its signature."""

    doc: str
    names: list[str]
    signature: str


class Message(TypedDict, total=False):
    """A message between a kernel and the server, either way; `op` or `id` tells which of the keys it has.

    Values travel in it encoded; the server decodes them in place.
    """

    op: str
    id: int
    # a program, and answers
    code: str
    packs: list[str]
    aliases: dict[str, str]
    values: dict[str, str]
    limit: int
    value: Value
    error: ErrorFacts
    skill: SkillSource
    stand_in: int  # the call whose result is not there
    # questions
    tool: str
    args: list[Any]
    kwargs: dict[str, Any]
    written: WrittenFacts
    references: Sequence[WrittenReference]
    pack: str
    name: str
    file: str
    kind: str
    path: list[str]
    mode: int
    times: list[int]
    number: int  # of a stand-in that code needs the content of
    line: int | None
    # outcomes
    head: Value
    total: int
    not_kept: str
    parts: Sequence[Report]
    type: str
    message: str
    names: Sequence[str]
    notes: list[str]
    frames: Sequence[tuple[int, str, str] | tuple[int, str, str, str]]
    failed: Sequence[str]
    broken: list[str]


class ZygoteRequest(TypedDict, total=False):
    """A request of the server: kernels, with unused scratch folders to use again, or a probe with a file to try."""

    fork: int
    again: Sequence[str]
    probe: str | None


class ZygoteReport(TypedDict, total=False):
    """A report on the control socket: a kernel that is ready, one that has ended, or what this system lacks."""

    kernel: int
    pid: int
    layers: Sequence[str]
    failed: Sequence[str]
    sized: bool
    ended: int
    status: int
    unused: bool
    probe: bool
    folder: str
    missing: Sequence[str]
    compiling: bool
    refused: str  # why there will be no kernel
    install: str  # the requirement that would mend that; an extra of ours is written as `[wasm]`


class ZygoteSettings(TypedDict):
    scratch: str
    path: list[str]
    preload: list[str]
    sandbox: str
    system: str
    memory: int
    file_size: int
    scratch_size: int
    scratch_files: int
    readable: tuple[str, ...]
    writable: tuple[str, ...]
    pin_pages: bool
    opened: dict[str, bool]  # folders for an instance of the component beside its own, True for writing
    compiled: str  # the folder of compiled components, for the engine that has one
