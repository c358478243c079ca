"""Preflight: what a program is certain to call, judged against the registry before any of it runs.

Only what cannot succeed is reported, and all of it at once: packs and tools that do not exist, arguments that a tool
does not take, arguments that it needs and does not get, tools that cannot be called from here or that the policy
refuses, and an `ot.resume` or `ot.preview` that comes too late. Values are known only when the call is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from mcp_core.json_types import mapping_of
from mcp_core.quick_dataclass import dataclass
from ot import errors
from ot.journal.journal import APPLY, PREVIEW, RESUME
from ot.registry.definitions import Cancellation, ToolDefinition
from ot.registry.registry import ToolRegistry
from ot.registry.schema_copy import names_in
from ot.run.namespace import PROJECTS
from ot.run.outcome import MAX_NAME

PARALLEL = "ot.parallel"
_MADE_BEFORE = "it takes functions, and calls would be made one by one before it: write lambda: pack.tool(...)"

MAX_REFERENCES = 10_000
MAX_KEYWORDS = 1_000  # of one call
MAX_PROBLEMS = 100


@dataclass(frozen=True, slots=True)
class Reference:
    """One literal call `pack.tool(...)`; `open` if it also unpacks arguments, so that more may come."""

    pack: str
    tool: str
    keywords: tuple[str, ...]
    positional: int
    open: bool
    line: int
    given_calls: bool = False
    first: bool = False  # it stands in the first statement
    alias: str = ""  # the name by which it is called, if that is an alias


def refuse_long_names(names: Iterable[str]) -> None:
    """Raise NameTooLongError for what cannot be anybody's name, before anything looks for a similar one."""
    for name in names:
        if len(name) > MAX_NAME:
            raise errors.NameTooLongError(len(name), MAX_NAME)


Foresee = Callable[[str], errors.CallError | None]
"""Gives the error with which every call of a tool is refused, whatever its arguments."""


def judge(references: Sequence[Reference], registry: ToolRegistry, foresee: Foresee = lambda _: None) -> None:
    """Raise PreflightError with everything that is certain to fail; the same mistake is named on its first line."""
    problems: dict[tuple[object, ...], tuple[int, errors.CallError]] = {}
    named = {f"{reference.pack}.{reference.tool}" for reference in references if reference.first}
    resumes, previews = RESUME in named, PREVIEW in named
    for reference in references:
        problem = _find_problem(reference, registry, foresee)
        if (resumes or previews) and isinstance(problem, errors.ConsentError):
            continue  # the journal may have the answer, and then nobody is asked; and nobody is asked in a preview
        if previews and isinstance(problem, errors.NotOnlyReadingError):
            continue  # it is only listed
        if problem is not None:
            problems.setdefault((type(problem), *problem.args), (reference.line, problem))
            if len(problems) == MAX_PROBLEMS:
                break
    if problems:
        raise errors.PreflightError(sorted(problems.values(), key=lambda found: found[0]))


def _find_problem(reference: Reference, registry: ToolRegistry, foresee: Foresee) -> errors.CallError | None:
    try:
        refuse_long_names((reference.pack, reference.tool, *reference.keywords))
        definition = registry.get(f"{reference.pack}.{reference.tool}")
    except errors.CallError as error:
        # A project is an attribute of its pack, and whether there is one is seen when it is read.
        if isinstance(error, errors.UnknownToolError) and reference.pack == PROJECTS:
            return None
        target = f"{reference.pack}.{reference.tool}"
        return errors.AliasTargetError(reference.alias, target, reason=error) if reference.alias else error
    if definition.cancellation is Cancellation.KERNEL:
        # The kernel's own functions have signatures that no schema can tell.
        made = reference.given_calls and definition.name == PARALLEL
        return errors.ToolArgumentError(definition.name, [_MADE_BEFORE], definition.signature) if made else None
    if definition.lacks:
        return errors.UnsupportedToolError(definition.name, definition.lacks)
    if definition.name == RESUME and not reference.first:
        return errors.LateResumeError(RESUME)
    if definition.name == PREVIEW and not reference.first:
        return errors.LatePreviewError(PREVIEW)
    if definition.name == APPLY:
        return errors.ApplyNotAloneError(APPLY)
    phrases = list(_argument_problems(reference, definition))
    return (
        errors.ToolArgumentError(definition.name, phrases, definition.signature)
        if phrases
        else foresee(definition.name)
    )


def _argument_problems(reference: Reference, definition: ToolDefinition) -> Iterator[str]:
    schema = definition.parameters
    if "$ref" in schema:
        return
    names = mapping_of(schema.get("properties"))
    if not reference.open:  # all of its arguments are written out
        count = 0 if definition.variadic else reference.positional
        if count > len(names):
            yield f"{count} positional arguments given, it takes at most {len(names)}"
        given = [*[*names][:count], *map(definition.own_name, reference.keywords)]
        twice = [name for name in dict.fromkeys(given) if given.count(name) > 1]
        yield from (f"{definition.shown_name(name)} is given twice" for name in twice)
        missing = [name for name in names_in(schema.get("required")) if name not in given]
        yield from (f"{definition.shown_name(name)} is missing" for name in missing)
    if schema.get("additionalProperties") is False and "patternProperties" not in schema:
        unknown = (name for name in reference.keywords if definition.own_name(name) not in names)
        yield from (f"{name} is not a parameter" for name in unknown)
