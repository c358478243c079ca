"""What a call does outside: said by a pack's file, by a server, or by the person."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ot_sdk
from ot.effects import Effect, idempotent, reads
from ot.introspect.listings import list_tools
from ot.registry.from_schema import define_pack
from ot.registry.from_source import read_pack
from ot.registry.registry import ToolRegistry
from tests.opened_executor import BUILT_IN, define, write_pack


@pytest.mark.parametrize(
    ("source", "effect"),
    [
        ("from ot.effects import reads\n@reads\n", Effect.READS),
        ("from ot.effects import idempotent\n@idempotent\n", Effect.IDEMPOTENT),
        ("from ot import effects\n@effects.reads\n", Effect.READS),
        ("from ot import idempotent\n@idempotent\n", Effect.IDEMPOTENT),
        ("import ot_sdk\n@ot_sdk.reads\n", Effect.READS),
        ("import ot_sdk as sdk\n@sdk.idempotent\n", Effect.IDEMPOTENT),
        ("from ot_sdk import reads as harmless\n@harmless\n", Effect.READS),
        ("from ot_sdk import idempotent, reads\n@idempotent\n@reads\n", Effect.READS),
        ("from functools import cache\nfrom ot_sdk import reads\n@cache\n@reads\n", Effect.READS),
        ("", Effect.UNKNOWN),
        ("def reads(function): return function\n@reads\n", Effect.UNKNOWN),
        ("from my_cache import reads\n@reads\n", Effect.UNKNOWN),
        ("from .ot_sdk import reads\n@reads\n", Effect.UNKNOWN),
    ],
    ids=lambda value: value.replace("\n", " ") if isinstance(value, str) else "",
)
def test_a_pack_declares_effects_by_decorators_that_are_read_from_its_source(
    tmp_path: Path, source: str, effect: Effect
) -> None:
    pack = read_pack(write_pack(tmp_path, f"{source}async def tool(): ...\n"))

    assert pack.tools["tool"].effect is effect


def test_the_decorators_do_nothing_when_the_pack_runs() -> None:
    def tool() -> None: ...

    assert [mark(tool) for mark in (reads, idempotent, ot_sdk.reads, ot_sdk.idempotent)] == [tool] * 4


@pytest.mark.parametrize(
    ("annotations", "effect"),
    [
        ({"readOnlyHint": True}, Effect.READS),
        ({"idempotentHint": True}, Effect.IDEMPOTENT),
        ({"readOnlyHint": True, "idempotentHint": True}, Effect.READS),
        ({"readOnlyHint": False, "idempotentHint": True}, Effect.IDEMPOTENT),
        ({"readOnlyHint": "true", "idempotentHint": 1}, Effect.UNKNOWN),
        ({"destructiveHint": False}, Effect.UNKNOWN),
        (None, Effect.UNKNOWN),
        (["readOnlyHint"], Effect.UNKNOWN),
    ],
    ids=str,
)
def test_a_server_hints_at_effects_by_annotations(annotations: Any, effect: Effect) -> None:
    tool = {"name": "tool", "inputSchema": {"type": "object"}, "annotations": annotations}

    assert define_pack("x", "x", [tool]).tools["tool"].effect is effect


async def _nothing(_: dict[str, Any]) -> None:
    """Stands for a tool."""


def test_the_persons_word_counts_for_tools_by_either_of_their_names_until_it_is_taken_back() -> None:
    registry = ToolRegistry()
    registry.register(define("git.get_log"), _nothing)
    registry.register(define("git.show_", original="show"), _nothing)
    registry.register(define("git.push", declared=Effect.IDEMPOTENT), _nothing)
    registry.register(define("other.get_log"), _nothing)

    registry.trust_reads({"git": ("get_*", "show")})
    registry.register(define("git.get_late"), _nothing)
    told = {tool.name: tool.effect for tool in registry.definitions()}
    registry.trust_reads({"git": ("push",)})

    assert told == {
        "git.get_log": Effect.READS,
        "git.get_late": Effect.READS,
        "git.show_": Effect.READS,
        "git.push": Effect.IDEMPOTENT,
        "other.get_log": Effect.UNKNOWN,
    }
    assert [tool.effect for tool in registry.definitions() if tool.pack == "git"] == [
        Effect.UNKNOWN,
        Effect.UNKNOWN,
        Effect.READS,
        Effect.UNKNOWN,
    ]
    assert registry.pack("git").tools["push"].effect is Effect.READS


def test_a_change_of_the_persons_word_is_a_change_of_the_registry() -> None:
    registry = ToolRegistry()
    registry.register(define("git.log"), _nothing)
    before = registry.version

    registry.trust_reads({"git": ("log",)})
    after = registry.version
    registry.trust_reads({"git": ("log",)})

    assert before < after == registry.version


def test_full_listings_show_effects() -> None:
    tools = [define("git.log", declared=Effect.READS), define("git.push")]

    listed: Any = list_tools(tools, "", "full", signature_of=lambda tool: tool.signature)

    assert [tool["effect"] for tool in listed] == ["reads", "unknown"]


@pytest.mark.parametrize(
    ("pack", "unknown", "idempotent_tools"),
    [
        ("ot", {"apply", "notify", "pages", "parallel", "undo"}, {"keep", "stats", "reload", "stop"}),
        ("proj", set(), set()),
        ("scaffold", {"extension", "skill"}, set()),
        ("demo", set(), {"block"}),
    ],
)
def test_built_in_packs_declare_their_effects(pack: str, unknown: set[str], idempotent_tools: set[str]) -> None:
    tools = read_pack(BUILT_IN / f"{pack}.py").tools

    assert {name for name, tool in tools.items() if tool.effect is Effect.UNKNOWN} == unknown
    assert {name for name, tool in tools.items() if tool.effect is Effect.IDEMPOTENT} == idempotent_tools
