"""The parts of a signature's text: the types of its parameters and of its result."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

_LONGEST = 20_000


@dataclass(frozen=True, slots=True)
class SignatureParts:
    """Annotations as they stand in the source, with the default behind them: `int = 5`."""

    parameters: dict[str, str] = field(default_factory=dict)
    returns: str = ""


def read_signature(signature: str) -> SignatureParts:
    """Take apart `pack.tool(a: int, *, b: str = 'x') -> bool`; empty where that is not Python."""
    arguments = signature[signature.find("(") :]
    if len(signature) > _LONGEST:
        return SignatureParts()
    try:
        [function] = ast.parse(f"def _{arguments}: ...").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return SignatureParts()
    if not isinstance(function, ast.FunctionDef):
        return SignatureParts()
    return SignatureParts(_parameters(function.args), ast.unparse(function.returns) if function.returns else "")


def _parameters(arguments: ast.arguments) -> dict[str, str]:
    plain = [*arguments.posonlyargs, *arguments.args]
    missing: list[ast.expr | None] = [None] * (len(plain) - len(arguments.defaults))
    pairs = [
        *zip(plain, [*missing, *arguments.defaults], strict=True),
        *((each, None) for each in (arguments.vararg,) if each),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
        *((each, None) for each in (arguments.kwarg,) if each),
    ]
    return {argument.arg: _text(argument, default) for argument, default in pairs}


def _text(argument: ast.arg, default: ast.expr | None) -> str:
    annotation = ast.unparse(argument.annotation) if argument.annotation else ""
    if default is None:
        return annotation
    return f"{annotation} = {ast.unparse(default)}".strip()
