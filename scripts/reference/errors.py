"""Every error of the engine: when it is raised, what code may catch it as, and what it says."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator

from ot import errors
from ot.execution import wording
from scripts.reference.tables import in_cell, render_table


def render_errors() -> str:
    words = dict(_sentences())
    rows = (_row(kind, words.get(kind.__name__, "")) for kind in _kinds(errors.OneToolError))
    return render_table(("error", "when", "caught as", "what it says"), rows)


def _kinds(root: type[errors.OneToolError]) -> Iterator[type[errors.OneToolError]]:
    """Yield the errors below a root as the tree in `ot/errors.py` has them."""
    for kind in root.__subclasses__():
        if kind.__module__ == errors.__name__:
            yield kind
            yield from _kinds(kind)


def _row(kind: type[errors.OneToolError], words: str) -> tuple[str, str, str, str]:
    about = (kind.__doc__ or "").partition("\n\n")[0]
    return f"`{kind.__name__}`", in_cell(about), f"`{kind.caught_as}`", in_cell(words).replace("<", "&lt;")


def _sentences() -> Iterator[tuple[str, str]]:
    """Yield the sentences that are a single text, with the names of the facts in it; others depend on the case."""
    for node in ast.walk(ast.parse(inspect.getsource(wording))):
        match node:
            case ast.AnnAssign(target=ast.Name(id="_SENTENCES"), value=ast.Dict(keys=keys, values=values)):
                for pair in zip(keys, values, strict=True):
                    match pair:
                        case ast.Attribute(attr=kind), ast.Constant(value=str(text)):
                            yield kind, re.sub(r"\{error\.(\w+)[^}]*\}", r"<\1>", text)
                        case ast.Attribute(attr=kind), ast.Lambda(body=ast.Constant() | ast.JoinedStr() as body):
                            yield kind, _text(body)


def _text(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(_text(part.value) if isinstance(part, ast.FormattedValue) else _text(part) for part in parts)
        case ast.Attribute(value=ast.Name(id="error"), attr=fact):
            return f"<{fact}>"
    facts = [
        each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute) and ast.unparse(each.value) == "error"
    ]
    return f"<{facts[0]}>" if len(facts) == 1 else "…"
