"""New extensions and skills: starter files, written to the right place."""

from __future__ import annotations

from functools import partial

import anyio.to_thread

from mcp_core.visible_text import visible
from ot.config.paths import FOLDER, SKILLS, TOOLS
from ot.context import CallContext, current
from ot.errors import ConsentError, NewExtensionError, NewSkillError, ToolError
from ot.execution.wording import word_error
from ot.files.noted_files import noting_new
from ot.skills.new_skill import LONGEST_SHOWN, Draft, NewSkill, keep_on_shelf, write_text
from ot.skills.skill_loader import SkillLoader
from ot.store.shelf import Shelf
from ot.trust.project_trust import trust_command
from ot.values import Arguments
from ot.workers.extension_loader import ExtensionLoader
from ot.workers.new_extension import check_name, write_extension

pack = "scaffold"


async def extension(*, name: str) -> dict[str, str]:
    """Write a working extension and its test into the project's .onetool/tools; existing files are never overwritten.

    The person is asked first, and the pack can be called from the next run on. If nobody can be asked, it waits until
    the person trusts it. The same goes for later changes to its file, which take effect without a restart.

    Args:
        name: The new pack's name, the part before the dot: letters, digits and underscores.

    Returns:
        The file of the pack, the file of its test, and a call to try, or the command that the person has to type.

    Example:
        scaffold.extension(name="weather")
    """
    context = current()
    if context.part(SkillLoader).own is not None:
        raise ToolError("extensions are installed by the administrator; scaffold.skill keeps your own code")
    extensions = context.part(ExtensionLoader)
    tools = context.project / FOLDER / TOOLS
    taken = [known.name for known in context.registry.packs()]
    trust = extensions.folder_of(tools / name).trust
    try:
        check_name(name, taken)
        shown = {"extension": name, "folder": str(tools)}
        question = "Write a new extension, the example that comes with OneTool, and trust it?"
        agreed = await _ask(context, question, shown, own=trust is None)
        write = partial(write_extension, tools, name, project=context.project, taken=taken)
        with noting_new(tools / name / f"{name}_tools.py", tools / name / f"test_{name}.py"):
            file, test = await anyio.to_thread.run_sync(write)
    except NewExtensionError as error:
        raise ToolError(word_error(error)) from error
    if agreed and trust is not None:
        await anyio.to_thread.run_sync(trust.accept, [file, test])
    await extensions.catch_up(at_once=True)
    files = {"file": str(file), "test": str(test)}
    if agreed:
        return {**files, "try": f"{name}.hello(name='Ada')"}
    return {**files, "waits_for": f"a person who looks at it and types: {trust_command(context.project)}"}


async def skill(
    *,
    name: str,
    code: str,
    description: str,
    parameters: str = "",
    arguments: dict[str, str] | None = None,
    returns: str = "",
    example: str = "",
) -> dict[str, str]:
    """Keep code that worked as a skill: a function in the project's .onetool/skills, called as skills.NAME(...).

    The person is shown the whole file first, and the skill can be called from the next run on. If nobody can be asked,
    it waits until the person trusts it. An existing skill is never overwritten.

    Args:
        name: The part after the dot: letters, digits and underscores.
        code: Code as in a run, which uses the parameters as names; its last expression is the value.
        description: One line that says what it does; ot.help searches it.
        parameters: Its parameters, as in a function definition: "repo: str, days: int = 7".
        arguments: What each parameter means, by name.
        returns: What it returns.
        example: An example call; by default one with every parameter.

    Returns:
        The file, and a call to try, or the command that the person has to type.

    Example:
        scaffold.skill(name="shout", code="text.upper() + '!'", description="Shout a text.", parameters="text: str")
    """
    context = current()
    loader = context.part(SkillLoader)
    folder = context.project / FOLDER / SKILLS
    new = NewSkill(name, code, description, parameters, arguments or {}, returns, example)
    if loader.own is not None:
        return await _keep_own(context, loader, loader.own, new)
    try:
        text = await anyio.to_thread.run_sync(write_text, new, folder)
        draft = Draft(folder, name, text)
        await anyio.to_thread.run_sync(draft.check, context.project)
        shown = {"skill": name, "folder": str(folder), "file": text}
        question = "Write this skill into the project, and trust it?"
        agreed = await _ask(context, question, shown, own=loader.trust is None)
        with noting_new(folder / f"{name}.py"):
            file = await anyio.to_thread.run_sync(draft.write)
    except NewSkillError as error:
        raise ToolError(word_error(error)) from error
    if agreed and loader.trust is not None:
        await anyio.to_thread.run_sync(loader.trust.accept_content, file, text.encode())
    await loader.catch_up(at_once=True)
    if agreed:
        return {"file": str(file), "try": context.registry.get(f"skills.{name}").docs.example}
    return {"file": str(file), "waits_for": f"a person who looks at it and types: {trust_command(context.project)}"}


async def _keep_own(context: CallContext, loader: SkillLoader, own: Shelf, new: NewSkill) -> dict[str, str]:
    """Keep a skill for a person of a shared server, who is shown all of it: they cannot open its file."""
    try:
        text = await anyio.to_thread.run_sync(write_text, new, own.folder)
        if (size := len(visible(text, lines=True))) > LONGEST_SHOWN:
            raise NewSkillError(new.name, f"it has {size:,} characters, and {LONGEST_SHOWN:,} can be shown")
        shown = {"skill": new.name, "file": text}
        ask = partial(context.ask, "Keep this skill for your later runs?", shown, room=2 * LONGEST_SHOWN)
        if not await keep_on_shelf(own, new.name, text, ask):
            raise ToolError("nothing was kept: the person said no")
    except NewSkillError as error:
        raise ToolError(word_error(error)) from error
    await loader.catch_up(at_once=True)
    return {"file": f"{new.name}.py", "try": context.registry.get(f"skills.{new.name}").docs.example}


async def _ask(context: CallContext, question: str, shown: Arguments, *, own: bool) -> bool:
    """Ask the person; False if nobody can be asked and the files can wait for the project to be trusted."""
    try:
        agreed = await context.ask(question, shown)
    except ConsentError:
        if own:  # what lies in the person's own folder counts at once
            raise
        return False
    if not agreed:
        raise ToolError("nothing was written: the person said no")
    return True
