"""`onetool seal`: the keys that encrypt people's secrets and logins on a server."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from contextlib import closing
from typing import TYPE_CHECKING

from onetool.cli import FAILED, OK
from onetool.cli.printing import complain, fail, say
from onetool.cli.start import load
from ot.config.paths import state_folder
from ot.config.personal import PEOPLE_FOLDER
from ot.config.personal_secrets import keys_file, load_sealer, make_keys, read_keys, write_keys
from ot.errors import ConfigError
from ot.store.opening import build_backend
from ot.store.sealing import Resealed, new_key, reseal_files

if TYPE_CHECKING:
    from ot.store.postgres.link import PostgresLink

EPILOG = (
    "All replicas need the same keys, in seal.keys (ONETOOL_SEAL_KEYS) or in the file that seal.file names. The first "
    "key encrypts, every key decrypts. To replace a key: add a new one after it on every replica, then move it to the "
    "front; run `onetool seal again`, and remove the old one."
)


def add_arguments(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("key", help="print a new key")
    actions.add_parser("status", help="list the ids of the keys; the first one encrypts")
    actions.add_parser("rotate", help="add a new key at the front of the key file, and encrypt everything with it")
    actions.add_parser("again", help="encrypt everything with the first key")


def main(options: Namespace) -> int:
    if options.action == "key":
        say(new_key())
        return OK
    loaded = load(options, tolerant=True)
    if options.action == "rotate":
        if loaded.config.seal.keys:
            reason = "the keys are in the configuration, which this command does not change"
            fix = "put a key from `onetool seal key` first, then run `onetool seal again`"
            raise ConfigError(reason, key="seal.keys", fix=fix)
        file = keys_file(loaded.config, state_folder(loaded.home))
        if not make_keys(file):
            write_keys(file, [new_key(), *read_keys(file)])
            say(f"{file} now starts with a new key. Running servers use it after their next start.")
    sealer = load_sealer(loaded.config, state_folder(loaded.home))
    if options.action == "status":
        say("\n".join(sealer.ids))
        return OK

    def reseal(link: PostgresLink) -> Resealed:
        from ot.store.postgres.credentials import reseal_rows  # where a database is configured

        return reseal_rows(link, sealer)

    try:
        with closing(build_backend(loaded.config.store)) as backend:
            people = state_folder(loaded.home) / PEOPLE_FOLDER
            found = backend.pick(lambda: reseal_files(people, sealer), reseal)
    except OSError as error:
        return fail(f"onetool seal: {error.strerror or error}")
    say(f"{found.anew} encrypted again with {sealer.ids[0]}; {found.already} already were.")
    for reason in sorted(set(found.failed)):
        complain(f"onetool seal: {found.failed.count(reason)} could not be decrypted: {reason}")
    if not found.failed and len(sealer.ids) > 1:
        say(f"Once every replica has started with {sealer.ids[0]}, you can remove the keys after it.")
    return FAILED if found.failed else OK
