"""The namespace of a run, described for its kernel: names only, the rest is asked for when code looks."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from mcp_core.quick_dataclass import dataclass
from ot.config.models import ProjectSettings
from ot.errors import UnknownProjectError
from ot.registry.definitions import ToolDefinition
from ot.registry.registry import ToolRegistry
from ot.shapes.shapes import Shapes
from ot_kernel.project_path import ProjectPath
from ot_kernel.wire import pack

PROJECTS = "proj"


@dataclass(eq=False, slots=True)
class Namespace:
    """Answers what a kernel asks about packs. One for the whole server: it follows the registry."""

    registry: ToolRegistry
    aliases: Mapping[str, str]
    projects: Mapping[str, ProjectSettings]
    shapes: Shapes
    modest: Collection[str] = ()  # aliases that give way to packs
    _written: tuple[int, bytes] = -1, b""  # the registry's version then, and its packs with the aliases

    def apply(
        self, aliases: Mapping[str, str], projects: Mapping[str, ProjectSettings], modest: Collection[str]
    ) -> None:
        """Use these in runs that begin from now on."""
        self.aliases, self.projects, self.modest, self._written = aliases, projects, modest, (-1, b"")

    def request(self, code: str, values: Mapping[str, str], *, limit: int) -> bytes:
        """Build the message that starts a run whose answer has room for `limit` characters."""
        if self._written[0] != self.registry.version:
            packs, aliases = self.registry.pack_names(), dict(self.aliases)
            if self.modest:
                aliases = {name: aliases[name] for name in aliases if name not in self.modest or name not in packs}
            self._written = self.registry.version, pack({"packs": packs, "aliases": aliases})[1:]
        given = pack({"code": code, "values": values, "limit": limit})
        return b"%b,%b" % (given[:-1], self._written[1])

    def attribute(self, pack: str, name: str) -> ProjectPath | None:
        """Return None if `pack.name` is a tool, or a project's path; raises UnknownToolError."""
        if self.registry.has(f"{pack}.{name}"):
            return None
        if pack == PROJECTS:
            project = self.projects.get(name)
            if project is None:
                functions = list(self.registry.pack(pack).tools)
                raise UnknownProjectError(name, functions=functions, projects=list(self.projects))
            return ProjectPath(name, project.path, project.attrs)
        self.registry.get(f"{pack}.{name}")  # raises: there is none
        return None

    def describe(self, name: str, principal: str) -> dict[str, str | list[str]]:
        """Document a pack, or one of its tools, for `help()`, `dir()` and `inspect` of somebody's code."""
        pack_name, _, tool = name.partition(".")
        if tool:
            definition = self.registry.get(name)
            shown = self.shapes.signature(definition, principal)
            return {"doc": _document(definition, shown), "signature": definition.python_signature}
        found = self.registry.pack(pack_name)
        names = [*found.tools, *(self.projects if pack_name == PROJECTS else ())]
        return {"doc": found.description, "names": sorted(names)}


def _document(tool: ToolDefinition, signature: str) -> str:
    docs = tool.docs
    arguments = "\n".join(f"    {name}: {text}" for name, text in docs.arguments.items())
    example = "\n".join(f"    {line}" for line in docs.example.splitlines())
    parts = [
        signature,
        tool.description,
        docs.body,
        f"Args:\n{arguments}" if arguments else "",
        f"Returns: {docs.returns}" if docs.returns else "",
        f"Example:\n{example}" if example else "",
    ]
    return "\n\n".join(part for part in parts if part)
