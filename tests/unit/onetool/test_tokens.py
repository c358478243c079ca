"""Access tokens: only those that the issuer signed for this server count, whatever else they look like."""

from __future__ import annotations

import base64
import hashlib
import hmac
import itertools
import json
import time
from collections.abc import Mapping

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from onetool.people.person_of import RefusedError, UnavailableError
from onetool.people.tokens import IssuerKeys, TokenVerifier

pytestmark = pytest.mark.anyio

ISSUER, AUDIENCE = "https://login.example", "https://tool.example/mcp"
EC, OTHER = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())


def published(key: ec.EllipticCurvePrivateKey, name: str) -> jwt.PyJWK:
    facts = jwt.algorithms.ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
    return jwt.PyJWK.from_dict({**facts, "kid": name})


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Issuer:
    """Publishes keys, and counts how often it is asked."""

    def __init__(self) -> None:
        self.keys = {"one": published(EC, "one")}
        self.asked = 0
        self.gone = False

    def fetch(self, issuer: str) -> Mapping[str, jwt.PyJWK]:
        self.asked += 1
        if self.gone:
            raise ValueError("nobody answers")
        return dict(self.keys)


@pytest.fixture
def issuer() -> Issuer:
    return Issuer()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def verifier(issuer: Issuer, clock: Clock) -> TokenVerifier:
    keys = IssuerKeys(ISSUER, fetch=issuer.fetch, clock=clock)
    return TokenVerifier(keys, issuer=ISSUER, audience=AUDIENCE, groups_claim="groups")


def claims(**changes: object) -> dict[str, object]:
    now = int(time.time())
    usual = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "exp": now + 86400, "iat": now, "groups": ["dev"]}
    return {key: value for key, value in {**usual, **changes}.items() if value is not None}


def signed(payload: Mapping[str, object] | None = None, *, key: ec.EllipticCurvePrivateKey = EC, **header: str) -> str:
    return jwt.encode(dict(payload or claims()), key, algorithm="ES256", headers={"kid": "one", **header})


def unsigned(header: Mapping[str, object]) -> str:
    parts = (json.dumps(part).encode() for part in (header, claims()))
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts) + "."


async def test_the_issuers_token_for_this_server_names_its_person(verifier: TokenVerifier) -> None:
    person = await verifier.verify(signed(claims(name="Ann Example", aud=["https://other.example", AUDIENCE])))

    assert (person.issuer, person.subject, person.name, person.groups) == (
        ISSUER,
        "ann",
        "Ann Example",
        frozenset({"dev"}),
    )


def signed_by_public_key() -> str:
    """A token whose secret is the public key that everybody knows, made by hand since libraries refuse to."""
    public = EC.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    content = unsigned({"alg": "HS256", "kid": "one"}).rstrip(".")
    mac = hmac.new(public, content.encode(), hashlib.sha256).digest()
    return f"{content}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        (unsigned({"alg": "none", "kid": "one"}), "not signed with a public key"),
        (signed_by_public_key(), "not signed with a public key"),
        (signed(key=OTHER), "signature of this token is wrong"),
        (signed(claims(aud="https://other.example/mcp")), "made for another server"),
        (signed(claims(aud=None)), "lacks the claim aud"),
        (signed(claims(iss="https://evil.example")), "from another issuer"),
        (signed(claims(exp=int(time.time()) - 60)), "has expired"),
        (signed(claims(exp=None)), "lacks the claim exp"),
        (signed(claims(nbf=int(time.time()) + 80000)), "not valid yet"),
        (signed(claims(sub=None)), "lacks the claim sub"),
        (signed(claims(sub="")), "claim sub"),
        (signed(claims(sub="a" * 256)), "claim sub"),
        (unsigned({"alg": ["ES256"], "kid": "one"}), "not signed with a public key"),
        (unsigned({"alg": "RS256", "kid": "one"}), "signature of this token is wrong"),
        (unsigned({"alg": "EdDSA", "kid": "one"}), "signature of this token is wrong"),
        (signed(claims(cnf={"jkt": "x"})), "bound to a key"),
        (signed(typ="logout+jwt"), "not an access token"),
        ("opaque", "is not a JWT"),
        ("a.b.c", "is not a JWT"),
        ("", "is not a JWT"),
    ],
    ids=itertools.count(),
)
async def test_everything_else_is_refused_with_its_reason(verifier: TokenVerifier, token: str, reason: str) -> None:
    with pytest.raises(RefusedError, match=reason):
        await verifier.verify(token)


@pytest.mark.parametrize(("claim", "groups"), [("dev", {"dev"}), (["a", 1, "", "b"], {"a", "b"}), ({"a": 1}, set())])
async def test_groups_are_names_and_nothing_else(verifier: TokenVerifier, claim: object, groups: set[str]) -> None:
    assert (await verifier.verify(signed(claims(groups=claim)))).groups == groups


async def test_a_key_that_is_new_is_fetched_and_made_up_ones_do_not_have_us_ask_for_ever(
    verifier: TokenVerifier, issuer: Issuer, clock: Clock
) -> None:
    await verifier.verify(signed())
    issuer.keys["two"] = published(OTHER, "two")
    clock.now += 60

    await verifier.verify(signed(key=OTHER, kid="two"))
    for number in range(20):
        with pytest.raises(RefusedError, match="does not publish the key"):
            await verifier.verify(signed(kid=f"made-up-{number}"))

    assert issuer.asked == 2


async def test_keys_outlive_an_issuer_that_is_gone_for_a_while(
    verifier: TokenVerifier, issuer: Issuer, clock: Clock
) -> None:
    await verifier.verify(signed())
    issuer.gone = True
    clock.now += 3600

    assert (await verifier.verify(signed())).subject == "ann"
    assert issuer.asked == 2


async def test_without_keys_nobody_can_tell_so_the_token_is_not_called_wrong(
    verifier: TokenVerifier, issuer: Issuer
) -> None:
    issuer.gone = True

    with pytest.raises(UnavailableError, match="nobody answers"):
        await verifier.verify(signed())
