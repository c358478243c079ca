"""Security schemes, each with the secret that it needs."""

from __future__ import annotations

from dataclasses import dataclass

from onetool.openapi.description import Description, list_of, mapping_of
from onetool.openapi.names import parameter_name


@dataclass(frozen=True, slots=True)
class Credential:
    """One secret and its place in a request: a header, query parameter or cookie `name`, with the prefix `before`."""

    secret: str
    place: str
    name: str
    before: str = ""
    meaning: str = ""
    required: bool = True


class Credentials:
    """The credentials of one pack; `used` are the secrets that its operations need."""

    def __init__(self, description: Description, pack: str) -> None:
        self._description = description
        self._pack = pack
        self.used: dict[str, str] = {}  # by name: what the secret is

    def of(self, security: object) -> tuple[Credential, ...]:
        """Return what an operation needs: of several alternatives the first that is supported."""
        ways = [mapping_of(way) for way in list_of(security)]
        required = {} not in ways
        for way in filter(None, ways):
            credentials = [self._credential(str(name), required=required) for name in way]
            if all(credentials):
                known = tuple(credential for credential in credentials if credential is not None)
                self.used |= {credential.secret: credential.meaning for credential in known}
                return known
        return ()

    def _credential(self, name: str, *, required: bool) -> Credential | None:
        scheme = self._description.scheme(name)
        secret = f"{self._pack}_{parameter_name(name, otherwise='key')}".upper().rstrip("_")
        match scheme.get("type"), str(scheme.get("scheme", "")).lower():
            case "apiKey", _ if scheme.get("in") in ("header", "query", "cookie") and scheme.get("name"):
                return Credential(
                    secret, str(scheme["in"]), str(scheme["name"]), meaning="an API key", required=required
                )
            case ("http", "bearer") | ("oauth2" | "openIdConnect", _):
                return Credential(secret, "header", "Authorization", "Bearer ", "a token", required)
            case "http", "basic":
                return Credential(secret, "header", "Authorization", "Basic ", "user:password", required)
        return None
