"""Git as it is started here: nothing that a repository says of programs, places and people counts.

A repository may come from anybody, and its configuration can name programs in dozens of places. There are two walls.
Options, the environment and settings of the command line, which stand above all files, switch off what we know of.
And the process is confined: no other program than git can be executed, no file outside of the repository opened, and
there is no network, whatever else a repository thinks of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ot.errors import ToolError

SETTINGS = {
    "core.fsmonitor": "",
    "core.hooksPath": "/dev/null",
    "core.attributesFile": "/dev/null",
    "core.excludesFile": "/dev/null",
    "core.pager": "cat",
    "core.editor": ":",
    "core.askPass": "",
    "core.sshCommand": "false",
    "core.untrackedCache": "false",
    "core.quotePath": "false",
    "core.alternateRefsCommand": "",
    "credential.helper": "",
    "protocol.allow": "never",
    "safe.bareRepository": "explicit",
    "color.ui": "false",
    "diff.external": "",
    "diff.submodule": "short",
    "diff.noprefix": "false",
    "diff.mnemonicPrefix": "false",
    "log.showSignature": "false",
    "log.mailmap": "false",
    "mailmap.file": "",
    "mailmap.blob": "",
    "blame.ignoreRevsFile": "",
    "commit.gpgSign": "false",
    "gpg.program": "false",
    "gpg.ssh.program": "false",
    "gpg.x509.program": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "submodule.recurse": "false",
    "status.submoduleSummary": "false",
}
"""Settings that stand above those of a repository; an empty one means none."""

DIFF_OPTIONS = (
    "--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short", "--ignore-submodules=dirty", "-O/dev/null",
    "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip
"""Options of every command that compares files."""

_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "false",
    "GIT_SSH_COMMAND": "false",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": ":",
    "GIT_SEQUENCE_EDITOR": ":",
    "LC_ALL": "C.UTF-8",
}
_PASSED = ("PATH", "TZ", "TMPDIR")
_DRIVER = re.compile(r"filter\.(.*)\.(?:clean|smudge|process|required)", re.DOTALL)
CANARY = "onetool.canary"
"""A setting given in a variable: if git lists it, then git takes settings from variables."""


def harden_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of every git: of the server's own only what no repository can mean anything by."""
    return {name: environ[name] for name in _PASSED if name in environ} | _ENVIRONMENT


def setting_words(settings: Mapping[str, str]) -> list[str]:
    """Return settings as words of a command line."""
    return [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]


def setting_variables(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings as variables, for names that may hold any character."""
    numbered = enumerate(settings.items())
    pairs = [{f"GIT_CONFIG_KEY_{n}": name, f"GIT_CONFIG_VALUE_{n}": value} for n, (name, value) in numbered]
    return {"GIT_CONFIG_COUNT": str(len(pairs))} | {name: value for pair in pairs for name, value in pair.items()}


def without_drivers(listed: Iterable[str]) -> dict[str, str]:
    """Return settings that switch off the content filters that the listed settings name; raises ToolError.

    A filter that is not run changes what is stored: whoever writes has to look for files that want one.
    """
    listed = set(listed)
    if CANARY not in listed:
        raise ToolError("the installed git is too old for this pack: it needs version 2.31 or newer")
    names = {match[1] for name in listed if (match := _DRIVER.fullmatch(name))}
    off = {"clean": "", "smudge": "", "process": "", "required": "false"}
    return {f"filter.{name}.{key}": value for name in sorted(names) for key, value in off.items()}
