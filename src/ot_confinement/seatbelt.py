"""Seatbelt: the bounds of a program on macOS, as the profile that `sandbox-exec` starts it with.

Apple calls `sandbox-exec` deprecated, and has nothing else for a program that is not an app; browsers, Nix, Bazel and
other agents rely on the same profiles. Everything is denied by default, and the last rule that matches counts. The
kernel compares real paths, so links are followed when the profile is written; the names on the way must only be looked
up, which `file-read-metadata` allows everywhere, as Landlock does.

Nothing of this proves that a profile holds on the system at hand: `seatbelt_probe` lets a process inside one try what
it must not be able to do, before a program is started. Weaker than on Linux: a file that replaces one of `files` can be
read in its place, memory is only watched, and other programs of the machine can use the proxy for `hosts`.
"""

from __future__ import annotations

import fcntl
import os

from ot_confinement.confine import Confine, leave_out_led, lies_within

TYPE_CHECKING = False  # typing itself takes longer to import than all of a guardian
if TYPE_CHECKING:
    from collections.abc import Iterable

SANDBOX_EXEC = "/usr/bin/sandbox-exec"

_PREFIXES = ("/usr/local", "/opt/homebrew", "/opt/local")  # Homebrew's on both processors, and that of MacPorts
_INSTALLED = (
    "bin", "sbin", "lib", "libexec", "share", "opt", "Cellar", "Frameworks", "Library/Frameworks",
    "etc/ca-certificates", "etc/openssl@3",
)  # fmt: skip
SYSTEM_FILES = (
    "/bin", "/sbin", "/usr/bin", "/usr/lib", "/usr/libexec", "/usr/sbin", "/usr/share", "/nix/store",
    "/System/Cryptexes", "/System/Library", "/System/Volumes/Preboot/Cryptexes", "/System/iOSSupport",
    "/Library/Apple", "/Library/Developer/CommandLineTools", "/Library/Frameworks",
    "/Applications/Xcode.app/Contents/Developer",
    *(f"{prefix}/{folder}" for prefix in _PREFIXES for folder in _INSTALLED),
    "/private/etc/group", "/private/etc/hosts", "/private/etc/localtime", "/private/etc/passwd",
    "/private/etc/protocols", "/private/etc/services", "/private/etc/ssl",
    "/private/var/db/dyld", "/private/var/db/oah", "/private/var/db/timezone",
    "/private/var/db/xcode_select_link", "/private/var/select",
    "/dev/null", "/dev/zero", "/dev/random", "/dev/urandom",
)  # fmt: skip
"""System files that any program needs. Not all of /System: what people own is below /System/Volumes/Data as well."""

_SYSCTLS = (
    "kern.argmax", "kern.bootargs", "kern.hostname", "kern.maxfilesperproc", "kern.ngroups", "kern.osproductversion",
    "kern.osrelease", "kern.ostype", "kern.osvariant_status", "kern.osversion", "kern.secure_kernel",
    "kern.usrstack64", "kern.version", "sysctl.proc_cputype", "vm.loadavg",
)  # fmt: skip
"""Facts of the system; nothing of other processes, whose command lines may hold secrets."""

_READ = "file-read* file-map-executable"
_WRITE = f"{_READ} file-write*"
_WRITTEN_FILE = "file-read* file-write-data"
_CLOSED = "file-read-data file-read-xattr file-map-executable file-write* process-exec*"


def quote(text: str) -> str:
    """Write a string of the profile's language, a Scheme."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


BASE = "\n".join(
    (
        "(version 1)",
        "(deny default)",
        # These are not part of what is denied by default.
        "(deny process-info* nvram* iokit-get-properties file-map-executable)",
        "(allow process-fork)",
        "(allow process-info* signal (target same-sandbox))",
        f"(allow sysctl-read {' '.join(f'(sysctl-name {quote(name)})' for name in _SYSCTLS)})",
        '(allow sysctl-read (sysctl-name-prefix "hw.") (sysctl-name-prefix "machdep.cpu."))',
        '(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))',  # names of users
        '(allow ipc-posix-sem (ipc-posix-name-prefix "/mp-"))',  # locks of Python's multiprocessing
        "(allow file-read-metadata file-test-existence)",
        '(allow file-read-data (literal "/"))',  # without which no program is loaded
        '(allow file-write-data (literal "/dev/null"))',
        "",
    )
)


def write_profile(confine: Confine, folder: str, *, port: int | None = None) -> str:
    """Write the profile of a program with this temporary folder; `port` is the one of its proxy on this machine."""
    readable = _real(leave_out_led(confine.readable, confine.writable))
    writable = _real((*leave_out_led(confine.writable, confine.writable), folder))
    closed = _real(confine.closed)
    rules = [(path, 0, f"(deny {_CLOSED} {_below(path)})") for path in closed]
    rules += [(path, 1, f"(allow {_READ} {_below(path)})") for path in readable]
    rules += [(path, 1, f"(allow {_WRITE} {_below(path)})") for path in writable]
    programs = (*readable, *writable) if confine.programs is None else _real(confine.programs)
    rules += [(path, 1, f"(allow {_READ} process-exec* {_below(path)})") for path in programs]
    rules += [(path, 1, f"(allow file-read* {_itself(path)})") for path in _unled(confine.files)]
    single = _unled((*confine.written, *confine.mounted))
    rules += [(path, 1, f"(allow {_WRITTEN_FILE} {_itself(path)})") for path in single]
    # The nearest name decides: what is named within a closed folder is open, what is closed within an open one shut.
    system = (
        f"(allow {_READ}{' process-exec*' if confine.programs is None else ''} {' '.join(map(_below, SYSTEM_FILES))})"
    )
    lines = [
        system,
        *(line for _, _, line in sorted(rules, key=lambda rule: (rule[0].rstrip("/").count("/"), rule[1]))),
    ]
    # A folder that holds something closed cannot be moved, which would give that another name.
    held = {above for path in closed for above in _above(path) if lies_within(above, writable)}
    lines += [f"(deny file-write-unlink {_itself(path)})" for path in sorted(held)]
    if port is not None:
        lines.append(f'(allow network-outbound (remote ip "localhost:{port}"))')
    return BASE + "\n".join(dict.fromkeys(lines)) + "\n"


def _below(path: str) -> str:
    return f"(subpath {quote(path)})"


def _itself(path: str) -> str:
    return f"(literal {quote(path)})"


def _real(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(_as_stored, map(os.path.realpath, paths))))


def _as_stored(path: str) -> str:
    """Return a path with the capitals that the file system has for it, which may take others for the same."""
    command = getattr(fcntl, "F_GETPATH", None)
    if command is None:
        return path
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return path
    try:
        return os.fsdecode(fcntl.fcntl(opened, command, bytes(1024)).rstrip(b"\0"))
    finally:
        os.close(opened)


def _unled(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the single files that are still where they were: one that leads through a link by now is not opened."""
    return tuple(_as_stored(path) for path in paths if os.path.realpath(path) == path)


def _above(path: str) -> Iterable[str]:
    while (path := os.path.dirname(path)) != "/":
        yield path
