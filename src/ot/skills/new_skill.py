"""A new skill from code that worked: the text of its file, checked before anybody is asked, and its writing."""

from __future__ import annotations

import ast
import errno
import keyword
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import anyio.to_thread

from mcp_core.atomic_write import write_file
from ot.errors import NewSkillError, PackLoadError
from ot.skills.skill_file import LONGEST_NAME, PACK, parse_skill
from ot.store.shelf import Shelf
from ot.workers.new_extension import check_place

LONGEST_SHOWN = 16_384  # characters of a file that a person is shown where they have no other way to see it
_INDENT = "    "
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


@dataclass(frozen=True, slots=True)
class NewSkill:
    """The parts of a skill: `code` is as in a run, `parameters` as between the brackets of a function."""

    name: str
    code: str
    description: str
    parameters: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)
    returns: str = ""
    example: str = ""


def write_text(new: NewSkill, folder: Path) -> str:
    """Return the text of the file in `folder` that the skill would be; raises NewSkillError if it would be none."""
    check_name(new.name)
    code = new.code.replace("\r\n", "\n").replace("\r", "\n").strip("\n") + "\n"
    tree = _parse(new.name, code, "the code")
    required = _read_parameters(new)
    if not tree.body or not new.description.strip():
        raise NewSkillError(new.name, f"there is no {'description' if tree.body else 'code'}")
    last = tree.body[-1]
    if isinstance(last, ast.Expr):  # whose value a run would give
        lines = code.split("\n")
        line = lines[last.lineno - 1].encode()
        lines[last.lineno - 1] = (line[: last.col_offset] + b"return " + line[last.col_offset :]).decode()
        code = "\n".join(lines)
    word = "async def" if _waits(tree) else "def"
    definition = f"{word} {new.name}({new.parameters and f'*, {new.parameters.strip()}'}):"
    text = "\n".join([definition, *_docstring(new, required), *_indented(code, tree)]).rstrip() + "\n"
    _compare(new, text, tree, folder)
    return text


def check_name(name: str) -> None:
    """Raise NewSkillError for a name that no skill can have."""
    reason = ""
    if not name.isidentifier() or not name.isascii() or keyword.iskeyword(name) or len(name) > LONGEST_NAME:
        reason = f"its name comes after the dot in code: up to {LONGEST_NAME} letters, digits and underscores"
    elif name.startswith(("_", "test_")) or name == "conftest":
        reason = "a file with this name is not loaded as a skill"
    if reason:
        raise NewSkillError(name[: LONGEST_NAME + 1], reason)


def _parse(name: str, text: str, what: str) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError as error:
        raise NewSkillError(name, f"{what} is not valid Python: line {error.lineno}: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise NewSkillError(name, f"{what} is not valid Python: {error}") from error


def _read_parameters(new: NewSkill) -> list[str]:
    wanted = f"*, {new.parameters.strip()}" if new.parameters.strip() else ""
    function = _parse(new.name, f"def {new.name}({wanted}): ...", "parameters").body[0]
    assert isinstance(function, ast.FunctionDef)
    names = [node.arg for node in function.args.kwonlyargs]
    unknown = new.arguments.keys() - set(names)
    if unknown:
        raise NewSkillError(new.name, f"arguments describes {', '.join(sorted(unknown))}, which is not in parameters")
    return [name for name, default in zip(names, function.args.kw_defaults, strict=True) if default is None]


def _docstring(new: NewSkill, required: list[str]) -> Iterator[str]:
    sections = [" ".join(new.description.split())]
    described = [f"{_INDENT}{name}: {' '.join(text.split())}" for name, text in new.arguments.items()]
    if described:
        sections.append("\n".join(["Args:", *described]))
    if new.returns.strip():
        sections.append(f"Returns:\n{_INDENT}{' '.join(new.returns.split())}")
    example = new.example.strip() or f"{PACK}.{new.name}({', '.join(f'{name}=...' for name in required)})"
    _parse(new.name, example, "the example")
    sections.append("\n".join(["Example:", *(f"{_INDENT}{line}" for line in example.splitlines())]))
    text = "\n\n".join(sections).replace("\\", "\\\\").replace('"', '\\"' if '"""' in "".join(sections) else '"')
    for number, line in enumerate(f'"""{text}\n"""'.split("\n")):
        yield f"{_INDENT}{line}" if line or not number else ""


def _indented(code: str, tree: ast.Module) -> Iterator[str]:
    """Yield the lines of the code as those of a function; what lies inside a string keeps its margin."""
    inside = {
        number
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))
        for number in range(node.lineno + 1, (node.end_lineno or node.lineno) + 1)
    }
    for number, line in enumerate(code.split("\n"), 1):
        yield f"{_INDENT}{line}" if line and number not in inside else line


def _waits(tree: ast.Module) -> bool:
    """True if the code itself awaits something, outside of the functions in it."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith):
            return True
        if isinstance(node, ast.comprehension) and node.is_async:
            return True
        waiting.extend(child for child in ast.iter_child_nodes(node) if not isinstance(child, _SCOPES))
    return False


def _compare(new: NewSkill, text: str, tree: ast.Module, folder: Path) -> None:
    """Read the file as it would be read, and find in it exactly what was given."""
    try:
        skill = parse_skill(text.encode(), folder / f"{new.name}.py")
    except (PackLoadError, UnicodeEncodeError) as error:
        reason = f"line {error.line}: {error.reason}" if isinstance(error, PackLoadError) else str(error)
        raise NewSkillError(new.name, f"its file would not be a valid skill: {reason}") from error
    [function] = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
    body = [_without_return(node) for node in function.body[1:]]
    wanted = [_without_return(node) for node in tree.body]
    same = [ast.dump(node) for node in body] == [ast.dump(node) for node in wanted]
    if not same or skill.definition.docs.summary != " ".join(new.description.split()):
        raise NewSkillError(new.name, "its parts do not form one function")


def _without_return(node: ast.stmt) -> ast.stmt:
    return ast.Expr(node.value) if isinstance(node, ast.Return) and node.value is not None else node


class Draft:
    """A skill that nobody has agreed to yet."""

    def __init__(self, folder: Path, name: str, text: str) -> None:
        self._folder = folder
        self._name = name
        self._text = text
        self._file = folder / f"{name}.py"

    def write(self) -> Path:
        """Write the file unless there is one by now, and return its place; blocking. Raises NewSkillError."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_file(self._file, self._text.encode(), replace=False)
        except OSError as error:
            raise self._refusal(error) from error
        return self._file

    def check(self, project: Path) -> None:
        """Raise NewSkillError if it could not be written; blocking."""
        try:
            check_place(self._folder, project)
            if self._file.exists() or self._file.is_symlink():
                raise FileExistsError(errno.EEXIST, "it already exists")
        except OSError as error:
            raise self._refusal(error) from error

    def _refusal(self, error: OSError) -> NewSkillError:
        return NewSkillError(self._name, f"{self._file}: {error.strerror or type(error).__name__}")


async def keep_on_shelf(shelf: Shelf, name: str, text: str, ask: Callable[[], Awaitable[bool]]) -> bool:
    """Keep the skill of one of many people, if they agree; True if so. Raises NewSkillError."""
    document = f"{name}.py"
    try:
        if shelf.state(document):
            raise FileExistsError(errno.EEXIST, "it already exists")
        if not await ask():
            return False
        await anyio.to_thread.run_sync(partial(shelf.write, document, text.encode(), replace=False))
    except OSError as error:
        raise NewSkillError(name, error.strerror or type(error).__name__) from error
    return True
