"""The configured projects, as paths: `proj.onetool / "src"`."""

from __future__ import annotations

from ot.context import current
from ot.effects import reads
from ot.errors import UnknownProjectError
from ot.values import ProjectPath

pack = "proj"


@reads
async def path(*, name: str) -> ProjectPath:
    """Find a project's folder by its name in the configuration.

    Args:
        name: The project's name under `projects`.

    Returns:
        Its path, which can be joined with `/` and passed to any tool.

    Example:
        proj.path(name="onetool") / "src"
    """
    context = current()
    projects = context.settings.projects
    if name not in projects:
        functions = sorted(context.registry.pack(pack).tools)
        raise UnknownProjectError(name, functions=functions, projects=sorted(projects))
    return ProjectPath(name, projects[name].path, projects[name].attrs)


@reads
async def list() -> dict[str, ProjectPath]:
    """List the configured projects.

    Returns:
        Each project's name with its path.

    Example:
        for name, path in proj.list().items(): print(name, path)
    """
    projects = current().settings.projects
    return {name: ProjectPath(name, project.path, project.attrs) for name, project in projects.items()}
