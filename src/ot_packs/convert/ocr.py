"""Words in pictures, read by the person's `tesseract`: it sees one picture, and no file but those it is made of."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio

from ot.context import bounded, current
from ot.errors import CallError, ToolError
from ot.execution.wording import word_error
from ot.processes.run_program import run_program
from ot.processes.standby import Standby
from ot_confinement.confine import Confine
from ot_confinement.own_files import executables_of
from ot_packs.convert.markdown import Markdown
from ot_packs.helper_results import Result, call_helper
from ot_packs.program_output import said

MOST_PICTURES = 20  # of one call
_AT_ONCE = max(1, min(4, os.cpu_count() or 1))
_INSTALL = "(Its words can be read by OCR: install `tesseract`, which the server then finds on its PATH.)"
_LATE = "(OCR did not end in the time of this call: set `packs.convert.timeout`.)"


async def convert_document(arguments: Mapping[str, object]) -> Markdown:
    """Convert a document in a helper, and where it has pictures without text, again with the words in them."""
    languages = str(current().config.get("ocr", "eng"))
    if not re.fullmatch(r"\w+(?:\+\w+)*", languages):
        raise ToolError("packs.convert.ocr is not a list of languages like deu+eng")
    program = _find_tesseract()
    note = _INSTALL if program is None else ""
    found = await _call("to_markdown", {**arguments, "note": note}, Markdown)
    pictures = found.pop("pictures", [])
    if program is not None and pictures:
        words = await _read_pictures(program, languages, str(arguments["path"]), pictures)
        found = await _call("to_markdown", {**arguments, "words": words, "note": _LATE}, Markdown)
        found.pop("pictures", None)
    return found


def _find_tesseract() -> Path | None:
    found = shutil.which("tesseract", path=os.environ.get("PATH"))
    return None if found is None else Path(os.path.realpath(found))


async def _call(function: str, arguments: dict[str, object], result: type[Result]) -> Result:
    outputs = "{output}" if "output" in arguments else ""
    module = "ot_packs.convert.markdown"
    return await call_helper("convert", module, function, arguments, result, reads="{path}", outputs=outputs)


async def _read_pictures(program: Path, languages: str, path: str, pictures: Sequence[int]) -> list[str]:
    """Return the words of the first pictures, of as many as there is time for."""
    wanted = pictures[:MOST_PICTURES]
    read: dict[int, str] = {}
    room = anyio.CapacityLimiter(_AT_ONCE)

    async def read_one(number: int) -> None:
        async with room:
            try:
                picture = await _call("draw", {"path": path, "number": number}, bytes)
                read[number] = await _read_words(program, languages, picture)
            except CallError as error:  # one picture that cannot be read does not refuse the document
                read[number] = f"(OCR cannot read it: {word_error(error)})"
            await current().progress(len(read), len(wanted), f"{len(read)} of {len(wanted)} pictures read by OCR")

    with anyio.move_on_after(0.8 * current().remaining()):  # of the time that the call has left
        async with anyio.create_task_group() as tasks:
            for number in wanted:
                tasks.start_soon(read_one, number)
    missing = next((place for place, number in enumerate(wanted) if number not in read), len(wanted))
    return [read[number] for number in wanted[:missing]]


async def _read_words(program: Path, languages: str, picture: bytes) -> str:
    data = os.environ.get("TESSDATA_PREFIX")
    places = (str(program), str(program.parent.parent / "share"), *([data] if data else []))
    done = await run_program(
        [str(program), "-", "-", "-l", languages],
        stdin=picture,
        # Several threads for one picture take twice the processor time, and are not sooner done.
        environ={"LC_ALL": "C.UTF-8", "OMP_THREAD_LIMIT": "1", **({"TESSDATA_PREFIX": data} if data else {})},
        cwd=Path("/"),
        confine=bounded(Confine(places, memory=1024**3, programs=executables_of(program))),
        standby=current().part(Standby),
    )
    if done.status != 0:
        reason = done.explanation or (f"says: {said(done.tail)}" if done.tail else f"ended with status {done.status}")
        raise ToolError(f"tesseract {reason}")
    words = done.output.decode(errors="replace").replace("\x0c", "").strip()
    return f"(Words read by OCR, which may be wrong:)\n\n{words}" if words else "(OCR finds no words in it.)"
