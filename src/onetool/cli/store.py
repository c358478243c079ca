"""`onetool store`: the tables of a team's store, brought up to date ahead of its replicas."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from contextlib import closing

import anyio

from onetool.cli import FAILED, OK
from onetool.cli.printing import fail, say
from onetool.cli.start import load
from ot.store.opening import POSTGRES, build_backend

EPILOG = "A server does the same when it starts. Replicas of an older version go on beside migrations that only add."


def add_arguments(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    migrate = actions.add_parser("migrate", help="apply the migrations that are missing")
    migrate.add_argument("--dry-run", action="store_true", help="only show what would be done")


def main(options: Namespace) -> int:
    address = load(options).config.store
    if not address.startswith(POSTGRES):
        return fail("onetool store: only a store in PostgreSQL has tables to migrate (store in the configuration).")
    with closing(build_backend(address)) as backend:  # says first if the library is missing
        from ot.store.postgres.backend import look_at_database
        from ot.store.postgres.migrations import find_migrations, is_additive

        seen, known = anyio.run(look_at_database, address), find_migrations()
        if seen.newer:
            return fail(f"{seen.place}: a newer OneTool has changed its tables; bring this one up to date.", FAILED)
        for number in seen.missing:
            statements = known[number]
            about = next(line for line in statements.splitlines() if line and not line.startswith("-- Additive"))
            how = "only adds something" if is_additive(statements) else "older replicas must not run beside it"
            say(f"{number:03}  {about.removeprefix('-- ')} ({how})")
        if not seen.missing:
            say(f"{seen.place} is up to date.")
        elif options.dry_run:
            say(f"{len(seen.missing)} would be applied to {seen.place}.")
        else:
            backend.pick(lambda: None, lambda link: link.fetch_now("SELECT 1"))
            say(f"{len(seen.missing)} applied to {seen.place}.")
    return OK
