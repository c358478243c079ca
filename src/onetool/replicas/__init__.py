"""Several identical servers of a team on one PostgreSQL. A process without a database loads nothing of this.

Kernels are local: a run stays in the replica that began it, and whatever concerns it is brought there.

- A replica has a `name` (machine and port, the same after a restart) and an `id` of its own process. It reports every
  3 s (`replicas`). One that is killed is out of reach at once, since the database knows its connections; one whose
  machine hangs after 15 s. Its runs are lost once the lease of its link has ended (`ot.store.postgres.link`).
- Messages are rows, and NOTIFY tells the receiver to fetch them. A `ReplicaChannel` (`channels`) is a pair of such
  streams.
- The state that a client without a session sends back names replica, run and a word that works once. It is sealed for
  this person and this command; `AnswersElsewhere` brings the answer to the replica whose run waits. If that one has
  gone, the client is told which run to resume.
- Detached runs are rows before their client hears of them; `ot.wait` and `ot.stop` reach them anywhere.
- What a client without a session has read and agreed to is in the store too: recalled when a run begins, where there
  are such rules, and saved before anything is answered.
- SIGTERM (`draining`): `/readyz` says no, new work gets 503, runs have `http.drain` seconds, and detached runs keep an
  answer that says what happened.
"""
