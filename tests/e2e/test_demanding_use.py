"""Thirty tasks as a model does them, over every pack that needs no network: one server, and the right answers."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from textwrap import dedent

import openpyxl
import pytest
from mcp import Client
from mcp.client.session import ClientRequestContext
from mcp_types import ElicitRequestParams, ElicitResult, ImageContent, TextContent

from tests.packs.convert.documents import make_docx
from tests.packs.convert.pdfs import Text, make_pdf, stream_of, write_pdf
from tests.packs.web.site import Site
from tests.raw_http import serving
from tests.real_server import connect_server

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("demanding use")]

ROWS = 3001
TASKS = {
    "sum money in a long sheet": (
        """
        from decimal import Decimal
        rows = [row for part in ot.pages(excel.read, path="sales.xlsx", header=True) for row in part["rows"]]
        [len(rows), str(sum(Decimal(str(row["amount"])) for row in rows))]
        """,
        "[3001, '148800.1']",
    ),
    "the sum of a part is told to be one": (
        'len(excel.read(path="sales.xlsx", header=True)["rows"])',
        "1000\n[excel.read gave rows 1 to 1,000 of 3,001, and the code did not look at `more`.",
    ),
    "the last row of a sheet": (
        'excel.read(path="sales.xlsx", header=True, limit=None)["rows"][-1]["sku"]',
        "03000",
    ),
    "sales by month": (
        """
        from collections import Counter
        rows = excel.read(path="sales.xlsx", header=True, limit=None)["rows"]
        Counter(row["day"].strftime("%Y-%m") for row in rows)["2026-02"]
        """,
        "28",
    ),
    "cells with a text": ('excel.search(path="sales.xlsx", query="north", limit=1)["total"]', "1501"),
    "a workbook with a formula": (
        """
        rows = [{"n": 1}, {"n": 2}]
        excel.create(path="made.xlsx", sheets=[{"name": "S", "rows": rows, "table": True}])
        excel.write(path="made.xlsx", cells={"C1": {"formula": "=SUM(A2:A3)"}})
        [excel.formulas(path="made.xlsx")["formulas"][0]["formula"], excel.read(path="made.xlsx")["total"]]
        """,
        "['=SUM(A2:A3)', 3]",
    ),
    "two CSV files joined": (
        """
        db.query(
            path=["customers.csv", "orders.csv"],
            sql="SELECT name, sum(amount) AS total FROM orders JOIN customers ON customer = customers.id "
            "GROUP BY name ORDER BY total DESC LIMIT 1",
        )["rows"]
        """,
        "- {name: Zoë, total: 3125000}",
    ),
    "exact sums of another country's CSV": (
        """
        sql = "SELECT sum(replace(preis, ',', '.')::DECIMAL(18, 2)) AS s, min(ort) AS o FROM preise"
        row = db.query(path="preise.csv", sql=sql, encoding="cp1252", types={"preis": "VARCHAR"})["rows"][0]
        [str(row["s"]), row["o"]]
        """,
        "['0.30', Köln]",
    ),
    "all rows of a query": (
        """
        parts = ot.pages(db.query, path="orders.csv", sql="SELECT * FROM orders ORDER BY id")
        sum(row["amount"] for part in parts for row in part["rows"])
        """,
        "4686250",
    ),
    "rows loaded into a database": (
        """
        from decimal import Decimal
        rows = [{"item": "tea", "price": Decimal("3.50")}, {"item": "cups", "price": Decimal("12")}]
        db.load(path="shop.db", table="prices", rows=rows)
        db.query(path="shop.db", sql="SELECT item FROM prices WHERE price > ?", params=[Decimal("3.6")])["rows"]
        """,
        "- {item: cups}",
    ),
    "a document in a column": (
        'db.query(path="shop.db", sql="SELECT doc FROM docs")["rows"][0]["doc"]["tags"][1]',
        "blue",
    ),
    "a foreign key": (
        """db.schema(path="shop.db", table="lines")["tables"][0]["foreign_keys"][0]["table"]""",
        "docs",
    ),
    "infinity is no date": (
        """db.query(path="orders.csv", sql="SELECT DATE 'infinity' AS until")["rows"][0]["until"]""",
        "infinity",
    ),
    "a table of a PDF": (
        """
        rows = convert.tables(path="report.pdf")["tables"][0]["rows"]
        [rows[0], sum(int(row[1]) for row in rows[1:])]
        """,
        "[[City, People, Area], 600]",
    ),
    "a scanned page": ('convert.auto(path="scan.pdf")["text"]', "This page is a picture without text"),
    "text of a letter": ('"Budget" in convert.auto(path="letter.docx")["text"]', "True"),
    "history across a rename": (
        """[commit["subject"] for commit in git.log(path="src/tax.py", follow=True)["commits"]]""",
        "[round, rename, begin]",
    ),
    "a file as it was": ('git.read(path="src/vat.py", revision="HEAD~2")["lines"][0]', "def vat(net):"),
    "what a commit changed": (
        'diff = git.show()["diff"]\n[(f["path"], f["added"], f["deleted"]) for f in diff["files"]]',
        "[[src/tax.py, 1, 1]]",
    ),
    "who wrote a line": ('git.blame(path="src/tax.py", lines=[2])["lines"][0]["subject"]', "round"),
    "files by words": ('code.search(query="vat invoice")["files"][0]["path"]', "src/invoice.py"),
    "uses of a name": ('[r["path"] for r in code.references(name="vat", path="src")["references"]]', "src/invoice.py"),
    "a rewrite of calls": (
        """
        code.rewrite(pattern="print($A)", replacement="log($A)", language="python", path="src/invoice.py", apply=True)
        file.read(path="src/invoice.py")["lines"][-1]
        """,
        "log(vat(1))",
    ),
    "errors in a log": (
        """
        worst = ripgrep.count(query="ERROR", path="logs")
        [worst["total"], worst["by_file"][0]["path"], file.read(path="logs/b.log", offset=-1)["lines"][0]]
        """,
        "[150, logs/b.log, ERROR 4999]",
    ),
    "files that match": ('file.find(query="*.{csv,xlsx}")["total"] >= 4', "True"),
    "a chart of a query": (
        """
        rows = db.query(path="orders.csv", sql="SELECT customer, sum(amount) AS n FROM orders GROUP BY 1")["rows"]
        chart.bar(rows=rows, x="customer", y="n")
        """,
        "image/png",
    ),
    "a web API in pages": (
        """
        names, address = [], "SITE/api?page=1"
        while address:
            page = web.request(method="GET", url=address)["body"]
            names += [item["name"] for item in page["items"]]
            address = page["next"] and "SITE" + page["next"]
        [len(names), names[-1]]
        """,
        "[5, n5]",
    ),
    "news of a feed": ('[e["title"] for e in web.feed(url="SITE/feed.xml")["entries"]]', "[Second, First]"),
    "a section of a page": ('web.fetch(url="SITE/guide", section="Install")["text"]', "pip install thing"),
    "a note found again": (
        'notes.write(title="Deploy", content="make release")\nnotes.search(query="release")["notes"][0]["title"]',
        "Deploy",
    ),
}


async def agree(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    return ElicitResult(action="accept", content={"agree": True})


@pytest.fixture(scope="module")
async def client(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[tuple[Client, str]]:
    folder = tmp_path_factory.mktemp("office")
    write_files(folder)
    write_repository(folder)
    async with serving(Site()) as site:
        config = json.dumps({"packs": {"web": {"allow": [f"127.0.0.1:{site.port}"]}}})
        write_site(site)
        async with connect_server(folder, config=config, path="/usr/bin:/bin", person=agree) as connected:
            yield connected, site.address("")


def write_files(folder: Path) -> None:
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("Sales")
    sheet.append(["day", "sku", "region", "amount"])
    for number in range(ROWS):
        day = date(2026, 1, 1) + timedelta(days=number)
        sheet.append([day, f"{number:05}", "north" if number % 2 == 0 else "south", number % 100 + 0.1])
    book.save(folder / "sales.xlsx")
    (folder / "customers.csv").write_text("id,name\n0,Ada\n1,Zoë\n", encoding="utf-8")
    lines = "".join(f"{n},{n % 2},{n * (1 + n % 2)}\n" for n in range(2500))
    (folder / "orders.csv").write_text(f"id,customer,amount\n{lines}")
    (folder / "preise.csv").write_text("ort,preis\nKöln,0,10\n".replace("0,10", '"0,10"') + 'Köln,"0,20"\n', "cp1252")
    with closing(sqlite3.connect(folder / "shop.db")) as shop:
        shop.executescript(
            "CREATE TABLE docs (id INTEGER PRIMARY KEY, doc JSON);"
            'INSERT INTO docs VALUES (1, \'{"tags": ["red", "blue"]}\');'
            "CREATE TABLE lines (id INTEGER PRIMARY KEY, doc INTEGER REFERENCES docs (id));"
        )
    cells = [("City", "People", "Area"), ("Rome", "100", "1"), ("Oslo", "200", "2"), ("Bonn", "300", "3")]
    table = [Text(80 + 150 * x, 700 - 20 * y, cell) for y, row in enumerate(cells) for x, cell in enumerate(row)]
    (folder / "report.pdf").write_bytes(make_pdf([table]))
    picture = stream_of(
        b"\0", extra=b"/Type /XObject /Subtype /Image /Width 1 /Height 1 /BitsPerComponent 8 /ColorSpace /DeviceGray"
    )
    scan = write_pdf([b"500 0 0 700 40 40 cm /I Do"], resources=b"/XObject << /I 10000 0 R >>", objects=[picture])
    (folder / "scan.pdf").write_bytes(scan)
    make_docx(folder / "letter.docx", body="<w:p><w:r><w:t>Budget of the year</w:t></w:r></w:p>")
    (folder / "logs").mkdir()
    (folder / "logs" / "a.log").write_text("".join(f"INFO {n}\n" if n % 100 else f"ERROR {n}\n" for n in range(5000)))
    (folder / "logs" / "b.log").write_text(
        "".join(f"ERROR {n}\n" if n % 50 == 49 else f"INFO {n}\n" for n in range(5000))
    )


def write_repository(folder: Path) -> None:
    run = ["git", "-c", "user.name=A", "-c", "user.email=a@b.c", "-C", str(folder)]
    subprocess.run([*run, "init", "-q"], check=True)
    source = folder / "src"
    source.mkdir()
    (source / "invoice.py").write_text('"""The vat of an invoice."""\nfrom src.tax import vat\n\nprint(vat(1))\n')
    (source / "vat.py").write_text("def vat(net):\n    return net * 0.19\n")
    for subject, old, new in (("begin", "", ""), ("rename", "vat.py", "tax.py"), ("round", "", "")):
        if old:
            (source / old).rename(source / new)
        if subject == "round":
            (source / "tax.py").write_text("def vat(net):\n    return round(net * 0.19, 2)\n")
        subprocess.run([*run, "add", "src"], check=True)
        subprocess.run([*run, "commit", "-q", "-m", subject], check=True)


def write_site(site: Site) -> None:
    for page, (items, following) in enumerate(
        (((1, 2), "/api?page=2"), ((3, 4), "/api?page=3"), ((5,), None)), start=1
    ):
        body = json.dumps({"items": [{"name": f"n{item}"} for item in items], "next": following})
        site.page(f"/api?page={page}", body, "application/json")
    entries = "".join(
        f"<item><title>{title}</title><link>{site.address('/')}</link></item>" for title in ("Second", "First")
    )
    site.page(
        "/feed.xml", f"<rss version='2.0'><channel><title>News</title>{entries}</channel></rss>", "application/rss+xml"
    )
    site.page("/guide", "<main><h1>Guide</h1><h2>Install</h2><pre>pip install thing</pre><h2>Use</h2><p>it</main>")


def test_there_are_thirty_of_them() -> None:
    assert len(TASKS) == 30


@pytest.mark.parametrize("task", TASKS)
async def test_a_task_has_its_right_answer(client: tuple[Client, str], task: str) -> None:
    connected, address = client
    code, expected = TASKS[task]

    result = await connected.call_tool("run", {"command": dedent(code).replace("SITE", address)})

    texts = [block.text for block in result.content if isinstance(block, TextContent)]
    pictures = [block.mime_type for block in result.content if isinstance(block, ImageContent)]
    assert not result.is_error, texts
    assert expected in "\n".join([*texts, *pictures])
