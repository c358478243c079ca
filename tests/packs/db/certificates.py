"""An authority, and the certificate that it gives to `localhost`, for servers that the tests start."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def write_certificates(folder: Path) -> None:
    """Write `ca.pem`, `server.pem` and `server.key`, and `other.pem` of an authority that has signed nothing."""
    authority, other, server = (ec.generate_private_key(ec.SECP256R1()) for _ in range(3))
    issuer = _name("authority")
    _write(folder / "ca.pem", _certificate(issuer, authority, issuer, authority))
    _write(folder / "other.pem", _certificate(issuer, other, issuer, other))
    _write(folder / "server.pem", _certificate(_name("localhost"), server, issuer, authority, host="localhost"))
    key = server.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "server.key").touch(mode=0o600)
    (folder / "server.key").write_bytes(key)


def _certificate(
    subject: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    issuer: x509.Name,
    signer: ec.EllipticCurvePrivateKey,
    *,
    host: str = "",
) -> x509.Certificate:
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(
        issuer, subject, key.public_key(), x509.random_serial_number(), now - timedelta(days=1), now + timedelta(days=2)
    )
    usage = x509.KeyUsage(
        digital_signature=bool(host),
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=not host,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
    extensions: list[tuple[x509.ExtensionType, bool]] = [  # with those that Python demands from 3.13 on
        (x509.BasicConstraints(ca=not host, path_length=None), True),
        (usage, True),
        (x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False),
        (x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), False),
    ]
    for extension, critical in extensions:
        builder = builder.add_extension(extension, critical=critical)
    if host:
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
    return builder.sign(signer, hashes.SHA256())


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _write(file: Path, certificate: x509.Certificate) -> None:
    file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
