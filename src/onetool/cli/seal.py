"""`onetool seal`: the keys that seal what a server keeps of people's secrets and logins."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from onetool.cli import OK
from onetool.cli.printing import say
from ot.store.sealing import new_key

EPILOG = "All replicas have the same keys, as seal.keys (ONETOOL_SEAL_KEYS) or in the file that seal.file names."


def add_arguments(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("key", help="print a new key")


def main(options: Namespace) -> int:
    say(new_key())
    return OK
