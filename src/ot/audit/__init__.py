"""The audit log: calls with side effects, who made them, what allowed them, and how they ended.

It shares its files with the journal: one kind of chain that a process claims and whole files that are pruned
(`ot.store.owned_files`), one moment after which lines are written that nobody waits for (`ot.tasks.owned_tasks`). The
seal of its lines stays here: the log must show that somebody has changed it, while a run whose journal is damaged is
only not resumed. Lists are read from the newest line on (`latest`); only a check of the log reads all of it
(`reading`).
"""
