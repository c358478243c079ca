"""Kernels, seen from the server: each is forked ahead of time, runs one command, and is killed.

`zygote_process` starts the zygote (`ot_kernel.zygote`) before the server imports anything heavy, `zygote_link` hears
it and replaces it, `supply` keeps kernels ready for the runs in `waiting_line`, and `kernel` is one of them: its
socket, its signals, its output and its end. `engine_choice` decides whether code runs as a process or as a component,
by what the first kernels and the probe report about the system.

- Kernels are used once, so there is no state to reset. The answer leaves first; the kernel is killed and replaced 3 ms
  later.
- The server signals a kernel only through the handle on it (`ot_system`), so never a process that got the same number
  later.
- Output goes to a memory file, not a pipe: its head and tail can be read even if the kernel had to be killed, and a
  program that prints endlessly hits the file size limit at its own line.
- The time limit ends a run in three steps. SIGUSR1 raises `RunInterrupted` in the code; it is sent repeatedly, since
  Python misses one that arrives just before a lock is taken. Half a second later SIGUSR2 makes `faulthandler` write
  where the code is, even in C code. Then SIGKILL.
- Messages are read only as fast as they can be answered (`messages`, `ot.run.kernel_calls`). A kernel is not read while
  64 of its calls or 32 MB wait, nor while 32 MB of answers wait for it. Parsing in C blocks the interpreter for
  everybody, so a message over 64 kB is read on a thread, one with more than 500,000 values not at all, and long
  integers and names are refused: no message within the bounds delays others by more than about a quarter of a second.
- `watch` looks ten times a second at memory, threads and files, because rlimits count what is reserved, not what is
  used. What cannot be measured counts as too much. Where cgroup v2 is delegated, `groups` gives each kernel its own.
- Modes and times of files are changed by the server (`scratch`): neither seccomp nor Landlock sees which file such a
  call means. It walks the scratch folder by descriptors, follows no link, and changes plain files with one name.
- A zygote that dies is replaced at once, five times; after that in growing pauses (`pauses`), in which runs wait. The
  next attempt does without pinned pages and mounted scratch folders, in case one of them is to blame.
- `kernel_quota` keeps one person from holding all kernels. A run that only waits for other runs has a quota of its
  own.
"""
