"""Matches of syntax in texts, by ast-grep. Everything here runs in a helper process, which has no files.

The library panics where it cannot go on, by an exception that is no `Exception`: that costs the one file it was about.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from ast_grep_py import SgNode, SgRoot

from ot.errors import ToolError
from ot_packs.code import patches
from ot_packs.code.languages import FUNCTION, LANGUAGES, METHOD

LONGEST_TEXT = 2000  # characters of a match that are shown
_FUNCTIONS = ("function", "arrow_function", "function_expression", "generator_function")
_NO_NAMES = ("string", "comment", "heredoc", "text", "content", "char")
_CAUSE = re.compile(r"^ {4}\d+: (\S.*)$", re.MULTILINE)  # without a backtrace, which is indented otherwise

Source = tuple[str, str, str]  # path, text and language of a file
Made = TypeVar("Made")


class _UnreadableError(Exception):
    """The library could not go on."""


def find_in(*, sources: Sequence[Source], pattern: str, language: str, limit: int) -> patches.Batch[dict[str, object]]:
    """Find a pattern; returns up to `limit` matches, the number of all, and files that could not be read."""
    check_pattern(pattern, language)
    names = patches.METAVARIABLE.findall(pattern)

    def look(root: SgNode, source: Source) -> Iterator[dict[str, object]]:
        for node in root.find_all(pattern=pattern):
            place = node.range()
            yield {
                "path": source[0],
                "line": place.start.line + 1,
                "column": place.start.column + 1,
                "end_line": place.end.line + 1,
                "text": node.text()[:LONGEST_TEXT],
                "captures": _captures(node, names),
            }

    return _collect(sources, look, limit, incomplete=_is_incomplete(pattern, language))


def symbols_in(*, sources: Sequence[Source], limit: int) -> patches.Batch[dict[str, object]]:
    """List what is declared, in the order of the text."""
    return _collect(sources, _declared, limit)


def references_in(*, sources: Sequence[Source], name: str, limit: int) -> patches.Batch[dict[str, object]]:
    """Find where an identifier stands in code, and not in a text or a comment."""
    escaped = "".join(sign if sign.isalnum() or sign == "_" else f"\\{sign}" for sign in name)

    def look(root: SgNode, source: Source) -> Iterator[dict[str, object]]:
        lines = source[1].split("\n")
        for node in root.find_all(regex=f"^{escaped}$"):
            if not node.is_named_leaf() or any(word in node.kind() for word in _NO_NAMES):
                continue
            place = node.range().start
            yield {
                "path": source[0],
                "line": place.line + 1,
                "column": place.column + 1,
                "text": lines[place.line].strip()[:LONGEST_TEXT],
                "declares": _declares(node, source[2]),
            }

    return _collect(sources, look, limit)


def rewrite_in(*, sources: Sequence[Source], pattern: str, replacement: str, language: str) -> patches.Rewritten:
    """Replace every match; returns path, number of matches, new text and diff of each file that changes."""
    check_pattern(pattern, language)
    template = patches.Template(replacement, {name for _, name in patches.METAVARIABLE.findall(pattern)})

    def look(root: SgNode, source: Source) -> Iterator[patches.Edit]:
        behind = -1
        for node in root.find_all(pattern=pattern):
            start, end = node.range().start.index, node.range().end.index
            if behind <= start < end:  # a match inside of another one is part of that one's text and stays as it is
                behind = end
                nodes = {name: _captured(node, name, several=several) for name, several in template.names}
                yield patches.Edit(start, end, template.fill(source[1], start, nodes))

    changed, unread = list[patches.ChangedFile](), list[str]()
    for source in sources:
        path, text, _ = source
        edits = _read(source, look, unread)
        if patch := patches.write_patch(path, text, edits):
            changed.append(
                {"path": path, "matches": len(edits), "text": patches.apply_edits(text, edits), "diff": patch}
            )
    return {"changed": changed, "unread": unread, "incomplete": _is_incomplete(pattern, language)}


def check_pattern(pattern: str, language: str) -> None:
    """Raise ToolError for a pattern that is not one piece of code."""
    try:
        _guarded(lambda: SgRoot("", language).root().find(pattern=pattern))
    except (RuntimeError, _UnreadableError) as error:
        causes = _CAUSE.findall(str(error)) or [str(error)]
        raise ToolError(f"the pattern is not one piece of {language} code: {causes[-1].replace('µ', '$')}") from error


def _is_incomplete(pattern: str, language: str) -> bool:
    """True if the pattern has a mistake when it stands alone, so that it probably matches nothing."""
    root = SgRoot(pattern.replace("$", "µ"), language).root()
    return _guarded(lambda: root.find(kind="ERROR")) is not None


def _collect(
    sources: Sequence[Source],
    look: Callable[[SgNode, Source], Iterator[patches.Item]],
    limit: int,
    *,
    incomplete: bool = False,
) -> patches.Batch[patches.Item]:
    found, unread, total = list[patches.Item](), list[str](), 0
    for source in sources:
        here = _read(source, look, unread)
        total += len(here)
        found += here[: limit - len(found)]
    return {"found": found, "total": total, "unread": unread, "incomplete": incomplete}


def _read(source: Source, look: Callable[[SgNode, Source], Iterator[Made]], unread: list[str]) -> list[Made]:
    """Look through one source; one that the library cannot read, or not in reasonable time, is noted."""
    try:
        if any(len(line) > 20_000 for line in source[1].split("\n")):  # characters; only generated code has more
            raise _UnreadableError("the places in a line take the square of its length to find")
        return _guarded(lambda: list(look(SgRoot(source[1], source[2]).root(), source)))
    except _UnreadableError:
        unread.append(source[0])
        return []


def _guarded(call: Callable[[], Made]) -> Made:
    try:
        return call()
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise _UnreadableError(str(error)) from None


def _captures(node: SgNode, names: Sequence[tuple[str, str]]) -> dict[str, str]:
    captures = {}
    for kind, name in names:
        nodes = _captured(node, name, several=kind == "$$$")
        # Of several, all from the first to the last, with what stands between them.
        begin = node.range().start.index
        ends = (nodes[0].range().start.index - begin, nodes[-1].range().end.index - begin) if nodes else (0, 0)
        captures[name] = node.text()[slice(*ends)][:LONGEST_TEXT]
    return captures


def _captured(node: SgNode, name: str, *, several: bool) -> Sequence[SgNode]:
    if several:
        return node.get_multiple_matches(name)
    found = node.get_match(name)
    return () if found is None else (found,)


def _declared(root: SgNode, source: Source) -> Iterator[dict[str, object]]:
    kinds = LANGUAGES[source[2]].symbols
    inside: list[tuple[int, str, str]] = []  # declarations around this one: where each ends, its name, its kind
    for node in root.find_all(any=[{"kind": kind} for kind in kinds]):
        name = _name_of(node)
        if name is None or not _is_declaration(node):
            continue
        place = node.range()
        while inside and inside[-1][0] <= place.start.index:
            inside.pop()
        kind = kinds[node.kind()]
        if kind == FUNCTION and inside and inside[-1][2] not in (FUNCTION, METHOD, "module"):
            kind = METHOD
        yield {
            "path": source[0],
            "name": name.text()[:200],
            "kind": kind,
            "line": place.start.line + 1,
            "end_line": place.end.line + 1,
            "inside": ".".join(name for _, name, _ in inside),
        }
        inside.append((place.end.index, name.text()[:200], kind))


def _is_declaration(node: SgNode) -> bool:
    kind = node.kind()
    if kind == "variable_declarator":
        value = node.field("value")
        return value is not None and value.kind() in _FUNCTIONS
    if kind.endswith("_specifier"):  # `struct point p;` only names one
        return node.field("body") is not None
    return True


def _name_of(node: SgNode) -> SgNode | None:
    """Return the node with the name: a field, or deep inside of what C calls a declarator."""
    if node.kind() == "impl_item":
        return node.field("type")
    for field in ("name", "declarator"):
        found = node.field(field)
        if found is not None:
            while field == "declarator" and (inner := found.field(field)) is not None:
                found = inner
            return found
    return next((child for child in node.children() if child.kind().endswith("identifier")), None)


def _declares(node: SgNode, language: str) -> bool:
    for parent in node.ancestors()[:4]:
        if parent.kind() in LANGUAGES[language].symbols:
            name = _name_of(parent)
            if name is None or not _is_declaration(parent):
                return False
            own, place = name.range(), node.range()
            return (own.start.index, own.end.index) == (place.start.index, place.end.index)
    return False
