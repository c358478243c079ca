"""One engine a person: opened late, shared where nothing is a person's, closed when idle and never while used."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from ot.app import App
from ot.apps import Apps
from ot.clients.caller import Caller
from ot.clients.person import Person
from ot.kernel.kernel_quota import KernelQuota
from tests.team.people import ALICE, BOB, answer, opened

pytestmark = pytest.mark.anyio


def is_open(apps: Apps, app: App) -> bool:
    return any(other is app for _, other in apps.all_open())


async def test_an_app_is_used_again_and_people_share_its_kernels_only(tmp_path: Path) -> None:
    async with (
        opened(tmp_path) as apps,
        apps.use(ALICE) as first,
        apps.use(ALICE) as second,
        apps.use(BOB) as other,
    ):
        assert first is second
        assert first.supply is other.supply
        assert first.executor is not other.executor
        assert first.workers is not other.workers


async def test_what_one_person_keeps_does_not_exist_for_another(tmp_path: Path) -> None:
    async with opened(tmp_path) as apps:
        await answer(apps, ALICE, 'ot.keep(name="plan", value="the secret plan")')

        assert "the secret plan" in await answer(apps, ALICE, 'ot.kept(name="plan")')
        refused = await answer(apps, BOB, 'ot.kept(name="plan")')
        assert "the secret plan" not in refused


async def test_whoever_holds_their_share_of_the_kernels_keeps_none_from_others(tmp_path: Path) -> None:
    answers: list[str] = []

    async def run_another(apps: Apps) -> None:
        answers.append(await answer(apps, ALICE, "1 + 1"))

    async with opened(tmp_path) as apps, apps.use(ALICE) as app, anyio.create_task_group() as tasks:
        app.supply.shares = KernelQuota(1)
        async with app.supply.take(ALICE.principal):
            assert "Error" not in await answer(apps, ALICE, "ot.runs()")
            tasks.start_soon(run_another, apps)
            assert await answer(apps, BOB, "2 + 2") == "4"
            assert answers == []

    assert answers == ["2"]


async def test_whoever_may_run_more_at_once_holds_more_kernels(tmp_path: Path) -> None:
    async with opened(tmp_path, "limits: {concurrent_runs: 3}") as apps, apps.use(ALICE) as app:
        app.supply.shares = KernelQuota(1)
        async with app.supply.take(ALICE.principal, share=3):
            assert await answer(apps, ALICE, "1 + 1") == "2"


async def test_the_least_recently_used_app_gives_way_unless_it_is_in_use(tmp_path: Path) -> None:
    async with opened(tmp_path, most=1) as apps, apps.use(ALICE) as alices:
        async with apps.use(BOB) as bobs:
            pass
        async with apps.use(Person("https://id.example", "carol")):
            assert is_open(apps, alices)
            assert not is_open(apps, bobs)


async def test_an_idle_app_is_closed_and_opened_again_with_all_that_was_kept(tmp_path: Path) -> None:
    async with opened(tmp_path, idle=0.05) as apps:
        await answer(apps, ALICE, 'ot.keep(name="plan", value="a plan")')
        with anyio.fail_after(60):
            while apps.all_open():
                await anyio.sleep(0.01)

        assert "a plan" in await answer(apps, ALICE, 'ot.kept(name="plan")')


async def test_a_run_that_goes_on_without_its_client_keeps_its_app_open(tmp_path: Path) -> None:
    file = tmp_path / "go on"
    waiting = f"import os, time\nwhile not os.path.exists({str(file)!r}): time.sleep(0.01)\n"
    async with opened(tmp_path, idle=0.05, patience=1) as apps:
        told = await answer(apps, ALICE, f'{waiting}"done at last"')
        [(_, app)] = apps.all_open()
        [run] = await app.runs.detached_of(Caller(principal=ALICE.principal))

        assert run in told
        file.touch()
        assert "done at last" in await answer(apps, ALICE, f'ot.wait(run="{run}")')
        assert is_open(apps, app)
