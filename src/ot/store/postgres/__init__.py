"""The store that replicas share: PostgreSQL, through one link a process, with one schema that migrations make.

- The `link` is a pool on an event loop in a thread of its own: it cannot keep a server from answering, nor be kept
  waiting.
- If a connection ends, the link looks for the database every half second. Meanwhile everything raises
  `StoreUnavailableError` (an `OSError`, as of a full disk) at once, and runs are refused. A call with side effects
  whose beginning could not be committed is not made. A server starts without its database.
- `group_commit`: rows of the journal are added without waiting and committed together. A run without side effects
  waits once, before its answer; one with side effects also before each of them.
- Rows of a shelf are the truth, and a folder of the replica has copies, so that reading stays a `stat` and a read;
  copies follow with every write, and before runs at most every three seconds. Result files are fetched when they are
  missing.
- Every sealed line of the audit log goes here as well as to its file, and once more after an outage.
- Migrations that are missing are applied in one transaction under an advisory lock.
"""
