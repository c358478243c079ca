"""An extension's dependencies are those of its lock, made by its first resolution or shipped beside it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from textwrap import dedent

import pytest
from anyio import fail_after

from ot.workers.environment import prepare
from ot.workers.extension import Extension, find_uv
from ot.workers.installing import Installer
from ot.workers.pep723 import read_header
from ot.workers.uv_program import PreparationError
from tests.wheels import serve_index, write_wheel
from tests.worker_pool import host_of, open_pool, write_extension

pytestmark = pytest.mark.anyio

NO_NETWORK = {"HTTPS_PROXY": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9", "UV_HTTP_RETRIES": "0"}


class Shop:
    """A folder of packages, and an extension that wants some of them."""

    def __init__(self, folder: Path, cache: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir()
        self.environ = {**os.environ, **NO_NETWORK, "UV_CACHE_DIR": str(cache)}
        self.told: list[str] = []
        self.offer("1.0")

    def offer(self, version: str, **more: str) -> None:
        write_wheel(self.folder / "wheels", version, **more)

    def extension(self, dependencies: str = '"thing"', *, where: str = "no-index = true", more: str = "") -> Extension:
        source = f"""
            # /// script
            # requires-python = ">=3.11"
            # dependencies = [{dependencies}]
            # [tool.uv]
            # {where}
            # find-links = {[str(self.folder / "wheels")] if "no-index" in where else []}{more}
            # ///
            import thing

            def version():
                return thing.VERSION
            """
        return write_extension(self.home, source)

    async def version(self, extension: Extension, **settings: str) -> object:
        """The version that a fresh server installs and imports."""
        async with open_pool(self.home, environ=self.environ, **settings) as pool:
            with fail_after(60):
                return await pool.call(extension, "version", {})

    def installer(self, extension: Extension) -> Installer:
        header, _ = read_header(extension.file)
        assert header is not None
        return Installer(extension.file, header, host_of(self.home, self.environ), self.told.append)

    async def failure(self, extension: Extension) -> str:
        host = host_of(self.home, self.environ)
        with fail_after(60), pytest.raises(PreparationError) as caught:
            await prepare(extension.file, host, launch="direct", tell=self.told.append)
        return str(caught.value)

    def forget_environments(self) -> None:
        """What happens when uv's cache is cleaned."""
        for file in (self.home / "state" / "environments").iterdir():
            file.unlink()

    def ship_lock(self, extension: Extension) -> Path:
        uv = find_uv(os.environ)
        assert uv is not None
        subprocess.run([uv, "lock", "-q", "--script", extension.file], env=self.environ, check=True, timeout=60)
        return extension.file.with_name(f"{extension.file.name}.lock")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("uv")


@pytest.fixture
def shop(tmp_path: Path, cache: Path) -> Shop:
    return Shop(tmp_path, cache)


@pytest.mark.parametrize("launch", ["direct", "uv-run"])
async def test_what_the_first_call_resolved_stays(shop: Shop, launch: str) -> None:
    extension = shop.extension()
    if launch == "uv-run":
        footer = 'import ot_sdk\nif __name__ == "__main__":\n    ot_sdk.serve()\n'
        extension.file.write_text(extension.file.read_text() + footer)
    first = await shop.version(extension, launch=launch)
    shop.offer("2.0")
    shop.forget_environments()

    again = await shop.version(extension, launch=launch)

    assert (first, again) == ("1.0", "1.0")
    assert shop.installer(extension).versions() == {"thing": "1.0"}


async def test_an_upgrade_is_a_decision(shop: Shop) -> None:
    extension = shop.extension()
    await shop.version(extension)
    shop.offer("2.0")

    unchanged = await shop.installer(extension).resolve()
    changes = await shop.installer(extension).resolve(upgrade=True)

    assert (unchanged, changes) == ([], ["thing 1.0 -> 2.0"])
    assert await shop.version(extension) == "2.0"


async def test_a_lock_that_is_removed_is_made_again(shop: Shop) -> None:
    extension = shop.extension()
    await shop.version(extension)
    shop.offer("2.0")
    shop.installer(extension).lock.file.unlink()

    assert await shop.version(extension) == "2.0"


async def test_another_header_is_resolved_again_and_that_is_told(shop: Shop) -> None:
    shop.offer("1.0", name="other")
    await shop.version(shop.extension())
    shop.offer("2.0")

    extension = shop.extension('"thing", "other"')
    await prepare(extension.file, host_of(shop.home, shop.environ), launch="direct", tell=shop.told.append)

    assert shop.told == ["resolving its dependencies again, because its header has changed"]
    assert shop.installer(extension).versions() == {
        "other": "1.0",
        "thing": "1.0",
    }, "what fits stays"


async def test_code_that_changes_below_the_header_resolves_nothing(shop: Shop) -> None:
    extension = shop.extension()
    await shop.version(extension)
    locked = shop.installer(extension).lock.file.stat().st_mtime_ns
    extension.file.write_text(extension.file.read_text() + "\n\ndef more():\n    return 1\n")

    await shop.version(extension)

    assert shop.installer(extension).lock.file.stat().st_mtime_ns == locked


async def test_a_resolution_that_was_interrupted_counts_for_nothing(shop: Shop) -> None:
    """The lock is there for another header than the one that is written down beside it."""
    extension = shop.extension('"thing<1"')
    await shop.failure(extension)
    lock = shop.installer(extension).lock

    assert lock.content() is None
    assert [path.name for path in lock.script.parent.iterdir()] == []


@pytest.mark.parametrize("damage", ["", "{", "version = 'one'", "[[package]]\n", "version = 1\npackage = 5\n"])
async def test_a_damaged_lock_is_told_and_left_alone(shop: Shop, damage: str) -> None:
    extension = shop.extension()
    await shop.version(extension)
    lock = shop.installer(extension).lock.file
    lock.write_text(damage)

    for changed in (extension, shop.extension('"thing>=1"')):
        assert f"its lock {lock} is damaged" in await shop.failure(changed)
    with pytest.raises(PreparationError, match="is damaged"):
        await shop.installer(extension).resolve(upgrade=True)
    assert lock.read_text() == damage


async def test_a_package_that_is_not_the_one_that_was_locked_is_not_installed(shop: Shop, tmp_path: Path) -> None:
    shop.environ["NO_PROXY"] = "127.0.0.1"
    with serve_index(shop.folder / "wheels") as index:
        extension = shop.extension(where=f'index-url = "{index}"')
        await shop.version(extension)
        shop.offer("1.0", needs="something; sys_platform == 'win32'")
        shop.forget_environments()
        shop.environ["UV_CACHE_DIR"] = str(tmp_path / "fresh")

        failure = await shop.failure(extension)

    assert "Hash mismatch for `thing==1.0`" in failure


# -- a lock that the extension ships


async def test_a_lock_that_is_shipped_counts(shop: Shop) -> None:
    extension = shop.extension()
    lock = shop.ship_lock(extension)
    shop.offer("2.0")
    before = lock.read_bytes()

    assert await shop.version(extension) == "1.0"
    assert lock.read_bytes() == before
    assert not (shop.home / "state" / "locks").exists()


async def test_a_shipped_lock_that_does_not_fit_its_header_is_told_and_not_changed(shop: Shop) -> None:
    lock = shop.ship_lock(shop.extension())
    before = lock.read_bytes()
    shop.offer("1.0", name="other")

    failure = await shop.failure(shop.extension('"thing", "other"'))

    assert "needs to be updated" in failure
    assert "Its lock is sample.py.lock, which `uv lock --script sample.py` updates." in failure
    assert lock.read_bytes() == before


async def test_a_shipped_lock_that_is_damaged_is_told(shop: Shop) -> None:
    extension = shop.extension()
    lock = shop.ship_lock(extension)
    lock.write_text("{")

    assert f"its lock {lock} is damaged" in await shop.failure(extension)


# -- without a network


async def test_what_uv_has_in_its_cache_works_without_being_locked(shop: Shop, tmp_path: Path) -> None:
    """As it was left by versions that locked nothing: what other systems need is not in the cache."""
    shop.offer("1.0", needs="elsewhere; sys_platform == 'win32'")
    extension = shop.extension()

    assert await shop.version(extension) == "1.0"
    assert shop.installer(extension).lock.content() is None

    shop.offer("1.0", name="elsewhere")
    assert await shop.version(extension) == "1.0"
    assert shop.installer(extension).versions() == {"elsewhere": "1.0", "thing": "1.0"}


async def test_packages_in_folders_beside_an_extension_are_installed_as_they_are(shop: Shop) -> None:
    package = shop.home / "thing"
    package.mkdir()
    (package / "thing.py").write_text("VERSION = 'from beside'\n")
    (package / "pyproject.toml").write_text(
        dedent(
            """
            [project]
            name = "thing"
            version = "3.0"
            [build-system]
            requires = []
            build-backend = "backend"
            backend-path = ["."]
            """
        )
    )
    (package / "backend.py").write_text(
        dedent(
            """
            import sys
            from pathlib import Path

            sys.path.insert(0, REPOSITORY)
            from tests.wheels import serve_index, write_wheel

            def build_wheel(folder, config_settings=None, metadata_directory=None):
                write_wheel(Path(folder), "3.0")
                return "thing-3.0-py3-none-any.whl"
            """
        ).replace("REPOSITORY", repr(str(Path(__file__).parents[3])))
    )
    extension = shop.extension(more='\n            # sources = { thing = { path = "thing" } }')

    assert await shop.version(extension) == "3.0"
    assert shop.installer(extension).lock.kind == "none"
