"""`onetool new pack NAME`: write an extension to start from, with a test, or one from an OpenAPI description."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from mcp_core.visible_text import visible
from onetool.cli import OK, USAGE
from onetool.cli.connect import tell_written
from onetool.cli.definitions import read_registry
from onetool.cli.printing import fail, say_visibly
from onetool.cli.start import load
from onetool.console.clean_text import count_of
from onetool.openapi.description import DescriptionError, read_description
from onetool.openapi.pack import PackSource, build_pack, name_pack
from ot.config.paths import tool_folders
from ot.config.project_trust import project_trust
from ot.errors import NewExtensionError
from ot.execution.wording import word_error
from ot.workers.new_extension import write_extension, write_pack

EPILOG = "Writes .onetool/tools/NAME in the project; never overwrites a file. The new files are trusted."


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("what", choices=["pack"], metavar="pack", help="what to write: a pack")
    parser.add_argument("name", metavar="NAME", nargs="?", help="the pack's name, written before the dot in code")
    source = "generate it from an OpenAPI description"
    parser.add_argument("--from", dest="source", nargs=2, metavar=("openapi", "FILE"), help=source)
    only = "include only operations whose name, id, tag or 'METHOD /path' matches; may be repeated"
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN", help=only)


def main(options: Namespace) -> int:
    loaded = load(options)
    trust = project_trust(loaded.project, loaded.home)
    if trust is not None:
        trust.refuse_untrusted()
    try:
        name, made = _choose(options)
        project, (folder, _) = loaded.project, tool_folders(loaded.project, loaded.home)
        taken = [pack.name for pack in read_registry(loaded).packs()]
        if made is None:
            written = [*write_extension(folder, name, project=project, taken=taken)]
        else:
            written = [write_pack(folder, name, made.text, project=project, taken=taken, others={})]
    except (DescriptionError, NewExtensionError) as error:
        return fail(visible(f"onetool: {error if isinstance(error, DescriptionError) else word_error(error)}"), USAGE)
    if trust is not None:
        trust.accept(written)
    for each in written:
        tell_written(each)
    if made is None:
        say_visibly(f"try it: onetool call {name}.hello name=Ada")
        return OK
    say_visibly(f"{count_of(len(made.tools), 'tool')}; list them with: onetool tools '{name}.*'")
    say_visibly(*(f"add {secret} ({meaning}) to secrets.yaml" for secret, meaning in made.secrets.items()))
    if not made.server.startswith(("http://", "https://")):
        say_visibly(f"set packs.{name}.base_url in onetool.yaml: the description has no address of the service")
    return OK


def _choose(options: Namespace) -> tuple[str, PackSource | None]:
    """Return the name of the pack, and its source if it is generated."""
    if options.source is None:
        if options.name is None or options.only:
            raise DescriptionError("give the pack a name: onetool new pack NAME; --only needs --from openapi FILE")
        return options.name, None
    kind, file = options.source
    if kind != "openapi":
        raise DescriptionError(f"a pack can be generated from openapi, not from {kind}")
    description = read_description(Path(file))
    name = options.name or name_pack(description)
    return name, build_pack(description, name, options.only)
