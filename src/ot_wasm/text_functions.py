"""Functions of the host that take and return text, for a component to call.

The package's own way asks for the types at every call, and makes objects of them, which costs more than what is called.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from wasmtime import WasmtimeError
from wasmtime import _ffi as ffi
from wasmtime.component import LinkerInstance

_NO_FINALIZER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)()
_kept: list[object] = []  # what a component calls must stay where it is


def add_text_function(
    linker: LinkerInstance, name: str, function: Callable[..., bytes | None], fail: Callable[[Exception], object]
) -> None:
    """Let a component call a function with the bytes of its texts; the bytes that it returns are text as well.

    An exception goes to `fail`, which must not return.
    """

    def call(_: Any, __: Any, ___: Any, given: Any, count: int, results: Any, ____: int) -> int:
        try:
            answer = function(*[_take(given[number].of.string) for number in range(count)])
            if answer is not None:
                result = results[0]
                result.kind = ffi.WASMTIME_COMPONENT_STRING
                _put(answer, result.of.string)
        except Exception as error:  # noqa: BLE001 - otherwise it would be printed and forgotten
            fail(error)
        return 0

    callback = ffi.wasmtime_component_func_callback_t(call)
    _kept.append(callback)
    text = name.encode()
    error = ffi.wasmtime_component_linker_instance_add_func(
        linker.ptr(), ctypes.create_string_buffer(text), len(text), callback, None, _NO_FINALIZER
    )
    if ctypes.cast(error, ctypes.c_void_p).value:
        raise WasmtimeError._from_ptr(error)  # noqa: SLF001 - there is no other way to it


def _take(text: Any) -> bytes:
    taken = ctypes.string_at(text.data, text.size)
    ffi.wasm_byte_vec_delete(ctypes.byref(text))
    return taken


def _put(answer: bytes, text: Any) -> None:
    ffi.wasm_byte_vec_new_uninitialized(ctypes.byref(text), len(answer))
    ctypes.memmove(text.data, answer, len(answer))
