"""Programs that the server starts, each below a guardian: servers, workers, helpers, and programs of packs.

`run_program` runs one to its end. Programs of packs (`git`, `rg`) are confined to the only files that may be executed,
so whatever a repository or a setting makes them start cannot start. The loader is among these files and could be told
to load another program, so this is the second wall; options and settings that name no program are the first
(`ot_packs.git.program`).
"""
