"""All twelve tasks."""

from __future__ import annotations

from bench.tasks import browser, clock, database, files, issues, mailbox, repository
from bench.tasks.task import Task

TASKS: tuple[Task, ...] = (
    *database.TASKS,
    *files.TASKS,
    *repository.TASKS,
    *issues.TASKS,
    *mailbox.TASKS,
    *browser.TASKS,
    *clock.TASKS,
)
