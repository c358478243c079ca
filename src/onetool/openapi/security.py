"""Ways to prove who calls, each with the secret that it needs."""

from __future__ import annotations

from dataclasses import dataclass

from onetool.openapi.description import Description, list_of, mapping_of
from onetool.openapi.names import parameter_name


@dataclass(frozen=True, slots=True)
class Proof:
    """One secret and where it goes: a header, the query or a cookie called `name`, after `before`."""

    secret: str
    place: str
    name: str
    before: str = ""
    meaning: str = ""
    required: bool = True


class Proofs:
    """The proofs of one pack; `used` are the secrets that its operations need."""

    def __init__(self, description: Description, pack: str) -> None:
        self._description = description
        self._pack = pack
        self.used: dict[str, str] = {}  # by name: what the secret is

    def of(self, security: object) -> tuple[Proof, ...]:
        """Return what an operation needs: of several ways the first that we know how to go."""
        ways = [mapping_of(way) for way in list_of(security)]
        required = {} not in ways
        for way in filter(None, ways):
            proofs = [self._proof(str(name), required=required) for name in way]
            if all(proofs):
                known = tuple(proof for proof in proofs if proof is not None)
                self.used |= {proof.secret: proof.meaning for proof in known}
                return known
        return ()

    def _proof(self, name: str, *, required: bool) -> Proof | None:
        scheme = self._description.scheme(name)
        secret = f"{self._pack}_{parameter_name(name, otherwise='key')}".upper().rstrip("_")
        match scheme.get("type"), str(scheme.get("scheme", "")).lower():
            case "apiKey", _ if scheme.get("in") in ("header", "query", "cookie") and scheme.get("name"):
                return Proof(secret, str(scheme["in"]), str(scheme["name"]), meaning="an API key", required=required)
            case ("http", "bearer") | ("oauth2" | "openIdConnect", _):
                return Proof(secret, "header", "Authorization", "Bearer ", "a token", required)
            case "http", "basic":
                return Proof(secret, "header", "Authorization", "Basic ", "user:password", required)
        return None
