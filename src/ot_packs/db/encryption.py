"""How a connection to a database server is encrypted: the words of its address, and what they mean to Python."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ot.errors import ToolError

OFF, PREFER, REQUIRE, VERIFY_CA, VERIFY_FULL = "off", "prefer", "require", "verify-ca", "verify-full"
_MODES = {
    "postgres": {"disable": OFF, "allow": PREFER, PREFER: PREFER, REQUIRE: REQUIRE, VERIFY_CA: VERIFY_CA,
                 VERIFY_FULL: VERIFY_FULL},
    "mysql": {"disabled": OFF, "preferred": OFF, "required": REQUIRE, "verify_ca": VERIFY_CA,
              "verify_identity": VERIFY_FULL},
}  # fmt: skip
_NAMES = {
    "postgres": ("sslmode", "sslrootcert", "sslcert", "sslkey"),
    "mysql": ("ssl-mode", "ssl-ca", "ssl-cert", "ssl-key"),
}
_USUAL = {"postgres": PREFER, "mysql": OFF}


@dataclass(frozen=True, slots=True)
class Encryption:
    """The encryption of a connection, and the checks of the server's certificate."""

    mode: str = OFF
    authority: str | None = None  # the file of who may have signed it; None for those whom the system trusts
    certificate: str | None = None  # our own, with its key
    key: str | None = None

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(file for file in (self.authority, self.certificate, self.key) if file)

    def context(self) -> ssl.SSLContext:
        """Return it as Python takes it; raises ToolError for a file that cannot be used."""
        try:
            context = ssl.create_default_context(cafile=self.authority)
            context.check_hostname = self.mode == VERIFY_FULL
            if self.mode not in (VERIFY_CA, VERIFY_FULL):
                context.verify_mode = ssl.CERT_NONE
            if self.certificate:
                context.load_cert_chain(self.certificate, self.key)
        except OSError as error:
            raise ToolError(f"{', '.join(self.files)} cannot be used for encryption: {error.strerror}") from None
        return context


def read_encryption(key: str, engine: str, options: Mapping[str, str]) -> Encryption:
    """Read the options of an address; an authority is named to be checked. Raises ToolError, which names the key."""
    modes = _MODES[engine]
    plain = {name.replace("_", "-"): value for name, value in options.items()}
    mode, authority, certificate, private = (plain.get(name) for name in _NAMES[engine])
    if mode is None:
        found = VERIFY_FULL if authority else _USUAL[engine]
    elif mode.lower() in modes:
        found = modes[mode.lower()]
    else:
        raise ToolError(f"{key}: {_NAMES[engine][0]} cannot be {mode!r}; it is one of {', '.join(modes)}")
    return Encryption(found, *(file and str(Path(file).expanduser()) for file in (authority, certificate, private)))


@contextmanager
def trusting(engine: str) -> Iterator[None]:
    """Raise ToolError where the certificate of a server is not trusted: it is not a matter of the network."""
    try:
        yield
    except ssl.SSLError as error:
        reason = getattr(error, "verify_message", "") or error.reason or error
        raise ToolError(
            f"{engine}: certificate verify failed: {reason}"
            if isinstance(error, ssl.SSLCertVerificationError)
            else f"{engine}: the connection cannot be encrypted: {reason}"
        ) from None
