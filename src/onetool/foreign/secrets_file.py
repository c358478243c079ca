"""Secrets set and removed in a `secrets.yaml`, or in the keychain with a reference in that file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from onetool.foreign.table_edit import add_entries, remove_entry
from onetool.foreign.text_files import read_text_file, replace_text_file
from ot.config.keychain import remove_entry as remove_from_keychain
from ot.config.keychain import write_entry
from ot.config.paths import SECRETS_FILE
from ot.config.secrets import Deferred, keychain_reference, read_secrets


def known_secrets(file: Path) -> dict[str, str]:
    """Return the secrets of a file by name, those of the keychain as `Deferred`; raises ConfigError."""
    return read_secrets(file if file.exists() else None)


def add_secrets(file: Path, values: Mapping[str, str]) -> Path | None:
    """Add secrets that are not in the file yet; returns the backup of the old file. Raises ConfigError."""
    _keep_out_of_version_control(file)
    original = read_text_file(file)
    changed = add_entries(original.text, "", values, file=file, newline=original.newline, private=True)
    return replace_text_file(original, changed, private=True)


def keep_in_keychain(secrets: Mapping[str, str]) -> dict[str, str]:
    """Put secrets into the keychain; returns the references to them. Raises KeychainError."""
    for name, value in secrets.items():
        write_entry(name, value)
    return {name: keychain_reference(name) for name in secrets}


def put_secret(file: Path, name: str, value: str, *, keychain: bool) -> None:
    """Set a secret in the file or, by a reference there, in the keychain. No copy of the old file is kept."""
    known = known_secrets(file).get(name)
    written = keychain_reference(name) if keychain else value
    if keychain:
        write_entry(name, value)
    if known == written and isinstance(known, Deferred) == keychain:
        return
    _keep_out_of_version_control(file)
    original = read_text_file(file)
    text = original.text if known is None else remove_entry(original.text, "", name, file=file, private=True)
    changed = add_entries(text, "", {name: written}, file=file, newline=original.newline, private=True)
    replace_text_file(original, changed, private=True, keep_old=False)


def remove_secret(file: Path, name: str) -> None:
    """Remove a secret from the file, and from the keychain where it is in that; no copy of the file is kept."""
    if isinstance(known_secrets(file)[name], Deferred):
        remove_from_keychain(name)
    original = read_text_file(file)
    changed = remove_entry(original.text, "", name, file=file, private=True)
    replace_text_file(original, changed, private=True, keep_old=False)


def _keep_out_of_version_control(file: Path) -> None:
    """List secrets and their backups, which may be in a project's folder, in the `.gitignore` beside them."""
    ignore, line = read_text_file(file.with_name(".gitignore")), f"{SECRETS_FILE}*"
    if line not in ignore.text.splitlines():
        before = ignore.text if not ignore.text or ignore.text.endswith("\n") else f"{ignore.text}\n"
        replace_text_file(ignore, f"{before}{line}\n")
