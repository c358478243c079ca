"""The layers that import-linter enforces, as tables: from the contracts in `pyproject.toml`."""

from __future__ import annotations

import ast
import tomllib

from scripts.pack_extras import ROOT
from scripts.reference.tables import in_cell, render_table

CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]


def render_layers() -> str:
    """Return the layers of the packages, then those of the rooms inside one, each from the top."""
    packages, rooms = [], []
    for contract in CONTRACTS:
        if contract["type"] == "layers":
            layers = [[name.strip(" ()") for name in layer.split("|")] for layer in contract["layers"]]
            if containers := contract.get("containers"):
                rooms.append((_code(containers), " › ".join(map(_code, layers))))
            else:
                levels = enumerate(layers, 1)
                packages += [(f"{level}", *_describe(name)) for level, names in levels for name in names]
    head = render_table(("layer", "package", "what it is"), packages)
    return head + "\n" + render_table(("rooms of", "layers, from the top"), rooms)


def render_import_rules() -> str:
    """Return the rules beside the layers: who must not import what."""
    rules = (each for each in CONTRACTS if each["type"] == "forbidden")
    return render_table(
        ("rule", "holds for", "must not import"),
        ((each["name"], _code(each["source_modules"]), _code(each["forbidden_modules"])) for each in rules),
    )


def _describe(package: str) -> tuple[str, str]:
    """Return a package and the first line of its docstring."""
    source = (ROOT / "src" / package / "__init__.py").read_text(encoding="utf-8")
    return f"`{package}`", in_cell((ast.get_docstring(ast.parse(source)) or "").partition("\n")[0])


def _code(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
