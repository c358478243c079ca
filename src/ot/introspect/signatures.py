"""The parts of a signature's text: the types of its parameters and of its result."""

from __future__ import annotations

import ast

from mcp_core.quick_dataclass import dataclass, field
from ot.registry.from_source import list_parameters

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
    parameters = {}
    for each in list_parameters(function.args):
        annotation = ast.unparse(each.node.annotation) if each.node.annotation else ""
        default = "" if each.default is None else f" = {ast.unparse(each.default)}"
        parameters[each.node.arg] = f"{annotation}{default}".strip()
    return SignatureParts(parameters, ast.unparse(function.returns) if function.returns else "")
