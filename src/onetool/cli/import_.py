"""`onetool import`: import servers of other clients, try them, and remove them from their client's file if wanted."""

from __future__ import annotations

import difflib
from argparse import ArgumentParser, Namespace
from functools import partial
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path

from mcp_core.visible_text import visible
from onetool.cli import FAILED, OK
from onetool.cli.connect import add_windows_argument, connect_client, find_windows, named_file, near, tell_written
from onetool.cli.printing import at_terminal, complain, confirm, say_visibly
from onetool.cli.start import load
from onetool.cli.trials import show_starts
from onetool.console.clean_text import count_of
from onetool.foreign.clients import CLIENTS, Survey, System, survey
from onetool.foreign.connecting import is_connected, owner_of
from onetool.foreign.importing import NEW, Plan, carry_out, changed_text, make_plan
from onetool.foreign.taking_out import Removal, plan_removals, put_back, take_out
from ot.config.paths import CONFIG_FILE, FOLDER, SECRETS_FILE, Places, find_places, state_folder
from ot.config.project_trust import trust_around
from ot.errors import ConfigError
from ot.execution.wording import word_error
from ot.trust.project_trust import read_folder

EPILOG = (
    "Reads .mcp.json, the configuration of Claude Code with its plugins, and that of every other client that `onetool "
    "connect` lists, in WSL also on Windows. Servers you already have stay as they are; a file is backed up before it "
    "is changed. Exit status: 0; 1 if a file could not be read or written or a server not be started; 2 for usage or "
    "configuration errors."
)
_WIDTH = 70


def add_arguments(parser: ArgumentParser) -> None:
    clients = ", ".join(CLIENTS)
    parser.add_argument("names", nargs="*", metavar="NAME", help="import only these servers")
    parser.add_argument("--from", action="append", choices=list(CLIENTS), metavar="CLIENT", dest="sources",
                        help=f"read only the files of this client: {clients}")  # fmt: skip
    parser.add_argument("--global", action="store_true", dest="everywhere", help="write to ~/.onetool for all projects")
    parser.add_argument("--offline", action="store_true", help="do not start the imported servers")
    parser.add_argument("--take-out", action="store_true", help="remove imported servers that work from their client's "
                        "file, without asking")  # fmt: skip
    parser.add_argument("--undo", action="store_true", help="put back what was removed from clients' files")
    parser.add_argument("--connect", choices=list(CLIENTS), metavar="CLIENT",
                        help="add OneTool to this client's configuration instead")  # fmt: skip
    parser.add_argument("--project", action="store_true", help="with --connect: write the project's file, not your own")
    add_windows_argument(parser, "read the files, and with --connect write the file,")
    parser.add_argument("--yes", action="store_true", help="do not ask about servers that come with the project, "
                        "nor with --connect")  # fmt: skip
    parser.add_argument("--keyring", action="store_true", help="keep secrets in your system's keychain, without "
                        "asking; not those of a project")  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="show what would be done, and write nothing")


def main(options: Namespace) -> int:
    system = System.local()
    named = named_file(options.config, system)
    places = find_places(cwd=Path.cwd(), home=system.home, named=named)
    if options.undo or options.connect:
        return _undo(options, system) if options.undo else _connect(options, system, places)
    windows = find_windows(options.windows_user)
    found = survey(system, places.project, only=options.sources or (), windows=windows)
    chosen = [each for each in found.found if not options.names or each.name in options.names]
    of_project = any(each.source.project is not None for each in chosen)
    own = places.home_folder / CONFIG_FILE
    of_all = options.everywhere or (places.project_folder is None and not of_project)
    file = named or (own if of_all else (places.project_folder or places.project / FOLDER) / CONFIG_FILE)
    trust = trust_around(file, system.home)
    if trust is not None and not options.dry_run:
        trust.refuse_untrusted()
    plan_for = partial(
        make_plan,
        file=file,
        own=None if own == file else own,
        more_secrets=[places.home_folder / SECRETS_FILE],
        project=places.project if options.everywhere else None,
    )
    plan = plan_for(chosen)
    _show(plan, found, options.names)
    unasked = [] if options.yes or options.dry_run else _leave_to_the_project(plan)
    if unasked:
        plan = plan_for([each for each in chosen if each.source.project is None])
    for error in found.broken:
        complain(f"onetool: {word_error(error)}")
    missing = [name for name in options.names if name not in {each.name for each in found.found}]
    for name in missing:
        complain(f"onetool: no client has a server {name!r}")
    if plan.servers:
        _write(plan, dry_run=options.dry_run, keychain=trust is None and _wants_keychain(options, plan))
        if trust is not None and not options.dry_run:
            trust.store.trust(trust.project, read_folder(trust.folder).contents, whole=True)
    systems = [each for each in (system, windows) if each is not None]
    failed = False if options.dry_run else _try_and_take_out(options, systems, plan, places)
    return FAILED if found.broken or missing or unasked or failed else OK


def _try_and_take_out(options: Namespace, systems: list[System], plan: Plan, places: Places) -> bool:
    """Start what was imported, and remove what works from its client's file if wanted; True if something failed."""
    if not (plan.servers or options.take_out):
        return False
    works = [each for each in plan.decisions if each.provided]
    failed = False
    if not options.offline:
        loaded = load(options, tolerant=True)
        wanted = dict.fromkeys([*(each.name for each in works), *plan.servers])
        enabled = [name for name in wanted if name in loaded.config.servers and loaded.config.servers[name].enabled]
        trials = show_starts(loaded, enabled, extensions=False)
        started = {trial.start.name for trial in trials if not trial.failure}
        works = [each for each in works if each.name in started]
        failed = len(started) < len(trials)
    wider = [each.name for each in works if each.found.everywhere]
    if wider and trust_around(plan.file, systems[0].home) is not None:  # OneTool has them in this project only
        names = ", ".join(wider)
        say_visibly(f"{names}: left in the client, which uses them in all projects; see onetool import --global")
        works = [each for each in works if not each.found.everywhere]
    for removal in plan_removals([each.found for each in works]):
        failed |= not _offer_to_take_out(removal, options, systems, places.project)
    return failed


def _offer_to_take_out(
    removal: Removal | ConfigError, options: Namespace, systems: list[System], project: Path
) -> bool:
    """Remove servers from a file if the person agrees; False if the file could not be written."""
    if isinstance(removal, ConfigError):
        complain(f"onetool: {visible(word_error(removal))}")
        return False
    names, file, client = ", ".join(removal.taken.names), removal.taken.file, removal.taken.client
    others = " Others who work on the project may need them there." if removal.shared else ""
    question = visible(f"OneTool provides {names} now.{others} Remove them from {near(file)}?")
    if not options.take_out and not (at_terminal() and confirm(question)):
        say_visibly(f"{names}: still in {near(file)} as well; `onetool import --take-out` removes them there")
        return True
    try:
        tell_written(file, take_out(removal, state_folder(systems[0].home)))
    except ConfigError as error:
        complain(f"onetool: {visible(word_error(error))}")
        return False
    say_visibly(f"{names}: removed from {near(file)}; `onetool import --undo` puts them back")
    if not any(is_connected(client, system, project) for system in systems):
        say_visibly(f"OneTool is not connected there yet; run `onetool connect {client}`")
    return True


def _undo(options: Namespace, system: System) -> int:
    outcomes = list(put_back(state_folder(system.home), only=options.sources or (), dry_run=options.dry_run))
    for each in outcomes:
        if isinstance(each, ConfigError):
            complain(f"onetool: {visible(word_error(each))}")
            continue
        names, file = ", ".join(name for name in each.taken.names if name not in each.kept), near(each.taken.file)
        exactly = ", exactly as before" if each.exact else ""
        if each.written:
            say_visibly(f"{names}: {'would be put' if options.dry_run else 'put'} back into {file}{exactly}")
        for name in each.kept:
            say_visibly(f"{name}: {file} has another server of this name by now, which stays")
    if not outcomes:
        say_visibly("Nothing to put back: no server was removed from a client's file.")
    return FAILED if any(isinstance(each, ConfigError) for each in outcomes) else OK


def _leave_to_the_project(plan: Plan) -> list[str]:
    """Ask about servers that come with the project's own files; return those that the person does not want."""
    theirs = [each.name for each in plan.decisions if each.state == NEW and each.found.source.project is not None]
    names = visible(", ".join(theirs))
    question = f"These come with the project, and would be started as you: {names}. Import them?"
    if not theirs or (at_terminal() and confirm(question)):
        return []
    complain(f"onetool: {names}: not imported, because they come with the project; --yes imports them")
    return theirs


def _show(plan: Plan, found: Survey, names: list[str]) -> None:
    if not plan.decisions and not names:
        searched = f" (read: {', '.join(map(near, found.files))})" if found.files else ""
        say_visibly(f"No servers were found{searched}.")
    for file, decisions in groupby(plan.decisions, key=lambda each: each.found.source.file):
        say_visibly(near(file))
        for decision in decisions:
            settings = decision.settings  # its secrets are references by now, so it can be shown
            line = " ".join([settings.get("command", settings.get("url", "")), *settings.get("args", ())])
            line = line if len(line) <= _WIDTH else f"{line[:_WIDTH]}…"
            notes = (f"    {near(note)}" for note in decision.notes)
            say_visibly(f"  {decision.name}: {near(decision.state)}{f' ({line})' if line else ''}", *notes)


def _wants_keychain(options: Namespace, plan: Plan) -> bool:
    """Return True if secrets that were in clear text belong in the keychain; asks where there is one to ask about."""
    if options.keyring or options.dry_run or not plan.secrets or find_spec("keyring") is None:
        return bool(options.keyring)
    question = f"{', '.join(plan.secrets)}: in clear text so far. Keep in your system's keychain?"
    return at_terminal() and confirm(visible(question))


def _write(plan: Plan, *, dry_run: bool, keychain: bool) -> None:
    names = [*plan.secrets, *plan.wanted]
    if dry_run:
        original, text = changed_text(plan)
        source = near(plan.file) if original.content is not None else "(a new file)"
        before, after = original.text.splitlines(), text.splitlines()
        say_visibly(*difflib.unified_diff(before, after, source, near(plan.file), lineterm="", n=1))
        if names:
            say_visibly(f"would put {', '.join(names)} into {near(plan.secrets_file)}")
        say_visibly("Nothing was written: this is a dry run.")
        return
    for file, backup in carry_out(plan, keychain=keychain).items():
        tell_written(file, backup)
    if plan.secrets:
        place = "the keychain" if keychain else near(plan.secrets_file)
        say_visibly(f"Secrets are in {place}: {', '.join(plan.secrets)}")
    for name, reason in plan.wanted.items():
        say_visibly(f"Set {name} in {near(plan.secrets_file)} (for {reason})")
    say_visibly(f"{count_of(len(plan.servers), 'server')} imported.")


def _connect(options: Namespace, system: System, places: Places) -> int:
    def agrees(file: Path) -> bool:
        if options.dry_run:
            say_visibly("Nothing was written: this is a dry run.")
        elif options.yes or (at_terminal() and confirm(f"Write this to {near(file)}?")):
            return True
        else:
            complain("onetool: nothing was written; --yes writes it")
        return False

    client = options.connect
    project = places.project if options.project or client == "project" else None
    owner = owner_of(client, system, project=project, windows_user=options.windows_user)
    done = connect_client(client, system, places, owner=owner, config=options.config, project=project, agrees=agrees)
    return OK if done or options.dry_run else FAILED
