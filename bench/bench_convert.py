"""A PDF file of thirty pages as Markdown, tables included, against the bare library reading its text; many files."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from bench.report import Line
from bench.servers import RUN, Servers, open_servers, run, warm_up
from tests.packs.convert.pdfs import make_pdf, prose, table

PAGES = 30
ROUNDS = 9
FILES = 40
LIBRARY = """
import sys, pypdfium2
document = pypdfium2.PdfDocument(sys.argv[1])
text = [page.get_textpage().get_text_range() for page in document]
print(sum(map(len, text)))
"""


def measure(_: Servers) -> Iterator[Line]:
    with open_servers() as servers:
        files = [_write(servers.folder / f"{number}.pdf") for number in range(ROUNDS)]
        with servers.start_ours() as server:
            warm_up(server, RUN)
            # A file that no helper process has seen is read in one of its own.
            ours, bare = zip(*((server.call(*_conversion(file)) * 1e3, _bare(file)) for file in files), strict=True)
    yield Line(f"convert.auto of a PDF of {PAGES} pages", median(ours), median(bare), "ms", 2)
    yield _measure_many()


def _measure_many() -> Line:
    """Milliseconds for each of many files, in one run of a server that has converted nothing yet."""
    code = "[convert.auto(path=f'{number}.pdf')['read'] for number in range(%d)]"
    with open_servers() as servers:
        for number in range(FILES):
            _write(servers.folder / f"{number}.pdf", pages=1)
        with servers.start_ours() as server:
            warm_up(server, RUN)
            ours = server.call(*run(f"assert sum({code % FILES}) == {FILES}")) * 1e3 / FILES
    return Line(f"convert.auto of {FILES} PDFs of one page, each", ours, None, "ms", 50)


def _conversion(file: Path) -> tuple[str, dict[str, str]]:
    return run(f"assert convert.auto(path='{file.name}')['read'] == {PAGES}")


def _write(file: Path, *, pages: int = PAGES) -> Path:
    rows = [[f"item {line}", str(line), f"{line}.50"] for line in range(8)]
    file.write_bytes(make_pdf([[*prose(40), *table(rows, top=200)] for _ in range(pages)]))
    return file


def _bare(file: Path) -> float:
    """Milliseconds of a process that does nothing but read the text with the library."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", LIBRARY, file], check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - start) * 1e3
