"""`onetool logs [-f] [INCIDENT]`: recent warnings and errors, or the traceback of an incident that an answer named."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from itertools import chain

from mcp_core.line_log import older_log
from mcp_core.visible_text import visible, visible_line
from onetool.cli import OK
from onetool.cli.printing import Style, add_json_argument, complain, fail, paint, say, say_json
from onetool.cli.start import load
from onetool.console.clean_text import escape
from onetool.log_entries import LogEntry, LogFile, choose, read_entries
from ot.config.paths import kept_log
from ot.errors import ConfigError

EPILOG = (
    "Reads the file that log.file names, by default ~/.onetool/state/log/onetool.log, which has the warnings and "
    "errors of all your servers and commands. When an answer names an incident: onetool logs 1a2b3c4d."
)
_STYLES: dict[str, Style] = {"ERROR": "red", "CRITICAL": "red", "WARNING": "yellow"}


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("incident", nargs="?", metavar="INCIDENT", help="show only this incident, with its traceback")
    parser.add_argument("-f", "--follow", action="store_true", help="keep showing new entries until Ctrl-C")
    parser.add_argument("-n", "--lines", type=int, default=20, metavar="N", help="the number of entries (default: 20)")
    add_json_argument(parser)


def main(options: Namespace) -> int:
    loaded = load(options, tolerant=True)
    file = loaded.config.log.file or kept_log(loaded.home)
    try:
        with LogFile(older_log(file)) as older, LogFile(file) as log:
            found = choose(read_entries(chain(older.new_lines(), log.new_lines())), options.incident, options.lines)
            if options.follow:
                new = (entry for lines in log.follow() for entry in read_entries(iter(lines)))
                with suppress(KeyboardInterrupt):  # a log is followed until somebody stops it
                    for entry in chain(found, new):
                        if options.json:
                            say(escape(json.dumps(asdict(entry), ensure_ascii=False)))
                        else:
                            _show(entry)
                return OK
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file=file) from error
    if options.json:
        say_json([asdict(entry) for entry in found])
    for entry in [] if options.json else found:
        _show(entry)
    if not found and options.incident:
        return fail(f"onetool: there is no incident {visible(options.incident)} in {file}")
    if not found:
        complain(f"{file} has no entries.")
    return OK


def _show(entry: LogEntry) -> None:
    began = datetime.fromisoformat(entry.time).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    level = paint(f"{entry.level:<7}", _STYLES[entry.level]) if entry.level in _STYLES else f"{entry.level:<7}"
    say(f"{paint(began, 'dim')} {level} {paint(entry.name, 'bold')}{visible(entry.text.removeprefix(entry.name))}")
    for line in entry.detail.splitlines():
        say(f"    {visible_line(line)}")
