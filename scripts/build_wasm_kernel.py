"""Make the component of the engine `wasm` from the sources of the kernel.

    python -m scripts.build_wasm_kernel [--check | --compile FOLDER]

Nothing is done where the component was made from the sources that are here. With `--check`, nothing is made: a
component that was made from others is an error, and none at all is not. With `--compile`, it is compiled for this
machine, for tests that share that folder.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from ot_wasm import component


def main(arguments: list[str]) -> int:
    """Make the component, or look at the one that is there."""
    stale = component.is_stale()
    if "--check" in arguments:
        if stale and component.COMPONENT.exists():
            sys.stderr.write("The component of the kernel was made from other sources: make wasm\n")
            return 1
        return 0
    if stale:
        _build()
    if "--compile" in arguments:
        component.find_or_compile(arguments[-1], lambda: None)
    return 0


def _build() -> None:
    sys.stderr.write("Making the component of the kernel, which takes half a minute ...\n")
    digest = component.digest_sources()
    with tempfile.TemporaryDirectory() as folder:
        for source in component.list_sources():
            target = Path(folder, source.relative_to(component.ROOT))
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(source, target)
        made = Path(folder, "kernel.wasm")
        wit = Path(folder, "ot_wasm/kernel.wit")
        subprocess.run(
            [
                *(sys.executable, "-c", "import componentize_py; componentize_py.script()"),
                *("-d", wit, "-w", "kernel", "componentize", "-p", folder, "ot_wasm.guest", "-o", made),
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        shutil.move(made, component.COMPONENT)
    component.MADE_FROM.write_text(digest)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
