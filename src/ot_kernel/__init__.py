"""Everything inside a kernel; standard library only, because the cost of a fork grows with the zygote.

The zygote (`zygote`) has one thread, an empty environment and a control socket. It forks, reports how each kernel
ended, keeps scratch folders, and ends with its control socket; its kernels die with it.

A kernel (`child`) confines itself, introduces itself with five descriptors (socket, handle, output, crash dump, scratch
folder), gives up passing descriptors on, which is its last layer, and only then reads its program. `compiler` keeps
code as it is in a plain module: the last expression is compiled apart, and only a top-level `return` changes the
shape, into a function whose names are all global.

A scratch folder that no code has touched serves another kernel (`scratch_folders`). That shows in its times and size,
and only on a file system of its own in which code cannot set times; so never with `sandbox: off`.

`values` defines the closed set of values that cross, as tagged JSON. A result that it cannot express is shown by its
`repr`. One too long for an answer is written to the scratch folder in its stored form (`stored_form`), and only its
head crosses. Rows of a table travel by column (`rows`), in and out, and only who uses them unpacks them: few bytes
become many values.

The engine shares with this package the values, the frames they cross in, and the stored form.
"""

from __future__ import annotations

__all__ = ["project_path", "stored_form", "values", "wire"]
