"""The table of all configuration keys."""

from __future__ import annotations

from ot.config.keys import INCLUDE, INCLUDE_WORDS, Key, known_keys
from ot.config.section import AT_ONCE
from ot.config.template import with_range, word_value
from ot.config.values import REQUIRED
from scripts.reference.tables import render_table


def render_keys() -> str:
    keys = known_keys()
    last_of_packs = max(index for index, key in enumerate(keys) if key.path[0] == "packs")
    rows = [_row(key) for key in keys]
    rows.insert(last_of_packs + 1, ("`packs.*.<key>`", "none", "whatever else the pack itself reads", AT_ONCE))
    rows.insert(0, (f"`{INCLUDE}`", "`[]`", INCLUDE_WORDS, AT_ONCE))
    return render_table(("key", "default", "meaning", "takes effect"), rows)


def _row(key: Key) -> tuple[str, str, str, str]:
    words = with_range(key.words, key.field).replace("](", "](../")  # the words link to pages beside this folder
    return f"`{'.'.join(key.path)}`", _word_default(key), words, str(key.when)


def _word_default(key: Key) -> str:
    if key.field.default is REQUIRED:
        return "required"
    return "none" if key.default is None else f"`{word_value(key.default, key.field)}`"
