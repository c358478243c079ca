"""Change central code, one expression at a time, and list the changes that no test notices.

    python -m scripts.mutants [--sample 60] [--seed 1] [--minutes 20] [FILE ...]

mutmut chooses a mutant by a variable of the environment, which the processes that our tests start do not inherit;
cosmic-ray brings a database and a plugin system. Here each mutant is written into the file itself, one at a time, and
the file is put back afterwards. Files with changes that git does not have are left alone.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
PYTEST = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header"]
LONGEST = 180  # seconds for the tests of one mutant; one that runs longer has been noticed

# Each file with the tests that must notice a change to it.
TESTED_BY = {
    "src/ot/execution/tool_executor.py": ["tests/unit/execution"],
    "src/ot/execution/policy.py": ["tests/unit/execution"],
    "src/ot/execution/validation.py": ["tests/unit/execution"],
    "src/ot/run/preflight.py": ["tests/unit/run/test_preflight.py", "tests/unit/run/test_proxied_names.py"],
    "src/ot/run/fence_processor.py": ["tests/unit/run/test_fence_processor.py", "tests/unit/run/test_prefixes.py"],
    "src/ot_kernel/values.py": ["tests/unit/ot_kernel/test_values.py", "tests/unit/ot_kernel/test_values_refused.py"],
}

# Survivors that were looked at, and why no test can or need tell them apart.
EXPLAINED: dict[tuple[str, str], str] = {}

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One changed expression; `source` is the whole file with it."""

    file: str
    line: int
    change: str
    source: str


def main() -> int:
    """Return 1 if a mutant survives that nobody has explained."""
    parser = argparse.ArgumentParser(prog="mutants", description="List changes to central code that no test notices.")
    parser.add_argument("files", nargs="*", default=list(TESTED_BY), metavar="FILE")
    parser.add_argument("--sample", type=int, default=60, help="how many mutants, chosen at random (default: 60)")
    parser.add_argument("--seed", type=int, default=1, help="chooses other ones (default: 1)")
    parser.add_argument("--minutes", type=float, default=20, help="begin no mutant after this time (default: 20)")
    options = parser.parse_args()
    mutants = [mutant for file in options.files for mutant in find_mutants(file)]
    chosen = random.Random(options.seed).sample(mutants, min(options.sample, len(mutants)))
    ends = time.monotonic() + 60 * options.minutes
    tried = survived = 0
    for mutant in chosen:
        if time.monotonic() > ends:
            break
        tried += 1
        if not is_noticed(mutant):
            reason = EXPLAINED.get((mutant.file, mutant.change))
            survived += reason is None
            _say(f"{mutant.file}:{mutant.line}: {mutant.change}{f'  (explained: {reason})' if reason else ''}")
    _say(f"{tried} of {len(mutants)} mutants tried, {survived} survived unexplained")
    return 1 if survived else 0


def find_mutants(file: str) -> Iterator[Mutant]:
    """Every change to one file that is worth a try."""
    text = (ROOT / file).read_text(encoding="utf-8")
    count = len(list(ast.walk(ast.parse(text))))
    for number in range(count):
        tree = ast.parse(text)
        node = list(ast.walk(tree))[number]
        before = _show(node)
        if _change(node):
            yield Mutant(file, getattr(node, "lineno", 0), f"{before} -> {_show(node)}", ast.unparse(tree))


def _show(node: ast.AST) -> str:
    shown = ast.unparse(node).partition("\n")[0]
    return shown if len(shown) <= 80 else f"{shown[:77]}..."


def _change(node: ast.AST) -> bool:
    """Change a node in place; False where there is nothing to change."""
    match node:
        case ast.Compare(ops=[operator]):
            node.ops = [_COMPARISONS[type(operator)]()]
        case ast.BoolOp(op=operator):
            node.op = ast.Or() if isinstance(operator, ast.And) else ast.And()
        case ast.BinOp(op=ast.Add() | ast.Sub() as operator):
            node.op = ast.Sub() if isinstance(operator, ast.Add) else ast.Add()
        case ast.If() | ast.IfExp() | ast.While():
            node.test = ast.UnaryOp(ast.Not(), node.test)
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            node.value = ast.Constant(None)
        case ast.keyword(arg="frozen" | "slots" | "kw_only" | "strict"):
            return False  # a promise to readers and type checkers; nothing that a caller observes
        case ast.keyword(value=ast.Constant(value=bool() as value)):
            node.value = ast.Constant(not value)
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            node.value = value + 1
        case _:
            return False
    return True


def is_noticed(mutant: Mutant) -> bool:
    """True if a test fails, or does not end, with this change."""
    with _written(ROOT / mutant.file, mutant.source):
        command = [*PYTEST, *TESTED_BY[mutant.file]]
        environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, timeout=LONGEST, check=False)
        except subprocess.TimeoutExpired:
            return True
        return done.returncode != 0


@contextmanager
def _written(file: Path, source: str) -> Iterator[None]:
    """Put another text into a file, and back, with its time: what Python has compiled from it stays valid."""
    if subprocess.run(["git", "diff", "--quiet", "HEAD", "--", file], cwd=ROOT, check=False).returncode:
        sys.exit(f"{file} has changes that are not committed")
    original, times = file.read_bytes(), file.stat()
    try:
        file.write_text(source, encoding="utf-8")
        yield
    finally:
        file.write_bytes(original)
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
