"""Definitions of the tools of another MCP server, out of what it lists: plain JSON, which may hold anything.

Every tool that has a name gets a definition and can be called. What cannot be understood or checked is left open, and
noted as a problem of the server.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from pathlib import Path

from mcp_core.json_types import Json, Schema
from mcp_core.quick_dataclass import replace
from ot.effects import Effect
from ot.errors import PackLoadError
from ot.registry.definitions import PROXY, Cancellation, Late, PackDefinition, ToolDefinition, ToolDocs, define_late
from ot.registry.docstrings import drop_arguments, is_one_line, parse_docstring
from ot.registry.names import assign_identifiers
from ot.registry.open_results import leaves_open, result_schema
from ot.registry.schema_copy import names_in
from ot.registry.schema_parameters import MAX_LEVELS, MAX_TEXT, Parameters, read_parameters
from ot.registry.schema_text import ANY, annotation_of, default_text, detailed_annotation, fields_of, plain_type

MAX_TOOLS = 5_000
MAX_DESCRIPTION = 10_000
MAX_SUMMARY = 400
MAX_SHOWN = 100  # parameters
_MAX_ARGUMENT = 500
REFUSED = "refused"  # why a tool of a list was left out: in its place stands its name, with the reason under this key
_NAMING = frozenset({"$ref", "allOf", "anyOf", "oneOf"})  # in a schema: they may name parameters
Tool = Mapping[str, Json]  # one item of a server's tools/list
Annotate = Callable[[object, object], str]
"""Writes the type that a schema asks for, given the schema and what it is part of."""


def define_pack(
    server: str,
    pack: str,
    tools: Iterable[object],
    *,
    description: str = "",
    timeout: float | None = None,
    problems: list[PackLoadError] | None = None,
    finish: Callable[[ToolDefinition], ToolDefinition] = lambda tool: tool,
    for_views: Collection[str] = (),
) -> PackDefinition:
    """Every tool of a server under the pack's name; what is wrong with one is added to `problems`."""
    # Which tool gets which identifier depends on all their names, so all tools are defined together. Most of a plain
    # one is made when somebody looks at it, and by `finish`: a server may have thousands.
    notes = problems if problems is not None else []
    source = f"{PROXY}{server}"
    usable = _usable(tools, source, notes)
    identifiers = assign_identifiers(usable, fallback="tool")
    defined: dict[str, ToolDefinition] = {}
    for name, tool in usable.items():
        short = identifiers[name]
        shows = name not in for_views
        define = partial(_define, f"{pack}.{short}", tool, source=source, timeout=timeout, finish=finish, shows=shows)
        if shows and (plain := _read_plain(tool)) is not None:
            schema, summary, body = plain
            late = Late(define, lambda schema: read_parameters(dict(schema)).schema, schema, body)
            own, effect = "" if name == short else name, _hinted_effect(tool.get("annotations"))
            full = f"{pack}.{short}"
            defined[short] = define_late(full, summary, late, source=source, original=own, declared=effect)
            continue
        parameters = read_parameters(tool.get("inputSchema"))
        if parameters.problem:
            notes.append(PackLoadError(Path(source), f"{clean_text(name, 100)}: {parameters.problem}"))
        if REFUSED in tool:
            reason = (
                f"{clean_text(name, 100)} is described against the protocol ({clean_text(tool[REFUSED], MAX_SUMMARY)})"
            )
            notes.append(PackLoadError(Path(source), f"{reason}, so it cannot be called"))
        defined[short] = define(parameters)
    return PackDefinition(pack, clean_text(description, MAX_DESCRIPTION), source, None, defined)


def _read_plain(tool: Tool) -> tuple[Schema, str, str] | None:
    """Its schema and its texts, if a search finds the same words there as in the whole definition; else None."""
    schema = tool.get("inputSchema")
    if not isinstance(schema, dict) or REFUSED in tool or not _NAMING.isdisjoint(schema):
        return None
    properties, required = schema.get("properties", {}), names_in(schema.get("required"))
    if not isinstance(properties, dict) or schema.get("type", "object") != "object" or not _is_small(schema):
        return None
    written, summary, body = _read_text(tool)
    plain = summary and not written and properties.keys() >= set(required)
    return (schema, summary, body) if plain else None


def _is_small(schema: Schema) -> bool:
    """True if nothing of a schema can be cut."""
    try:
        shown = repr(schema)
    except RecursionError:
        return False
    return len(shown) <= MAX_TEXT and shown.count("{") + shown.count("[") <= MAX_LEVELS


def _usable(tools: Iterable[object], source: str, notes: list[PackLoadError]) -> dict[str, Tool]:
    """The tools that have a name to be called by, each name once."""
    found: dict[str, Tool] = {}
    for number, item in enumerate(tools):
        tool = item if isinstance(item, Mapping) else {}
        name = tool.get("name")
        if len(found) >= MAX_TOOLS:
            notes.append(PackLoadError(Path(source), f"it lists more than {MAX_TOOLS} tools; the rest is left out"))
            break
        if not isinstance(name, str) or not name:
            reason = f"tool {number + 1} of its list has no name, so it cannot be called"
            notes.append(PackLoadError(Path(source), reason))
        elif name in found:
            notes.append(PackLoadError(Path(source), f"it lists {clean_text(name, 100)} twice; the first one counts"))
        else:
            found[name] = tool
    return found


def _define(
    name: str,
    tool: Tool,
    parameters: Parameters | None = None,
    *,
    source: str,
    timeout: float | None,
    finish: Callable[[ToolDefinition], ToolDefinition],
    shows: bool,
) -> ToolDefinition:
    parameters = parameters or read_parameters(tool.get("inputSchema"))
    returned = result_schema(tool.get("outputSchema"))
    signature = _signature(name, parameters, returned, detailed_annotation)
    alike = returned is None and all(plain_type(each.schema) is not None for each in parameters.listed)
    plain = signature if alike else _signature(name, parameters, returned, annotation_of)
    docs = _read_docs(tool, parameters, returned)
    own_name, result = str(tool["name"]), _result_text(returned, detailed_annotation)
    lacks = f"describes it against the protocol ({clean_text(tool[REFUSED], MAX_SUMMARY)})" if REFUSED in tool else ""
    if not shows and not lacks:
        lacks = "offers it to its own views only"
    elif lacks:
        docs = replace(docs, summary=f"(Cannot be called: its server {lacks}.) {docs.summary}".strip())
    made = ToolDefinition(
        name=name,
        description=docs.summary or signature,
        parameters=parameters.schema,
        signature=signature,
        cancellation=Cancellation.PROXY,
        source=source,
        docs=docs,
        timeout=timeout,
        original="" if own_name == name.partition(".")[2] else own_name,
        spellings=parameters.spellings,
        declared=_hinted_effect(tool.get("annotations")),
        plain_signature=plain if plain != signature else "",
        # Plain text leaves open what comes back, too: it may be JSON.
        open_result=result if result == "str" or leaves_open(returned, returned) else None,
        lacks=lacks,
        for_views=not shows,
    )
    return finish(made)


def _hinted_effect(annotations: object) -> Effect:
    if not isinstance(annotations, Mapping):
        return Effect.UNKNOWN
    hints = ((Effect.READS, "readOnlyHint"), (Effect.IDEMPOTENT, "idempotentHint"))
    return next((effect for effect, hint in hints if annotations.get(hint) is True), Effect.UNKNOWN)


def _signature(name: str, parameters: Parameters, returned: object, annotate: Annotate) -> str:
    root = parameters.schema
    shown = parameters.listed[:MAX_SHOWN]
    texts = []
    for parameter in shown:
        default = "" if parameter.required else f" = {default_text(parameter.schema)}"
        texts.append(f"{parameter.shown}: {annotate(parameter.schema, root)}{default}")
    others = root.get("additionalProperties")
    if others not in (None, False) or len(shown) < len(parameters.listed):
        names = [*(parameter.shown for parameter in shown), "\0others"]
        texts.append(f"**{assign_identifiers(names, fallback='others')[names[-1]]}: {annotation_of(others, root)}")
    result = _result_text(returned, annotate)
    return f"{name}({', '.join(texts)})" + (f" -> {result}" if result else "")


def _result_text(returned: object, annotate: Annotate) -> str:
    """The annotation of what comes back; empty where nothing is said of it."""
    result = ANY if returned is None else annotate(returned, returned)
    return "" if result == ANY else result


def _read_text(tool: Tool) -> tuple[Mapping[str, str], str, str]:
    """Read a description as a docstring: its arguments, its summary, and the rest."""
    text = clean_text(tool.get("description"), MAX_DESCRIPTION)
    if text and len(text) <= MAX_SUMMARY and is_one_line(text):  # most are
        return {}, " ".join(text.split()), ""
    written = parse_docstring(text)
    summary = written.summary
    if not summary:
        annotations = tool.get("annotations")
        titles = (tool.get("title"), annotations.get("title") if isinstance(annotations, Mapping) else None)
        summary = next((_one_line(title) for title in titles if _one_line(title)), "")
    first, _, rest = text.partition("\n\n")
    if len(summary) > MAX_SUMMARY:
        summary, rest = f"{summary[:MAX_SUMMARY]}…", text
    elif written.summary != " ".join(first.split()):
        rest = text  # a heading stands in the first paragraph already
    return written.arguments, summary, rest.strip()


def _read_docs(tool: Tool, parameters: Parameters, returned: object) -> ToolDocs:
    """Return the texts about a tool, with the fields of arguments and result that the signature does not tell."""
    written, summary, body = _read_text(tool)
    arguments: dict[str, str] = {}
    for parameter in parameters.listed[:MAX_SHOWN]:
        described = parameter.schema.get("description") if isinstance(parameter.schema, dict) else None
        text = _one_line(described) or written.get(parameter.name, "")
        fields = _untold_fields(parameter.schema, parameters.schema)
        if text or fields:
            arguments[parameter.shown] = f"{text[:_MAX_ARGUMENT]} {fields}".strip()
    if written and set(arguments.values()).issuperset(written.values()):
        body = drop_arguments(body)  # each of them is told of anyway
    fields = _untold_fields(returned, returned)
    returns = f"{annotation_of(returned, returned)} of {fields}" if fields else ""
    return ToolDocs(summary=summary, arguments=arguments, returns=returns, body=body)


def _untold_fields(schema: object, root: object) -> str:
    """The fields of an object that are too many for the signature."""
    if schema is None or plain_type(schema) is not None:
        return ""
    told = annotation_of(schema, root) != detailed_annotation(schema, root)
    return "" if told else _one_line(fields_of(schema, root))


def _one_line(value: object) -> str:
    return " ".join(clean_text(value, _MAX_ARGUMENT).split())


def clean_text(value: object, limit: int) -> str:
    """Text of a server, for people and models: nothing invisible in it that could hide what it says."""
    if not isinstance(value, str):
        return ""
    kept = value[:limit]
    if not kept.replace("\n", "").isprintable():
        # No control characters, directions, tags, halves of characters; joiners belong to some scripts and to emoji.
        kept = "".join(c for c in kept if c in "\n\t\u200c\u200d" or unicodedata.category(c) not in {"Cc", "Cf", "Cs"})
    return f"{kept}… (cut: {len(value):,} characters)" if len(value) > limit else kept
