"""Help about one thing that was asked for by name: a tool, a pack, a snippet, an alias."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import quote

from ot.config.models import DOCS_URL, Config
from ot.errors import CallError
from ot.introspect.listings import Expand, Info, SignatureOf, describe_snippet, example_invocation, whole_description
from ot.introspect.signatures import read_signature
from ot.registry.definitions import Cancellation, PackDefinition, ToolDefinition
from ot.registry.names import shown_name
from ot.registry.registry import ToolRegistry

_LEAST = 200  # characters of the first entry, however little room there is
_DOCUMENTED_AS = {
    "brave": "brave-search",
    "code": "code-search",
    "db": "database",
    "ground": "grounding-search",
    "llm": "transform",
    "web": "web-fetch",
}
_DOCUMENTED_HERE = frozenset({
    "chart", "convert", "demo", "diagram", "file", "git", "notes", "package", "proj", "ripgrep", "scaffold", "shell",
})  # fmt: skip
"""Built-in packs that the default `docs_url` has no pages for; what is known of them is installed with them."""


def describe_tool(tool: ToolDefinition, info: Info, *, docs_url: str, signature: str) -> str:
    """Describe a tool so that it can be called; in full, with its source and everything its author wrote."""
    if info == "list":
        return tool.name
    parts = [f"# {tool.name}", whole_description(tool) if info == "full" else tool.description]
    read = read_signature(tool.python_signature)
    parts += [f"Signature: {signature}", _arguments(tool, read.parameters)]
    if tool.docs.returns:  # without that the signature says all there is
        parts.append(f"Returns: {f'{read.returns}: ' if read.returns else ''}{tool.docs.returns}")
    if tool.docs.example:
        parts.append(f"Example:\n{tool.docs.example}")
    if info == "full":
        origin = {
            "Source": tool.source,
            "File": tool.file,
            "Name at its server": shown_name(tool.original) if tool.original else None,
            "Time limit": None if tool.timeout is None else f"{tool.timeout:g} s",
        }
        parts.append("\n".join(f"{name}: {fact}" for name, fact in origin.items() if fact is not None))
    return _join([*parts, _docs(tool, docs_url)])


def describe_pack(pack: PackDefinition, info: Info, *, config: Config, signature_of: SignatureOf, room: int) -> str:
    tools = [tool for _, tool in sorted(pack.tools.items())]
    lines = [_line(tool, info, signature_of) for tool in tools]
    listed = fit(lines, room, of=len(tools), narrow=f'All names: ot.tools(pattern="{pack.name}.", info="list")')
    if info == "list":
        return listed
    return _join(
        [
            f"# {pack.name}",
            pack.description,
            config.prompts.packs.get(pack.name, "").strip(),
            f"Source: {pack.source}" if info == "full" else "",
            f"Tools ({len(tools)}):\n{listed}",
            _docs(tools[0], config.docs_url) if tools else "",
        ]
    )


def describe_snippet_help(name: str, info: Info, *, config: Config, expand: Expand) -> str:
    if info == "list":
        return f"${name}"
    snippet = config.snippets[name]
    usage = f"Usage: send {example_invocation(name, snippet)} as the whole command."
    return _join([f"# ${name}", describe_snippet(name, snippet, expand), usage])


def describe_alias(name: str, info: Info, *, config: Config, registry: ToolRegistry, signature_of: SignatureOf) -> str:
    target = config.aliases[name]
    if info == "list":
        return name
    try:
        tool = registry.get(target)
    except CallError:
        about = f"There is no tool {target} here."
    else:
        about = f"{tool.description}\nSignature: {signature_of(tool)}"
    usage = f"Usage: call {name}(...) with the arguments of {target}(...)."
    return _join([f"# {name}", f"Alias: {name} -> {target}", about, usage])


def fit(entries: Sequence[str], room: int, *, of: int, narrow: str, count: str = "") -> str:
    """Join as many entries as there is room for, at least one; then say how many are missing, and how to see them."""
    shown: list[str] = []
    for entry in entries:
        if shown and len(entry) >= room:
            break
        shown.append(shorten(entry, max(room, _LEAST)))
        room -= len(entry) + 1
    if len(shown) < of:
        shown.append(f"[{len(shown)} of {count or of} shown. {narrow}]")
    return "\n".join(shown)


def shorten(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def _line(tool: ToolDefinition, info: Info, signature_of: SignatureOf) -> str:
    if info == "list":
        return tool.name
    return f"- {signature_of(tool) if info == 'full' else tool.name}: {tool.description}"


def _arguments(tool: ToolDefinition, types: Mapping[str, str]) -> str:
    names = dict.fromkeys([*types, *tool.docs.arguments])
    lines = []
    for name in names:
        kind, text = types.get(name, ""), tool.docs.arguments.get(name, "")
        lines.append(f"- {name}{f' ({kind})' if kind else ''}{f': {text}' if text else ''}")
    return "Args:\n" + "\n".join(lines) if lines else ""


def _docs(tool: ToolDefinition, base: str) -> str:
    """Name the page of a tool's pack below `docs_url`: most have the pack's name; extensions and servers have none."""
    if tool.cancellation in (Cancellation.WORKER, Cancellation.PROXY, Cancellation.SKILL):
        return ""
    if base == DOCS_URL and tool.pack in _DOCUMENTED_HERE:
        return f"Docs: onetool help {tool.pack}"  # for a person, at the command line
    return f"Docs: {base.rstrip('/')}/{quote(_DOCUMENTED_AS.get(tool.pack, tool.pack))}/"


def _join(parts: Iterable[str]) -> str:
    return "\n\n".join(part for part in parts if part)
