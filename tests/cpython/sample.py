"""The files of CPython's own tests that are run as commands, and where the outcomes may differ."""

from __future__ import annotations

FILES = (
    "asyncgen",
    "augassign",
    "base64",
    "baseexception",
    "binop",
    "bisect",
    "bool",
    "call",
    "class",
    "collections",
    "compare",
    "context",
    "contextlib",
    "contextlib_async",
    "copy",
    "coroutines",
    "decorators",
    "defaultdict",
    "descr",
    "dict",
    "dictviews",
    "dynamic",
    "enum",
    "enumerate",
    "except_star",
    "exception_group",
    "exceptions",
    "fractions",
    "fstring",
    "funcattrs",
    "functools",
    "generators",
    "genexps",
    "global",
    "grammar",
    "heapq",
    "index",
    "int",
    "isinstance",
    "iter",
    "keywordonlyarg",
    "list",
    "listcomps",
    "named_expressions",
    "operator",
    "ordered_dict",
    "patma",
    "positional_only_arg",
    "pprint",
    "print",
    "property",
    "raise",
    "random",
    "range",
    "re",
    "richcmp",
    "scope",
    "set",
    "slice",
    "sort",
    "string",
    "string_literals",
    "struct",
    "subclassinit",
    "super",
    "syntax",
    "textwrap",
    "tuple",
    "typechecks",
    "types",
    "typing",
    "with",
    "yield_from",
)

_AWAIT_TAKES_ANY_VALUE = "awaiting a plain value gives it back, so that code written for async tools runs"
_SHORT_PACKS = "names of packs, such as db, are near to any short name"
_NO_FILE = "the __file__ of a command is no path"
_NO_PROCESSES = "a run cannot start processes"

# File: test: why its outcome in a kernel is another than in a plain interpreter. Some tests came after Python 3.11.
LONG = {"collections", "context", "enum", "int", "random", "range", "re", "set", "typing"}
"""Those that take more than a second each, and mostly test C code: `make test-long` runs them."""

DIFFERENCES: dict[str, dict[str, str]] = {
    "asyncgen": {
        "AsyncGenAsyncioTest.test_anext_return_generator": _AWAIT_TAKES_ANY_VALUE,
        "AsyncGenAsyncioTest.test_anext_return_iterator": _AWAIT_TAKES_ANY_VALUE,
    },
    "base64": {
        "TestMain.test_decode": _NO_PROCESSES,
        "TestMain.test_encode_decode": _NO_PROCESSES,
        "TestMain.test_encode_file": _NO_PROCESSES,
        "TestMain.test_encode_from_stdin": _NO_PROCESSES,
        "TestMain.test_prints_usage_with_help_flag": _NO_PROCESSES,
        "TestMain.test_prints_usage_with_invalid_flag": _NO_PROCESSES,
    },
    "class": {
        "TestInlineValues.test_detach_materialized_dict_no_memory": _NO_PROCESSES,
    },
    "coroutines": {
        "CoroutineTest.test_await_1": _AWAIT_TAKES_ANY_VALUE,
        "CoroutineTest.test_await_2": _AWAIT_TAKES_ANY_VALUE,
        "CoroutineTest.test_await_8": _AWAIT_TAKES_ANY_VALUE,
        "CoroutineTest.test_cr_await": _AWAIT_TAKES_ANY_VALUE,
        "UnawaitedWarningDuringShutdownTest.test_unawaited_warning_during_shutdown": _NO_PROCESSES,
    },
    "exceptions": {
        "AssertionErrorTests.test_assertion_error_location": _NO_PROCESSES,
        "AssertionErrorTests.test_multiline_not_highlighted": _NO_PROCESSES,
        "ExceptionTests.test_errno_ENOTDIR": _NO_FILE,
        "ExceptionTests.test_memory_error_in_PyErr_PrintEx": _NO_PROCESSES,
        "ExceptionTests.test_memory_error_in_subinterp": _NO_PROCESSES,
        "ExceptionTests.test_recursion_normalizing_exception": _NO_PROCESSES,
        "ExceptionTests.test_recursion_normalizing_infinite_exception": _NO_PROCESSES,
        "ExceptionTests.test_recursion_normalizing_with_no_memory": _NO_PROCESSES,
        "NameErrorTests.test_name_error_bad_suggestions_do_not_trigger_for_small_names": _SHORT_PACKS,
        "SyntaxErrorTests.test_encodings": _NO_PROCESSES,
        "SyntaxErrorTests.test_non_utf8": _NO_PROCESSES,
    },
    "fstring": {
        "TestCase.test_debug_in_file": _NO_PROCESSES,
        "TestCase.test_filename_in_syntaxerror": _NO_PROCESSES,
        "TestCase.test_syntax_warning_infinite_recursion_in_file": _NO_PROCESSES,
    },
    "patma": {
        "TestCompiler.test_refleaks": _NO_FILE,
    },
    "random": {
        "TestModule.test_after_fork": _NO_PROCESSES,
    },
    "re": {
        "ReTests.test_regression_gh94675": _NO_PROCESSES,
    },
    "struct": {
        "StructTest.test_struct_cleans_up_at_runtime_shutdown": _NO_PROCESSES,
    },
}
