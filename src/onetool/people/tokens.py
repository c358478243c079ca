"""Access tokens of the team's issuer: signed JWTs that were made for this server."""

from __future__ import annotations

import jwt

from mcp_core.json_types import JsonObject
from onetool.people.issuer_keys import ALGORITHMS, IssuerKeys
from onetool.people.person_of import RefusedError
from ot.clients.person import Person

_LEEWAY = 30  # seconds by which clocks may differ
_KINDS = frozenset({"jwt", "at+jwt", "application/at+jwt"})
_NAMES = ("name", "preferred_username", "email")
_NEEDED = ["exp", "iss", "aud", "sub"]
_LONGEST_SUBJECT = 255  # characters, as OpenID Connect has it: everything that is kept of a person is found by it


class TokenVerifier:
    """Authenticates people by tokens of one issuer for one audience."""

    def __init__(self, keys: IssuerKeys, *, issuer: str, audience: str, groups_claim: str) -> None:
        self._keys = keys
        self._issuer = issuer
        self._audience = audience
        self._groups_claim = groups_claim

    async def verify(self, token: str) -> Person:
        """Return whose token it is; raises RefusedError."""
        algorithm, key_id = self._read_header(token)
        claims = self._read_claims(token, await self._keys.find(key_id), algorithm)
        if "cnf" in claims:
            raise RefusedError("This token is bound to a key of its client, so it is not accepted as a bearer token.")
        return read_person(claims, issuer=self._issuer, groups_claim=self._groups_claim)

    def _read_header(self, token: str) -> tuple[str, str | None]:
        try:
            header: JsonObject = jwt.get_unverified_header(token)
        except (jwt.PyJWTError, UnicodeEncodeError):
            raise RefusedError(
                f"This token is not a JWT, so it cannot be verified here. {self._way_out}, in the form of a JWT."
            ) from None
        algorithm, key_id = header.get("alg"), header.get("kid")
        if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
            raise RefusedError("This token is not signed with a public key, so anyone could have made it.")
        if str(header.get("typ", "jwt")).lower() not in _KINDS:
            raise RefusedError(f"This JWT is not an access token. {self._way_out}.")
        return algorithm, key_id if isinstance(key_id, str) else None

    def _read_claims(self, token: str, key: jwt.PyJWK, algorithm: str) -> JsonObject:
        try:
            claims: JsonObject = jwt.decode(
                token,
                key.key,
                algorithms=[algorithm],
                audience=self._audience,
                issuer=self._issuer,
                leeway=_LEEWAY,
                options={"require": _NEEDED, "enforce_minimum_key_length": True},
            )
        except jwt.ExpiredSignatureError:
            raise RefusedError("This token has expired. Get a new one, or log in again.") from None
        except jwt.ImmatureSignatureError:
            raise RefusedError(
                "This token is not valid yet: the clock of its issuer, or of this server, is wrong."
            ) from None
        except jwt.InvalidAudienceError:
            raise RefusedError(f"This token was made for another server. {self._way_out}.") from None
        except jwt.InvalidIssuerError:
            raise RefusedError(f"This token comes from another issuer. {self._way_out}.") from None
        except jwt.MissingRequiredClaimError as error:
            raise RefusedError(f"This token lacks the claim {error.claim}. {self._way_out}.") from None
        except (jwt.PyJWTError, TypeError):  # the latter where the key is of another kind than the token says
            raise RefusedError("The signature of this token is wrong.") from None
        return claims

    @property
    def _way_out(self) -> str:
        return f"Ask {self._issuer} for an access token for the resource {self._audience}"


def read_person(claims: JsonObject, *, issuer: str, groups_claim: str) -> Person:
    """Read who the claims of a verified token are about; raises RefusedError."""
    subject = str(claims["sub"])
    if not 0 < len(subject) <= _LONGEST_SUBJECT:
        raise RefusedError(f"The claim sub of this token has {len(subject)} characters, not 1 to {_LONGEST_SUBJECT}.")
    name = next((text for key in _NAMES if isinstance(text := claims.get(key), str)), subject)
    return Person(issuer, subject, name, read_groups(claims.get(groups_claim)))


def read_groups(claim: object) -> frozenset[str]:
    """Read the groups of a claim: a list of names, or one name."""
    names = [claim] if isinstance(claim, str) else claim if isinstance(claim, list) else []
    return frozenset(name for name in names if isinstance(name, str) and name)
