"""The journal: each run and each of its calls, appended as they happen, so that a later run need not make them again.

`run_journal` writes the lines of a run, `recorded` reads them back, `reuse` answers the calls of a run that resumes
another, or plays it again. Where the lines lie is up to the store.
"""
