"""YAML that people write by hand, read as texts, lists and mappings only, and safe against text made to hurt.

No value is guessed to be a number or a date: a title "2024" is a text. Aliases are refused, so nothing can expand,
and depth is counted on the parser's events before anything is built, because building recurses.
"""

from __future__ import annotations

from collections.abc import Mapping

import yaml

from mcp_core.json_types import JsonObject
from mcp_guide.errors import YamlError
from mcp_guide.folder import Folder

TEXT_LIMIT = 64 * 1024  # characters
MAX_DEPTH = 16
_Loader: type[yaml.BaseLoader] = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_Dumper: type[yaml.SafeDumper] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def read_mapping(text: str) -> JsonObject:
    """Read one mapping, empty where there is no text; raises YamlError with the line, the first being 1."""
    if len(text) > TEXT_LIMIT:
        raise YamlError(f"is longer than {TEXT_LIMIT} characters")
    try:
        _check(text)
        value = _Loader(text).get_single_data()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlError(f"is not valid YAML: {error.problem}", line=mark.line + 1 if mark else None) from None
    except yaml.YAMLError as error:
        line = text.count("\n", 0, getattr(error, "position", 0)) + 1
        raise YamlError("contains a character that YAML does not allow", line=line) from None
    if value is None or value == "":
        return {}
    if not isinstance(value, dict):
        raise YamlError("is not a mapping of keys to values", line=1)
    return value


def read_mapping_file(folder: Folder, name: str) -> JsonObject:
    """Read a file as `read_mapping` does, empty where there is none; its errors name the file."""
    try:
        data = folder.read(name, limit=TEXT_LIMIT)
    except FileNotFoundError:
        return {}
    try:
        return read_mapping(data.decode("utf-8-sig", "replace"))
    except YamlError as error:
        raise YamlError(error.reason, error.line, name) from None


def write_mapping(value: Mapping[str, object]) -> str:
    """Write a mapping of texts, lists and mappings, its keys in their order."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1_000_000)
    return text


def one_line(value: object) -> str:
    """Put a text on one line, in characters that a file can hold; anything but a text becomes an empty one."""
    if not isinstance(value, str):
        return ""
    return " ".join(value.encode("utf-8", "backslashreplace").decode().split())


def _check(text: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            raise YamlError("contains an alias; put text that begins with * in quotes", line=line)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise YamlError(f"is nested more than {MAX_DEPTH} levels deep", line=line)
