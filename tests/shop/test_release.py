"""What `make release` refuses. That two clones make the same bytes, and that each Python starts them, is a step of it."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import pytest

from ot_wasm import component
from scripts import release
from scripts.release import ReleaseError, check_wheel, read_notes, take_component
from scripts.shop_window import read_facts

_CHANGELOG = "# Changelog\n\n## Unreleased\n\n## 0.2.0\n\n### Added\n\n- A door.\n\n## 0.1.0\n\nThe first.\n"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("ot/test_app.py", "", "does not belong there"),
        ("ot/tests/app.py", "", "does not belong there"),
        ("tests/app.py", "", "does not belong there"),
        ("ot/app.so", "", "does not belong there"),
        ("ot/app.py", "# /the/clone/src/ot/app.py", "names /the/clone"),
        ("onetool_run-1.dist-info/METADATA", "", ""),
        ("ot/app.py", "", ""),
    ],
)
def test_a_wheel_holds_nothing_but_our_packages(tmp_path: Path, name: str, content: str, words: str) -> None:
    wheel = tmp_path / "thing.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(name, content)

    if not words:
        check_wheel(wheel, forbidden=["/the/clone"])
        return
    with pytest.raises(ReleaseError, match=words):
        check_wheel(wheel, forbidden=["/the/clone"])


def test_a_wheel_has_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = tmp_path / "thing.whl"
    wheel.write_bytes(bytes(101))
    monkeypatch.setattr(release, "LARGEST", 100)

    with pytest.raises(ReleaseError, match="101 bytes, more than 100"):
        check_wheel(wheel, forbidden=[])


def test_a_component_is_taken_only_if_the_record_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    handed, other = tmp_path / "handed.wasm", tmp_path / "other.wasm"
    handed.write_bytes(b"handed")
    other.write_bytes(b"other")
    digest = hashlib.sha256(b"handed").hexdigest()
    monkeypatch.setattr(release, "RECORD", tmp_path / "component.toml")
    monkeypatch.setattr(component, "COMPONENT", tmp_path / "kernel.wasm")
    monkeypatch.setattr(component, "MADE_FROM", tmp_path / "kernel.wasm.sources")

    for made_from in ("other sources", component.digest_sources()):
        (tmp_path / "component.toml").write_text(f'made_from = "{made_from}"\nsha256 = "{digest}"\n')
        for file in (handed, other):
            if (made_from, file) == (component.digest_sources(), handed):
                assert take_component(file).read_bytes() == b"handed"
                assert not component.is_stale()
                continue
            with pytest.raises(ReleaseError, match=f"{file.name} is not the component"):
                take_component(file)


def test_the_notes_are_those_of_the_version() -> None:
    assert read_notes(_CHANGELOG, "0.2.0") == "### Added\n\n- A door.\n\n"
    assert read_notes(_CHANGELOG, "0.1.0") == "The first.\n"
    assert (read_notes(_CHANGELOG, "Unreleased"), read_notes(_CHANGELOG, "0.2")) == ("", "")


def test_a_placeholder_is_not_ready_for_publishing(capsys: pytest.CaptureFixture[str]) -> None:
    if not read_facts().is_placeholder:
        pytest.skip("OneTool has a publisher")

    assert release.main(["--ready"]) == 1
    assert "Not to be published yet: publishing/publisher.toml names no publisher" in capsys.readouterr().err
