"""The kernel as a WebAssembly component: the same `ot_kernel`, on a CPython for WASI, on every system alike.

`guest`, `library` and `wasi` are inside of the component, which `scripts/build_wasm_kernel.py` makes together with
`ot_kernel`; nothing else imports them. `host` lives in a kernel process that the zygote forks: it instantiates the
component, and passes messages between it and the server. `component` finds it, and compiles it for this machine.

An instance reaches its scratch folder and the seven functions of `kernel.wit`. On Linux the process around it is
confined like any other kernel, so that there are two walls.
"""

from __future__ import annotations
