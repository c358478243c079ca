"""The languages whose syntax is known: their names, the endings of their files, and what declares something in them.

The library that parses them panics at a name it does not know, so names are looked up here before it hears of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mcp_core.nearest_names import nearest
from ot.errors import ToolError

FUNCTION, METHOD = "function", "method"
_C_TYPES = "struct_specifier=struct enum_specifier=enum union_specifier=union"
_JS = (
    "function_declaration=function generator_function_declaration=function class_declaration=class "
    "method_definition=method variable_declarator=function"  # the last only if its value is a function
)
_TS = (
    f"{_JS} abstract_class_declaration=class interface_declaration=interface type_alias_declaration=type "
    "enum_declaration=enum internal_module=module"
)
_OF_CLASSES = (
    "class_declaration=class interface_declaration=interface enum_declaration=enum record_declaration=class "
    "method_declaration=method constructor_declaration=method"
)


@dataclass(frozen=True, slots=True)
class Language:
    """A language as the library names it; `symbols` are the nodes that declare something, with the kind of it."""

    name: str
    endings: tuple[str, ...]
    aliases: tuple[str, ...] = ()
    symbols: Mapping[str, str] = field(default_factory=dict)


def _language(name: str, endings: str, aliases: str = "", symbols: str = "") -> Language:
    nodes = dict(symbol.split("=") for symbol in symbols.split())
    return Language(name, tuple(endings.split()), tuple(aliases.split()), nodes)


_ALL = (
    _language("bash", ".sh .bash", "sh shell", "function_definition=function"),
    _language("c", ".c .h", "", f"function_definition=function {_C_TYPES}"),
    _language(
        "cpp",
        ".cpp .cc .cxx .hpp .hh .hxx .h",
        "c++ cc",
        f"function_definition=function class_specifier=class namespace_definition=module {_C_TYPES}",
    ),
    _language("csharp", ".cs", "c# cs", f"{_OF_CLASSES} struct_declaration=struct namespace_declaration=module"),
    _language("css", ".css"),
    _language("elixir", ".ex .exs", "ex"),
    _language("go", ".go", "golang", "function_declaration=function method_declaration=method type_spec=type"),
    _language("haskell", ".hs", "hs"),
    _language("hcl", ".hcl .tf", "terraform"),
    _language("html", ".html .htm"),
    _language("java", ".java", "", _OF_CLASSES),
    _language("javascript", ".js .jsx .mjs .cjs", "js jsx", _JS),
    _language("json", ".json"),
    _language(
        "kotlin", ".kt .kts", "kt", "class_declaration=class object_declaration=class function_declaration=function"
    ),
    _language("lua", ".lua", "", "function_declaration=function"),
    _language("nix", ".nix"),
    _language(
        "php",
        ".php",
        "",
        "function_definition=function class_declaration=class interface_declaration=interface trait_declaration=class "
        "enum_declaration=enum method_declaration=method",
    ),
    _language("python", ".py .pyi", "py", "function_definition=function class_definition=class"),
    _language("ruby", ".rb .rake", "rb", "method=method singleton_method=method class=class module=module"),
    _language(
        "rust",
        ".rs",
        "rs",
        "function_item=function struct_item=struct enum_item=enum union_item=union trait_item=interface "
        "impl_item=class mod_item=module type_item=type macro_definition=macro",
    ),
    _language(
        "scala",
        ".scala .sc",
        "",
        "class_definition=class object_definition=class trait_definition=class function_definition=function",
    ),
    _language("solidity", ".sol"),
    _language(
        "swift", ".swift", "", "class_declaration=class protocol_declaration=interface function_declaration=function"
    ),
    _language("tsx", ".tsx", "", _TS),
    _language("typescript", ".ts .mts .cts", "ts", _TS),
    _language("yaml", ".yaml .yml", "yml"),
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
        raise ToolError(f"{name[:40]!r} is not a supported language; nearest: {near}. Supported languages: {known}")
    return found


def language_of(file: str) -> Language | None:
    """Return the language of a file by the ending of its name."""
    return _BY_ENDING.get(file[file.rfind(".") :].lower()) if "." in file else None
