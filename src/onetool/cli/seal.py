"""`onetool seal`: the keys that encrypt people's secrets and logins on a server."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from contextlib import closing
from typing import TYPE_CHECKING

from onetool.cli import FAILED, OK
from onetool.cli.printing import complain, fail, say
from onetool.cli.seal_rotation import Rotation
from onetool.cli.start import load
from ot.config.loader import LoadedConfig
from ot.config.paths import state_folder
from ot.config.personal import PEOPLE_FOLDER
from ot.config.seal_keys import keys_file, load_sealer, make_keys
from ot.errors import ConfigError
from ot.store.opening import Backend, build_backend
from ot.store.sealing import Resealed, Sealer, new_key, reseal_files

if TYPE_CHECKING:
    from ot.store.postgres.link import PostgresLink

EPILOG = (
    "All replicas need the same keys, in seal.keys (ONETOOL_SEAL_KEYS) or in the file that seal.file names, which "
    "running servers follow. The first key encrypts, every key decrypts. `rotate` adds a key, encrypts with it once "
    "every replica knows it, and drops the old one when nothing needs it. If it has to wait, as for the file to be "
    "copied to another machine, run it again to go on."
)
_WAIT = 60.0  # seconds


def add_arguments(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("key", help="print a new key")
    actions.add_parser("status", help="list the ids of the keys, the first one encrypts; and which replicas know them")
    rotate = actions.add_parser("rotate", help="replace the key in the key file, while servers run")
    waiting = "seconds to wait for every replica to know a key (default: 60)"
    rotate.add_argument("--wait", metavar="SECONDS", type=float, default=_WAIT, help=waiting)
    actions.add_parser("again", help="encrypt everything with the first key")


def main(options: Namespace) -> int:
    if options.action == "key":
        say(new_key())
        return OK
    loaded = load(options, tolerant=True)
    try:
        with closing(build_backend(loaded.config.store)) as backend:
            return _act(options, loaded, backend)
    except OSError as error:
        return fail(f"onetool seal: {error.strerror or error}")


def _act(options: Namespace, loaded: LoadedConfig, backend: Backend) -> int:
    state = state_folder(loaded.home)
    if options.action != "rotate":
        sealer = load_sealer(loaded.config, state)
        if options.action == "again":
            return _tell(_reseal(loaded, backend, sealer), sealer)
        say("\n".join(sealer.ids))
        for name, known in Rotation.known_keys(backend):
            say(f"{name}: {', '.join(known) or 'does not tell'}")
        return OK
    if loaded.config.seal.keys:
        reason = "the keys are in the configuration, which this command does not change"
        fix = "put a key from `onetool seal key` last, then first; run `onetool seal again` (docs: Deployment)"
        raise ConfigError(reason, key="seal.keys", fix=fix)
    file = keys_file(loaded.config, state)
    if make_keys(file):
        say(f"{file} now has a first key.")
        return OK
    rotation = Rotation(file, backend, wait=options.wait)
    if rotation.begin():
        sealer = load_sealer(loaded.config, state)
        found = _reseal(loaded, backend, sealer)
        status = _tell(found, sealer)
        return status if status != OK else rotation.finish(found)
    return FAILED


def _reseal(loaded: LoadedConfig, backend: Backend, sealer: Sealer) -> Resealed:
    def reseal(link: PostgresLink) -> Resealed:
        from ot.store.postgres.credentials import reseal_rows  # where a database is configured

        return reseal_rows(link, sealer)

    people = state_folder(loaded.home) / PEOPLE_FOLDER
    return backend.pick(lambda: reseal_files(people, sealer), reseal)


def _tell(found: Resealed, sealer: Sealer) -> int:
    say(f"{found.anew} encrypted again with {sealer.ids[0]}; {found.already} already were.")
    for reason in sorted(set(found.failed)):
        complain(f"onetool seal: {found.failed.count(reason)} could not be decrypted: {reason}")
    return FAILED if found.failed else OK
