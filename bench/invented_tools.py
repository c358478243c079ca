"""Tools that nobody has, described as real ones are: as many as a benchmark wants."""

from __future__ import annotations

import random

from bench.labelled_sets import Tool
from ot.registry.ranking.words import SYNONYMS


def invent_tool(chance: random.Random, number: int) -> Tool:
    """One of as many as are wanted, in packs of forty."""
    properties = {invent_text(chance, 1): {"description": invent_text(chance, 6)} for _ in range(3)}
    return {
        "key": str(number),
        "pack": f"pack{number // 40}",
        "name": invent_text(chance, 3).replace(" ", "_"),
        "description": invent_text(chance, 25),
        "inputSchema": {"properties": properties},
    }


def invent_text(chance: random.Random, length: int) -> str:
    """Words of the kind that tools are described with: some are everywhere, as many again nearly nowhere."""
    common = sorted(SYNONYMS)
    usual = [common[int(len(common) * chance.random() ** 2)] for _ in range(length)]
    return " ".join(word if chance.random() < 0.6 else _invent_word(chance) for word in usual)


def _invent_word(chance: random.Random) -> str:
    """One of some thousand words."""
    return "".join(chance.choice("bdfgklmnprstvz") + chance.choice("aeiou") for _ in range(chance.choice((2, 2, 2, 3))))
