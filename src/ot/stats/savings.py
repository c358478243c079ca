"""Savings of runs, measured: tokens that never entered a client's context, and turns that its model never took.

Tokens. Each is counted once, when it enters the context; that it is sent again with every later request is left out on
both sides. If the same tools were connected directly, the context would hold the definitions of their packs, once a
session; a message for each call; and the result of each call, cut as clients cut it. What it does hold is our one
definition, and the command and answer of each run. Tools of the `ot` pack exist only because of us: looking for a tool
costs here and would cost nothing there. Calls that tools make among themselves would have happened there too.

Time. A run that calls several tools saves the turns between them. The direct way is given the benefit of the doubt:
all calls of one tool count as one turn, and so do tools whose calls overlap. What a turn takes is not assumed but
measured: the lower quartile of the pauses between an answer and the same client's next command. What runs took beside
their calls is subtracted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from ot.registry.definitions import ToolDefinition
from ot.registry.registry import ToolRegistry
from ot.stats.figures import Offered, Savings, TimeSaved
from ot.stats.scope import Scope
from ot.stats.tokens import MEDIA_TOKENS, TEXT_RATIO, WIRE_RATIO, Kind, estimate

OWN_PACKS = ("ot", "onetool")
MOST_RESULT = 25_000  # tokens: where clients cut the result of a tool (Claude Code's default)
LONGEST_PAUSE = 60.0  # seconds; after a longer one somebody was thinking, or away
FEWEST_PAUSES = 5
# The calls that the direct way would have made too, in whose context somebody's tokens count.
_COMPARABLE = " AND ".join(
    ["depth = 0", *(f"tool NOT LIKE '{pack}.%'" for pack in OWN_PACKS), "tool NOT LIKE '(%'", "client <> ''"]
)


def _tokens(size: str, kind: str, ratios: Mapping[Kind, float]) -> str:
    """SQL for the tokens of a column of bytes, by a column of kinds."""
    cases = " ".join(f"WHEN '{name}' THEN {size} / {ratio}" for name, ratio in ratios.items())
    return f"(CASE {kind} {cases} WHEN '{Kind.MEDIA}' THEN {MEDIA_TOKENS} ELSE {size} / {ratios[Kind.DATA]} END)"


# 24 bytes around arguments, and 18 around a value, are of our own wire.
_CALL_TOKENS = _tokens("MAX(sent - 24, 0)", "sent_kind", WIRE_RATIO)
_RESULT_TOKENS = f"MIN({_tokens('MAX(received - 18, 0)', 'received_kind', WIRE_RATIO)}, {MOST_RESULT})"
_COMMAND_TOKENS = _tokens("command_bytes", "command_kind", TEXT_RATIO)
_ANSWER_TOKENS = f"({_tokens('answer_bytes', 'answer_kind', TEXT_RATIO)} + attachments * {MEDIA_TOKENS})"


def measure_savings(scope: Scope, *, registry: ToolRegistry, own_definition: str) -> tuple[Savings, int]:
    """The savings, and how many runs cost more than they saved (definitions, which belong to no single run, apart)."""
    row = scope.select(f"""
        WITH direct AS (
            SELECT run, SUM({_CALL_TOKENS}) AS calls, SUM({_RESULT_TOKENS}) AS results
            FROM calls JOIN runs ON runs.id = run WHERE {scope.runs} AND {_COMPARABLE} GROUP BY run
        ), sent AS (
            SELECT id, {_COMMAND_TOKENS} AS commands, {_ANSWER_TOKENS} AS answers
            FROM runs WHERE {scope.runs} AND client <> ''
        )
        SELECT SUM(calls), SUM(results), SUM(commands), SUM(answers),
               SUM(commands + answers > COALESCE(calls + results, 0))
        FROM sent LEFT JOIN direct ON direct.run = sent.id
    """).fetchone()
    calls, results, commands, answers, dearer = (round(value or 0) for value in row)
    definitions, sessions = _measure_definitions(scope, registry)
    own = sessions * estimate(len(own_definition.encode()), Kind.DEFINITION)
    return Savings(definitions, calls, results, round(own), commands, answers), dearer


def _measure_definitions(scope: Scope, registry: ToolRegistry) -> tuple[int, int]:
    """Definitions of the packs that each session used, and how many sessions there were.

    A session is one client of one server. Packs are taken as they are today; one that is gone counts nothing.
    """
    sessions = scope.select(
        f"SELECT COUNT(*) FROM (SELECT DISTINCT server, client FROM runs WHERE {scope.runs} AND client <> '')"
    ).fetchone()[0]
    used = scope.select(f"""
        SELECT pack, COUNT(*) FROM (
            SELECT DISTINCT server, client, substr(tool, 1, instr(tool, '.') - 1) AS pack
            FROM calls JOIN runs ON runs.id = run WHERE {scope.runs} AND {_COMPARABLE}
        ) GROUP BY pack
    """).fetchall()
    known = {pack.name: pack for pack in registry.packs()}
    by_pack = ((count, known[name].tools.values()) for name, count in used if name in known)
    return round(sum(count * sum(map(definition_tokens, tools)) for count, tools in by_pack)), sessions


def measure_offer(registry: ToolRegistry, own_definition: str) -> Offered:
    """Estimate what every request would carry if all tools were connected directly, beside what it carries now."""
    tools = [tool for tool in registry.definitions() if tool.pack not in OWN_PACKS]
    own = estimate(len(own_definition.encode()), Kind.DEFINITION)
    return Offered(len(tools), round(sum(map(definition_tokens, tools))), round(own))


def definition_tokens(tool: ToolDefinition) -> float:
    """Estimate the tokens of a definition."""
    return estimate(len(write_definition(tool).encode("utf-8", "replace")), Kind.DEFINITION)


def write_definition(tool: ToolDefinition) -> str:
    """Write a definition as a client holds it in its context if it is connected to this tool directly."""
    told = {"name": tool.name, "description": tool.description, "inputSchema": tool.parameters}
    return json.dumps(told, separators=(",", ":"), ensure_ascii=False)


def measure_time(scope: Scope) -> TimeSaved:
    """Turns that runs made unnecessary, and the time that runs took beside their calls."""
    compared = f"FROM calls JOIN runs ON runs.id = run WHERE {scope.runs} AND {_COMPARABLE}"
    turns, runs = scope.select(f"""
        WITH spans AS (
            SELECT run, MIN(calls.ended - calls.seconds) AS began, MAX(calls.ended) AS ended {compared}
            GROUP BY run, tool
        ), ordered AS (
            SELECT run, began, MAX(ended) OVER (
                PARTITION BY run ORDER BY began, ended ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ) AS before FROM spans
        )
        SELECT SUM(before IS NULL OR began >= before), COUNT(DISTINCT run) FROM ordered
    """).fetchone()
    own = scope.select(f"""
        WITH ordered AS (
            SELECT run, calls.ended - calls.seconds AS began, calls.ended AS ended, MAX(calls.ended) OVER (
                PARTITION BY run ORDER BY calls.ended - calls.seconds ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ) AS before {compared}
        ), busy AS (
            SELECT run, SUM(MAX(ended - MAX(began, COALESCE(before, began)), 0)) AS seconds FROM ordered GROUP BY run
        )
        SELECT SUM(MAX(runs.seconds - busy.seconds, 0)) FROM busy JOIN runs ON runs.id = busy.run
    """).fetchone()[0]
    # Seconds between an answer and the same client's next command, shortest first.
    pauses = scope.select(f"""
        SELECT pause FROM (
            SELECT ended - seconds - LAG(ended) OVER (PARTITION BY server, client ORDER BY ended - seconds) AS pause
            FROM runs WHERE ended >= :since AND client <> ''
        ) WHERE pause > 0 AND pause <= {LONGEST_PAUSE} ORDER BY pause
    """).fetchall()
    turn_ms = max(round(pauses[len(pauses) // 4][0] * 1000), 1) if len(pauses) >= FEWEST_PAUSES else 0
    return TimeSaved((turns or 0) - (runs or 0), turn_ms, len(pauses), round((own or 0) * 1000))
