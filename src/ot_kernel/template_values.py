"""A snippet's values, put into the tree as data: whatever a value holds, it cannot become code."""

from __future__ import annotations

import ast
import json
import re


class TemplateValueError(ValueError):
    """A value stands where only code can: inside a name."""

    def __init__(self, line: int) -> None:
        super().__init__(f"line {line}: a template value is used inside a name; values can only be literals or text")
        self.line = line


def insert_values(tree: ast.Module, values: dict[str, str]) -> None:
    """Replace every placeholder: inside a string, in the string; bare, as a literal."""
    _Insertion(values).visit(tree)


def as_literal(text: str) -> str | float | None:
    """Return a number, true, false or null if the text is one; otherwise the text itself."""
    try:
        value = json.loads(text, parse_constant=_refuse_word)
    except (ValueError, RecursionError):
        return text
    return text if isinstance(value, list | dict | str) else value


def _refuse_word(word: str) -> None:
    """Refuse NaN and Infinity, which Python's JSON knows; here they are words like any other."""
    raise ValueError(word)


class _Insertion(ast.NodeTransformer):
    def __init__(self, values: dict[str, str]) -> None:
        self._values = values
        self._places = re.compile("|".join(map(re.escape, values)))
        self._places_in_bytes = re.compile(self._places.pattern.encode())

    def visit(self, node: ast.AST) -> ast.AST:
        match node:
            case ast.Name(id=name) if name in self._values and isinstance(node.ctx, ast.Load):
                return ast.copy_location(ast.Constant(as_literal(self._values[name])), node)
            case ast.Constant(value=str(text)):
                node.value = self._places.sub(lambda found: self._values[found[0]], text)
                return node
            case ast.Constant(value=bytes(data)):
                node.value = self._places_in_bytes.sub(self._as_bytes, data)
                return node
        self._refuse_in_names(node)
        return self.generic_visit(node)

    def _as_bytes(self, found: re.Match[bytes]) -> bytes:
        return self._values[found[0].decode()].encode("utf-8", "surrogatepass")

    def _refuse_in_names(self, node: ast.AST) -> None:
        for field in node._fields:
            value = getattr(node, field, None)
            texts = value if isinstance(value, list) else [value]
            for text in texts:
                if isinstance(text, str) and self._places.search(text):
                    raise TemplateValueError(getattr(node, "lineno", 1))
