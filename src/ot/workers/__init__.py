"""Extensions: files of a person, each served by a process of its own (`ot_sdk`) in an environment that uv makes.

`discovery` finds the files, `extension_loader` registers them from their syntax tree. Nothing of a file runs, and uv
is not used, before the first call. `pool` has the `ExtensionWorkers` of each; an engine decides where a worker runs.

- Changes are seen by the next run: one that starts a second or more after the last look has a thread `stat` each file
  (`discovery`), so a server needs no watcher. A folder of another user is reported and not read.
- Dependencies are locked (`installing`). uv keeps a script's lock next to it, and we write nothing next to
  the person's files: the state folder has a script with nothing but the header, whose environment is used.
- Engines: `environment` here, `ray` on a cluster. The seam is `WorkerProcess`: bytes in, bytes out, an end with
  notes. Everything above it is the same, and so are its tests (`tests/ray/test_both_engines.py`).
- A call that was lost with its worker is repeated if it had not begun (the ledger tells) or if its tool only reads.
- Libraries of built-in packs (`pack_environments`): helpers run on the server's interpreter if it has all that the
  pack `needs`, else in an environment of the state folder, which is removed after 30 days without use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_core.lazy_names import lazy_names

if TYPE_CHECKING:
    from ot.workers.environment import LocalEngine
    from ot.workers.extension_workers import ExtensionWorkers
    from ot.workers.pack_environments import PackEnvironments, own_programs
    from ot.workers.ray.engine import RayEngine
else:  # The pool loads each part with the first call that needs it.
    __getattr__ = lazy_names(__name__)
