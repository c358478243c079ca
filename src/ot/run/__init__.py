"""Runs: a command in, one answer out.

`Runner` has the steps of one run: text (`fence_processor`, `snippets`), a kernel, `preflight`, the code, the answer.
`KernelSession` hears the kernel, `KernelCalls` and `KernelQuestions` answer it. `reporting`, and nothing else, makes
text of an `Outcome`.

`Runs` keeps the runs of MCP clients, in tasks that no request owns. A request attaches to its `LiveRun` and detaches:

- Until the run ends or `patience` is over, the request waits; then it is answered with what can be seen of the run
  (its `RunView`) and its id. The current line comes from a handler of SIGURG in the kernel, which runs between two
  steps of its main thread; `faulthandler` would look at threads that are running, and could crash them.
- What only a client can do (questions, its model, its folders) goes to the attached one. Afterwards it is a
  `ClientRequest`, which any client that waits can take; one that leaves gives it back, and after ten minutes without a
  client the answer is no. So clients of both eras of the protocol can wait for each other's runs.
- A client without a session gets a question as the answer to its request, and the run waits for its next one
  (`waiting_runs`), behind a state that works once.
- Patience stands still while a person is asked. While a run waits for another one it has a minute instead, so that it
  is not itself detached for nothing.
- Answers of detached runs are stored results, found by the id of the run (`kept_answers`); nothing of a run that has
  ended stays in memory, unless the disk is full.
- Runs leave no reference cycles, or a server grows by 5 % in ten thousand runs (`tests/unit/run/test_garbage.py`).

A short run takes two turns of the event loop. The first reads the request and sends the kernel its program; the
journal's first line is written meanwhile, before any call. The second hears the kernel, writes how the run ended into
the journal, and delivers the answer. Statistics, the log line and the kernel's end come after that.
"""
