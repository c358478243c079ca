"""A program in its bounds: what a process gives up before it becomes the program, for itself and all that it starts.

On macOS a process gives nothing up: the program is started by another one, within the profile that `seatbelt` writes.
"""

from __future__ import annotations

import ctypes
import os
import resource
import sys

from ot_confinement import landlock, namespaces, privileges, seccomp
from ot_confinement.confine import TEMPORARY, Allowance, Confine, RefusedError, leave_out_led, lies_within
from ot_confinement.limits import limit
from ot_confinement.program_filter import build_program_filter

TYPE_CHECKING = False  # typing itself takes longer to import than all of a guardian
if TYPE_CHECKING:
    import socket

SYSTEM_FILES = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store",
    "/etc/alternatives", "/etc/ca-certificates", "/etc/crypto-policies", "/etc/fonts", "/etc/gai.conf",
    "/etc/gitconfig", "/etc/group", "/etc/host.conf", "/etc/hosts", "/etc/ld.so.cache", "/etc/ld.so.conf",
    "/etc/ld.so.conf.d", "/etc/ld.so.preload",
    "/etc/localtime", "/etc/magic", "/etc/mime.types", "/etc/nsswitch.conf", "/etc/os-release", "/etc/passwd",
    "/etc/pki/tls", "/etc/pki/ca-trust", "/etc/protocols", "/etc/resolv.conf", "/etc/services", "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf", "/etc/static", "/etc/timezone", "/dev/null", "/dev/zero", "/dev/full", "/dev/random",
    "/dev/urandom", "/proc/cpuinfo", "/proc/filesystems", "/proc/loadavg", "/proc/meminfo", "/proc/stat",
    "/proc/sys/kernel", "/proc/sys/vm", "/proc/uptime", "/proc/version", "/sys/devices/system", "/sys/fs/cgroup",
)  # fmt: skip
"""System files that any program needs; nothing of other processes, whose command lines may hold secrets."""

CONFINES_ITSELF = sys.platform != "darwin"
"""False where a process cannot take its bounds on, and only a program can be started within them."""

MEANS = "Landlock, seccomp and namespaces" if CONFINES_ITSELF else "Seatbelt (sandbox-exec), after a probe"
"""The way in which this system confines a program."""

_SINKS = ("/dev/null", "/dev/full")
_PLACES = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR")
_LOOPBACK = ("localhost", "127.", "[::1]", "::1")


def confine_program(confine: Confine, folder: str, *, parent: int, channel: socket.socket | None) -> list[str]:
    """Put the calling process into its bounds for good, `folder` among them; raises RefusedError.

    It is killed with its parent. Over `channel` it hands the socket of its proxy to whoever serves that outside.
    Returns the words to put before a command where CONFINES_ITSELF is false; otherwise none.
    """
    if sys.platform == "darwin":
        return _begin_seatbelt(confine, folder, channel)
    libc = ctypes.CDLL(None, use_errno=True)
    machine = os.uname().machine
    version = landlock.version(libc) if sys.platform == "linux" else 0
    if not version or not seccomp.supports(machine):
        raise RefusedError("this system has no Landlock, or its seccomp is not known")
    try:
        read_only = _take_namespaces(libc, confine, folder)
        if not read_only and version < landlock.GUARDS_TRUNCATION:
            raise RefusedError("its Landlock does not cover truncation (Linux 6.2 does), and namespaces are refused")
        _settle_environment(confine, folder, _open_way_out(confine, channel))
        limit(resource.RLIMIT_CORE, 0)
        if confine.memory is not None:
            limit(resource.RLIMIT_DATA, confine.memory)
        privileges.give_up_privileges(libc)
        privileges.end_with_parent(libc, parent)
        rules = landlock.PathRules(libc, _allowance(confine), version)
        rules.restrict(rules.build_ruleset(folder))
        bounded, network = confine.memory is not None, bool(confine.hosts)
        program = build_program_filter(machine, network=network, metadata=read_only, bounded=bounded)
        seccomp.Filter(libc, program).load(os.getpid())
    except OSError as error:
        raise RefusedError(f"{error.strerror or error}") from error
    return []


def _begin_seatbelt(confine: Confine, folder: str, channel: socket.socket | None) -> list[str]:
    from ot_confinement import seatbelt  # noqa: PLC0415 - only where it applies
    from ot_confinement.seatbelt_probe import require_seatbelt  # noqa: PLC0415

    require_seatbelt(seatbelt.SANDBOX_EXEC)
    try:
        for file in confine.mounted:
            os.symlink(file, f"{folder}/{os.path.basename(file)}")
        proxy = _open_way_out(confine, channel)
        _settle_environment(confine, folder, proxy)
        limit(resource.RLIMIT_CORE, 0)
        if confine.memory is not None:
            limit(resource.RLIMIT_DATA, confine.memory)  # of which macOS counts little; the guardian watches the rest
    except OSError as error:
        raise RefusedError(f"{error.strerror or error}") from error
    port = int(proxy.rpartition(":")[2]) if proxy is not None else None
    return [seatbelt.SANDBOX_EXEC, "-p", seatbelt.write_profile(confine, folder, port=port), "--"]


def _take_namespaces(libc: ctypes.CDLL, confine: Confine, folder: str) -> bool:
    """Return whether files elsewhere are read-only by their mounts; raises RefusedError where hosts need a network."""
    try:
        namespaces.enter_namespaces(libc, network=bool(confine.hosts))
        if confine.hosts:
            namespaces.bring_loopback_up()
    except OSError as error:
        if confine.hosts:
            raise RefusedError(
                f"`hosts` needs a network namespace, and this system refuses one ({error.strerror}): allow user "
                "namespaces, or leave out `hosts` and with it the network"
            ) from error
        return _do_without_mounts(confine, error)
    try:
        namespaces.make_private(libc)
        writable = (*leave_out_led(confine.writable, confine.writable), *confine.written, folder)
        mounted = _mount_files(libc, confine.mounted, folder)
        namespaces.make_read_only(libc, writable=(*writable, *mounted), closed=confine.closed)
    except OSError as error:
        return _do_without_mounts(confine, error)
    return True


def _do_without_mounts(confine: Confine, error: OSError) -> bool:
    if confine.mounted:
        raise RefusedError(f"it needs mounts of its own, and this system refuses them ({error.strerror})") from error
    return False


def _mount_files(libc: ctypes.CDLL, files: tuple[str, ...], folder: str) -> list[str]:
    """Let files be found in a folder by their names, and return their paths there."""
    places = []
    for file in files:
        opened = landlock.open_real(file)
        if opened is None:
            raise RefusedError(f"{file} is not a regular file")
        place = f"{folder}/{os.path.basename(file)}"
        os.close(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        namespaces.bind(libc, f"/proc/self/fd/{opened}", place)
        os.close(opened)
        places.append(place)
    return places


def _open_way_out(confine: Confine, channel: socket.socket | None) -> str | None:
    """Return the address of the proxy, which is told to serve it."""
    if not confine.hosts or channel is None:
        return None
    import socket  # noqa: PLC0415 - most programs have no network

    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener, channel:
        socket.send_fds(channel, [b"."], [listener.fileno()])  # to the proxy outside (`host_proxy`)
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


def _settle_environment(confine: Confine, folder: str, proxy: str | None) -> None:
    """Point at its temporary folder, instead of a home that it cannot use, and at its proxy."""
    environ = os.environ
    environ.update(dict.fromkeys(TEMPORARY, folder))
    places = [os.path.realpath(path) for path in (*confine.readable, *confine.writable)]
    if not _is_open(places, environ.get("HOME", "")):
        environ["HOME"] = folder
    for name in _PLACES:
        if not _is_open(places, environ.get(name, "")):
            environ.pop(name, None)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        environ.pop(name, None)
        environ.pop(name.lower(), None)
    if proxy is not None:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
            environ[name] = proxy
        environ["NODE_USE_ENV_PROXY"] = "1"
        if not any(host.startswith(_LOOPBACK) for host in confine.hosts):
            environ["NO_PROXY"] = environ["no_proxy"] = "localhost,127.0.0.1,::1"


def _is_open(places: list[str], path: str) -> bool:
    return bool(path) and lies_within(os.path.realpath(path), places)


def _allowance(confine: Confine) -> Allowance:
    return Allowance(
        readable=(*SYSTEM_FILES, *leave_out_led(confine.readable, confine.writable)),
        writable=(*_SINKS, *leave_out_led(confine.writable, confine.writable)),
        memory=confine.memory or 0,
        file_size=0,
        open_files=0,
        network=bool(confine.hosts),
        files=confine.files,
        programs=confine.programs,
        closed=confine.closed,
        written=confine.written,
    )
