"""Ten tasks over real servers, and the code with which a careful reader of our answers does them.

`{shop}` stands for the folder that the tasks are about.
"""

from __future__ import annotations

from typing import NamedTuple


class Task(NamedTuple):
    """A person's words, and one call of `run`."""

    words: str
    code: str


LOOK_UP = (
    Task(
        "(First, what the tasks about files need.)",
        'ot.help(query=["read a text file", "list a directory", "write a file"])',
    ),
    Task(
        "(And what the tasks about people and tables need.)",
        'needs = ["create entities in the knowledge graph", "search the knowledge graph", "create a table"]\n'
        'ot.help(query=[*needs, "insert rows with a query", "read rows with a select query"])',
    ),
)

TASKS = (
    Task("Which files are in {shop}?", 'filesystem.list_directory(path="{shop}")["content"]'),
    Task(
        "How many lines does notes.txt have, and which is the longest?",
        'lines = filesystem.read_text_file(path="{shop}/notes.txt")["content"].splitlines()\n'
        "[len(lines), max(lines, key=len)]",
    ),
    Task(
        "What does the column amount of may.csv and june.csv come to, each and together?",
        "import csv\n\n\n"
        "def total(month):\n"
        '    text = filesystem.read_text_file(path=f"{shop}/{month}.csv")["content"]\n'
        '    return sum(int(row["amount"]) for row in csv.DictReader(text.splitlines()))\n\n\n'
        'may, june = ot.parallel(lambda: total("may"), lambda: total("june"))\n'
        "[may, june, may + june]",
    ),
    Task(
        "Write what each item comes to in both months to totals.md.",
        "import csv, collections\n\n"
        "totals = collections.Counter()\n"
        'for month in ("may", "june"):\n'
        '    text = filesystem.read_text_file(path=f"{shop}/{month}.csv")["content"]\n'
        "    for row in csv.DictReader(text.splitlines()):\n"
        '        totals[row["item"]] += int(row["amount"])\n'
        'content = "".join(f"- {item}: {amount}\\n" for item, amount in totals.most_common())\n'
        'filesystem.write_file(path="{shop}/totals.md", content=content)\n'
        "content",
    ),
    Task(
        "Remember that Ada supplies tea, and Bob cups.",
        "people = [\n"
        '    {"name": "Ada", "entityType": "supplier", "observations": ["supplies tea"]},\n'
        '    {"name": "Bob", "entityType": "supplier", "observations": ["supplies cups"]},\n'
        "]\n"
        'len(memory.create_entities(entities=people)["entities"])',
    ),
    Task(
        "Who supplies tea?",
        '[entity["name"] for entity in memory.search_nodes(query="tea")["entities"]]',
    ),
    Task(
        "Ada delivers to Bob: keep that, too, and tell me all such relations.",
        'memory.create_relations(relations=[{"from": "Ada", "to": "Bob", "relationType": "delivers to"}])\n'
        'memory.read_graph()["relations"]',
    ),
    Task(
        "Put the orders of may.csv into a table orders of the database.",
        "import csv\n\n"
        'text = filesystem.read_text_file(path="{shop}/may.csv")["content"]\n'
        "rows = list(csv.DictReader(text.splitlines()))\n"
        'sqlite.create_table(query="CREATE TABLE orders (item TEXT, amount INTEGER)")\n'
        "for row in rows:\n"
        "    sqlite.write_query(query=f\"INSERT INTO orders VALUES ('{row['item']}', {int(row['amount'])})\")\n"
        "len(rows)",
    ),
    Task(
        "Which item of the table comes to most?",
        'sqlite.read_query(query="SELECT item, SUM(amount) AS amount FROM orders GROUP BY item '
        'ORDER BY amount DESC LIMIT 1")',
    ),
    Task(
        "Which file of the shop is the largest?",
        'filesystem.list_directory_with_sizes(path="{shop}", sortBy="size")["content"].splitlines()[0]',
    ),
)
