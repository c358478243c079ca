"""The languages whose syntax is known: their names, the endings of their files, and what declares something in them.

The library that parses them panics at a name it does not know, so names are looked up here before it hears of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mcp_core.nearest_names import nearest
from ot.errors import ToolError

FUNCTION, METHOD, CLASS, MODULE, TYPE = "function", "method", "class", "module", "type"
_C_TYPES = {"struct_specifier": "struct", "enum_specifier": "enum", "union_specifier": "union"}
_JS = {
    "function_declaration": FUNCTION,
    "generator_function_declaration": FUNCTION,
    "class_declaration": CLASS,
    "method_definition": METHOD,
    "variable_declarator": FUNCTION,  # only one whose value is a function
}
_TS = {
    **_JS,
    "abstract_class_declaration": CLASS,
    "interface_declaration": "interface",
    "type_alias_declaration": TYPE,
    "enum_declaration": "enum",
    "internal_module": MODULE,
}


@dataclass(frozen=True, slots=True)
class Language:
    """A language as the library names it; `symbols` are the nodes that declare something, with the kind of it."""

    name: str
    endings: tuple[str, ...]
    aliases: tuple[str, ...] = ()
    symbols: Mapping[str, str] = field(default_factory=dict)


_ALL = (
    Language("bash", (".sh", ".bash"), ("sh", "shell"), {"function_definition": FUNCTION}),
    Language("c", (".c", ".h"), (), {"function_definition": FUNCTION, **_C_TYPES}),
    Language(
        "cpp",
        (".cpp", ".cc", ".cxx", ".hpp", ".hh", ".hxx", ".h"),
        ("c++", "cc"),
        {"function_definition": FUNCTION, "class_specifier": CLASS, "namespace_definition": MODULE, **_C_TYPES},
    ),
    Language(
        "csharp",
        (".cs",),
        ("c#", "cs"),
        {
            "class_declaration": CLASS,
            "interface_declaration": "interface",
            "struct_declaration": "struct",
            "enum_declaration": "enum",
            "record_declaration": CLASS,
            "method_declaration": METHOD,
            "constructor_declaration": METHOD,
            "namespace_declaration": MODULE,
        },
    ),
    Language("css", (".css",)),
    Language("elixir", (".ex", ".exs"), ("ex",)),
    Language(
        "go",
        (".go",),
        ("golang",),
        {"function_declaration": FUNCTION, "method_declaration": METHOD, "type_spec": TYPE},
    ),
    Language("haskell", (".hs",), ("hs",)),
    Language("hcl", (".hcl", ".tf"), ("terraform",)),
    Language("html", (".html", ".htm")),
    Language(
        "java",
        (".java",),
        (),
        {
            "class_declaration": CLASS,
            "interface_declaration": "interface",
            "enum_declaration": "enum",
            "record_declaration": CLASS,
            "method_declaration": METHOD,
            "constructor_declaration": METHOD,
        },
    ),
    Language("javascript", (".js", ".jsx", ".mjs", ".cjs"), ("js", "jsx"), _JS),
    Language("json", (".json",)),
    Language(
        "kotlin",
        (".kt", ".kts"),
        ("kt",),
        {"class_declaration": CLASS, "object_declaration": CLASS, "function_declaration": FUNCTION},
    ),
    Language("lua", (".lua",), (), {"function_declaration": FUNCTION}),
    Language("nix", (".nix",)),
    Language(
        "php",
        (".php",),
        (),
        {
            "function_definition": FUNCTION,
            "class_declaration": CLASS,
            "interface_declaration": "interface",
            "trait_declaration": CLASS,
            "enum_declaration": "enum",
            "method_declaration": METHOD,
        },
    ),
    Language("python", (".py", ".pyi"), ("py",), {"function_definition": FUNCTION, "class_definition": CLASS}),
    Language(
        "ruby",
        (".rb", ".rake"),
        ("rb",),
        {"method": METHOD, "singleton_method": METHOD, "class": CLASS, "module": MODULE},
    ),
    Language(
        "rust",
        (".rs",),
        ("rs",),
        {
            "function_item": FUNCTION,
            "struct_item": "struct",
            "enum_item": "enum",
            "union_item": "union",
            "trait_item": "interface",
            "impl_item": CLASS,
            "mod_item": MODULE,
            "type_item": TYPE,
            "macro_definition": "macro",
        },
    ),
    Language(
        "scala",
        (".scala", ".sc"),
        (),
        {
            "class_definition": CLASS,
            "object_definition": CLASS,
            "trait_definition": CLASS,
            "function_definition": FUNCTION,
        },
    ),
    Language("solidity", (".sol",)),
    Language(
        "swift",
        (".swift",),
        (),
        {"class_declaration": CLASS, "protocol_declaration": "interface", "function_declaration": FUNCTION},
    ),
    Language("tsx", (".tsx",), (), _TS),
    Language("typescript", (".ts", ".mts", ".cts"), ("ts",), _TS),
    Language("yaml", (".yaml", ".yml"), ("yml",)),
)
LANGUAGES = {language.name: language for language in _ALL}
_BY_ANY_NAME = {name: language for language in _ALL for name in (language.name, *language.aliases)}
_BY_ENDING = {ending: language for language in _ALL for ending in language.endings}


def find_language(name: str) -> Language:
    """Return a language by any of its names; raises ToolError."""
    found = _BY_ANY_NAME.get(name.strip().lower())
    if found is None:
        near = nearest(name.lower(), _BY_ANY_NAME)[0]
        known = ", ".join(LANGUAGES)
        raise ToolError(f"{name[:40]!r} is not a supported language; the nearest is {near}. Supported: {known}")
    return found


def language_of(file: str) -> Language | None:
    """Return the language of a file by the ending of its name."""
    return _BY_ENDING.get(file[file.rfind(".") :].lower()) if "." in file else None
