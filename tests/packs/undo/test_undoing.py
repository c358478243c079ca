"""`ot.undo` in whole runs: what is asked, what is put back, and what is said of the rest."""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import anyio
import pytest

from ot.app import App
from ot.clients.caller import Caller, Choice
from ot.run.live_run import new_run_id
from tests.engine import open_engine
from tests.packs.undo.workbench import tree_of
from tests.proxied import program

pytestmark = pytest.mark.anyio


class Person:
    """Runs commands, and answers questions with yes; or as `says`."""

    def __init__(self, app: App, project: Path) -> None:
        self.app = app
        self.project = self.top = project
        self.asked: list[str] = []
        self.says: Choice | None = Choice.ONCE

    async def _ask(self, question: str, _: Sequence[Choice]) -> Choice | None:
        self.asked.append(question)
        return self.says

    async def run(self, command: str, *, alone: bool = False, name: str = "") -> tuple[str, str]:
        """Run a command; return the name of its run, and the answer."""
        name = name or new_run_id()
        caller = Caller(run_id=name, ask=None if alone else self._ask)
        answer = await self.app.runner.run(command, caller)
        return name, answer.text

    async def undo(self, name: str) -> tuple[str, str]:
        return await self.run(f'ot.undo(run="{name}")')

    def git(self, *words: str) -> str:
        done = subprocess.run(["git", *words], cwd=self.top, check=True, capture_output=True, text=True)
        return done.stdout.strip()


async def undo_twice_at_once(person: Person, run: str) -> list[tuple[str, str]]:
    """Undo a run in two others, which both know what to do before either does it."""
    both_asked = anyio.Event()
    undos: list[tuple[str, str]] = []

    class Slow(Person):
        async def _ask(self, question: str, choices: Sequence[Choice]) -> Choice | None:
            self.asked.append(question)
            if len(self.asked) == 2:
                both_asked.set()
            await both_asked.wait()
            return self.says

    slow = Slow(person.app, person.project)

    async def undo() -> None:
        undos.append(await slow.undo(run))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(undo)
        tasks.start_soon(undo)
    return undos


@pytest.fixture(scope="module")
async def engine(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    folder = tmp_path_factory.mktemp("undo")
    async with open_engine(folder / "project", config="roots: [work]\n", home=folder / "home") as app:
        yield app


@pytest.fixture
def person(engine: App, tmp_path: Path) -> Person:
    return Person(engine, engine.executor.project)


async def test_a_run_is_undone_and_done_again(person: Person) -> None:
    file = person.project / "a.txt"
    file.write_text("before")
    run, _ = await person.run('file.write(path="a.txt", content="after"); file.write(path="new/b.txt", content="b")')

    undo, text = await person.undo(run)

    assert "restore a.txt" in text
    assert file.read_text() == "before"
    assert not (person.project / "new").exists()
    assert f"Undo the run {run}?" in person.asked[-1]
    await person.undo(undo)
    assert file.read_text() == "after"
    _, text = await person.undo(run)
    _, text = await person.undo(run)
    assert "everything is as it was" in text


async def test_an_undo_needs_somebody_who_says_yes(person: Person) -> None:
    run, _ = await person.run('file.write(path="c.txt", content="c")')

    _, text = await person.run(f'ot.undo(run="{run}")', alone=True)
    assert f"nobody can be asked here. A person can type: onetool undo {run}" in text
    person.says = None
    _, text = await person.undo(run)
    assert "the person said no" in text
    assert (person.project / "c.txt").read_text() == "c"


async def test_what_changes_while_the_person_is_asked_is_left(person: Person, tmp_path: Path) -> None:
    for name in ("asked", "below"):
        (person.project / name).mkdir()
        (person.project / name / "f").write_text("before")
    run, _ = await person.run("[file.write(path=f'{name}/f', content='after') for name in ('asked', 'below')]")

    class Sly(Person):
        async def _ask(self, question: str, _: Sequence[Choice]) -> Choice | None:
            (self.project / "asked" / "f").write_text("mine")
            (self.project / "below").rename(tmp_path / "elsewhere")
            (self.project / "below").symlink_to(tmp_path / "elsewhere")
            return Choice.ONCE

    _, text = await Sly(person.app, person.project).undo(run)

    assert "restore asked/f: it has changed since" in text
    assert "outside the folders that tools may use" in text
    assert (person.project / "asked" / "f").read_text() == "mine"
    assert (tmp_path / "elsewhere" / "f").read_text() == "after"


async def test_runs_that_changed_nothing_or_are_unknown_say_so(person: Person) -> None:
    run, _ = await person.run("1 + 1")
    assert "it changed nothing" in (await person.undo(run))[1]
    assert "has no run 'nothing'" in (await person.undo("nothing"))[1]
    assert "it is still running" in (await person.run('ot.undo(run="rself")', name="rself"))[1]


async def test_notes_are_undone(person: Person) -> None:
    await person.run('notes.write(title="kept", content={"a": 1}, tags=["x"])')
    _, before = await person.run('notes.read(title="kept")')
    run, _ = await person.run("""
notes.write(title="kept", content="other", replace=True)
notes.delete(title="kept")
notes.write(title="kept", content="again")
notes.write(title="new", content="n")
""")

    undo, text = await person.undo(run)

    assert "remove the note 'new'" in text
    assert (await person.run('notes.read(title="kept")'))[1] == before
    assert (await person.run('[each["title"] for each in notes.search(query="again")["notes"]]'))[1] == "[]"
    await person.undo(undo)
    assert (await person.run('notes.read(title="kept")["content"]'))[1] == "again"
    await person.run('notes.write(title="new", content="changed since", replace=True)')
    _, text = await person.undo(run)
    assert "remove the note 'new': it has changed since" in text
    assert "changed since" in person.asked[-1]


@pytest.fixture
def repository(person: Person, tmp_path: Path) -> str:
    """The name of a repository in the project, with one commit."""
    name = f"repository-{tmp_path.parent.name}-{tmp_path.name}"
    person.top = person.project / name
    person.top.mkdir()
    person.git("init", "--quiet", "--initial-branch=main")
    person.git("config", "user.name", "Ada")
    person.git("config", "user.email", "ada@example.com")
    (person.top / "x.txt").write_text("one\n")
    return name


async def test_git_is_undone_step_by_step(person: Person, repository: str) -> None:
    commit = f'git.add(paths=["{repository}/x.txt"]); git.commit(message="First", path="{repository}")'
    first, _ = await person.run(commit)
    assert person.git("log", "--format=%s") == "First"
    await person.undo(first)
    assert person.git("status", "--porcelain") == "?? x.txt"
    await person.run(commit)

    second, text = await person.run(f"""
git.switch(branch="topic", create=True, path="{repository}")
file.write(path="{repository}/x.txt", content="two\\n")
git.add(paths=["{repository}/x.txt"])
git.commit(message="Second", path="{repository}")
git.switch(branch="main", path="{repository}")
""")
    assert person.git("branch", "--format=%(refname:short)").split() == ["main", "topic"], text
    assert (person.top / "x.txt").read_text() == "one\n"
    undo, text = await person.undo(second)
    assert person.git("branch", "--format=%(refname:short)").split() == ["main"], text
    assert person.git("status", "--porcelain") == ""
    await person.undo(undo)
    assert person.git("log", "--format=%s", "topic").split() == ["Second", "First"]
    assert person.git("branch", "--show-current") == "main"


async def test_stashes_are_undone(person: Person, repository: str) -> None:
    person.git("add", "x.txt")
    person.git("commit", "--quiet", "--message=First")
    (person.top / "x.txt").write_text("dirty\n")
    (person.top / "x.txt").chmod(0o600)
    (person.top / "sub").mkdir()
    (person.top / "sub" / "y.txt").write_text("y")
    person.git("add", "sub")
    before = person.git("status", "--porcelain")

    push, _ = await person.run(f'git.stash(message="half", path="{repository}")')
    assert person.git("stash", "list", "--format=%gs") == "On main: half"
    assert not (person.top / "sub").exists()
    drop, _ = await person.run(f'git.stash(action="drop", path="{repository}")')
    assert person.git("stash", "list") == ""
    await person.undo(drop)
    assert person.git("stash", "list", "--format=%gs") == "On main: half"
    pop, _ = await person.run(f'git.stash(action="pop", path="{repository}")')
    assert person.git("stash", "list") == ""

    await person.undo(pop)
    assert person.git("stash", "list", "--format=%gs") == "On main: half"
    assert (person.top / "x.txt").read_text() == "one\n"
    await person.undo(push)
    assert person.git("stash", "list") == ""
    assert person.git("status", "--porcelain") == before
    assert (person.top / "sub" / "y.txt").read_text() == "y"
    assert (person.top / "x.txt").stat().st_mode & 0o777 == 0o600


async def test_two_undos_at_once_leave_what_one_does(person: Person, repository: str) -> None:
    person.git("add", "x.txt")
    person.git("commit", "--quiet", "--message=First")
    for content in ("old", "new"):
        (person.top / "x.txt").write_text(content)
        if content == "old":
            person.git("stash", "push", "--quiet", "--message=old")
    run, _ = await person.run(f"""
git.stash(path="{repository}")
notes.write(title="twice", content=1)
file.write(path="{repository}/y/z.txt", content="z")
""")
    assert len(person.git("stash", "list").splitlines()) == 2

    await undo_twice_at_once(person, run)

    assert person.git("stash", "list", "--format=%gs") == "On main: old"
    assert (person.top / "x.txt").read_text() == "new"
    assert not (person.top / "y").exists()
    assert (await person.run("[each['title'] for each in notes.list()['notes'] if each['title'] == 'twice']"))[
        1
    ] == "[]"


async def test_a_commit_that_a_remote_has_stays(person: Person, repository: str, tmp_path: Path) -> None:
    person.git("init", "--quiet", "--bare", str(tmp_path / "remote.git"))
    person.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    run, _ = await person.run(
        f'git.add(paths=["{repository}/x.txt"]); git.commit(message="Third", path="{repository}")'
    )
    person.git("push", "--quiet", "origin", "main")

    _, text = await person.undo(run)

    assert "the commit is in origin/main already" in text
    assert person.git("log", "--format=%s", "--max-count=1") == "Third"


async def test_databases_workbooks_pictures_and_messages_are_undone(person: Person) -> None:
    folder = person.project / "made"
    folder.mkdir(exist_ok=True)
    await person.run('db.query(path="made/a.db", sql="CREATE TABLE t (x)", write=True)')
    before = (folder / "a.db").read_bytes()
    run, text = await person.run("""
db.query(path="made/a.db", sql="INSERT INTO t VALUES (1)", write=True)
excel.create(path="made/b.xlsx", sheets=[{"name": "S", "rows": [[1]]}])
excel.write(path="made/b.xlsx", rows=[[2]])
ot.keep(name="k", value=1)
""")
    assert (folder / "a.db").read_bytes() != before, text

    _, text = await person.undo(run)

    assert (folder / "a.db").read_bytes() == before
    assert sorted(each.name for each in folder.iterdir()) == ["a.db"], text
    assert "ot.keep" in person.asked[-1]


EVERY_PACK = """
rows = [{"a": "x", "b": 1}]
chart.bar(rows=rows, x="a", y="b", output="out/chart.svg")
diagram.render(source="graph TD; a-->b", output="out/diagram.svg")
convert.auto(path="a.html", output="out/a.md")
code.rewrite(pattern="print($X)", replacement="log($X)", language="python", path="src", apply=True)
excel.create(path="out/b.xlsx", sheets=[{"name": "S", "rows": [[1]]}])
excel.format(path="out/b.xlsx", formats={"A1": {"bold": True}})
excel.change_sheets(path="out/b.xlsx", add=["T"])
db.load(path="out/e.duckdb", table="t", rows=rows)
db.load(connection="shop", table="t", rows=rows)
db.query(connection="shop", sql="SELECT * FROM t")
ot.stats(output="out/report.html")
ot.notify(topic="team", message="hello")
ot.notify(topic="mine", message="hello")
notes.write(title="n", content=1)
file.copy(path="src", output="copy", recursive=True)
ot.keep(name="k", value=1)
scaffold.skill(name="shout", code="text.upper()", description="Shout.", parameters="text: str")
scaffold.extension(name="weather")
"""


async def test_all_packs_that_write_files_take_them_back(tmp_path: Path) -> None:
    project, elsewhere = tmp_path / "p", tmp_path / "elsewhere"
    for name in ("out", "src"):
        (project / name).mkdir(parents=True)
    elsewhere.mkdir()
    (project / "src" / "a.py").write_text("print(1)\n")
    (project / "a.html").write_text("<h1>Title</h1>")
    topics = f"[{{pattern: team, file: {elsewhere}/new/inbox.yaml}}, {{pattern: mine, file: mine.yaml}}]"
    config = f"topics: {topics}\npacks: {{db: {{connections: {{shop: 'sqlite:///{elsewhere}/shop.db'}}}}}}\n"
    async with open_engine(project, config=config) as app:
        person = Person(app, project)

        def tree() -> dict[str, tuple[object, ...]]:
            everything = {**tree_of(project), **tree_of(elsewhere)}
            return {name: found for name, found in everything.items() if not name.startswith(".onetool/state")}

        before = tree()
        run, text = await person.run(EVERY_PACK)
        assert {"chart.svg", "diagram.svg", "a.md", "b.xlsx", "e.duckdb", "report.html"} == {
            each.name for each in (project / "out").iterdir()
        }, text
        assert (elsewhere / "new/inbox.yaml").exists()
        assert (project / ".onetool/mine.yaml").exists()

        _, text = await person.undo(run)

        assert "left: {}" in text
        assert tree() == before
        final = person.asked[-1].partition("undone = ")[0]
        assert [name for name in ("ot.keep(", "scaffold.", "db.", "ot.notify") if name in final] == ["ot.keep("]


AGENDA = """
# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
import json
from pathlib import Path

import ot_sdk

pack = "agenda"
EVENTS = Path(__file__).with_name("events.json")


def _load():
    return json.loads(EVENTS.read_text()) if EVENTS.exists() else {}


@ot_sdk.undone_by("delete_event", id="result.event.id")
def create_event(*, title: str) -> dict:
    \"\"\"Create an event.\"\"\"
    events = _load()
    events[f"e{len(events)}"] = title
    EVENTS.write_text(json.dumps(events))
    return {"event": {"id": f"e{len(events) - 1}"}}


@ot_sdk.undone_by("create_event", title="result")
def delete_event(*, id: str) -> str:
    \"\"\"Delete an event.\"\"\"
    events = _load()
    title = events.pop(id)
    EVENTS.write_text(json.dumps(events))
    return title


@ot_sdk.reads
def events() -> list:
    \"\"\"List the events.\"\"\"
    return sorted(_load().values())


def send(*, to: str) -> str:
    \"\"\"Send an invitation.\"\"\"
    return to


def ring() -> int:
    \"\"\"Ring a bell.\"\"\"
    return 1


def silence(*, bells: int) -> int:
    \"\"\"Silence bells.\"\"\"
    return bells


if __name__ == "__main__":
    ot_sdk.serve()
"""
CONFIG = "packs: {agenda: {undo: {ring: {tool: silence, bells: result}}}}"


async def test_calls_are_undone_by_the_tools_that_extensions_and_people_name(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "p", config=CONFIG, extensions={"agenda": AGENDA}) as app:
        person = Person(app, tmp_path / "p")
        run, text = await person.run(
            'a = agenda.create_event(title="one"); file.write(path="x", content="x"); agenda.ring()\n'
            'agenda.send(to="ada"); agenda.create_event(title="two")'
        )

        assert "e1" in text, text

        undo, text = await person.undo(run)

        assert person.asked[-1].index("cannot_be_taken_back = ") < person.asked[-1].index("undone = ")
        assert 'agenda.send(to=\\"ada\\")' in person.asked[-1]
        order = ["delete_event", "silence", "remove x", "delete_event"]
        places = [person.asked[-1].index(word) for word in order[:3]]
        assert places == sorted(places)
        assert (await person.run("agenda.events()"))[1] == "[]", text
        assert not (tmp_path / "p" / "x").exists()

        _, text = await person.undo(run)
        assert "agenda.send" in text  # nothing is undone twice
        _, text = await person.undo(undo)
        assert (await person.run("agenda.events()"))[1] == "[one, two]", text
        assert "agenda.silence" in person.asked[-1]


async def test_calls_of_a_server_are_undone_as_the_person_says(tmp_path: Path) -> None:
    done = tmp_path / "done"
    undo = {"create_event": {"tool": "delete_event", "id": "result.id"}}
    config = {"servers": {"calendar": program("with_events", done)}, "packs": {"calendar": {"undo": undo}}}
    async with open_engine(tmp_path / "p", config=json.dumps(config)) as app:
        person = Person(app, tmp_path / "p")
        run, text = await person.run('calendar_.create_event(title="x")["id"]')  # its name is taken by a module
        assert text == "event-1"

        _, text = await person.undo(run)

        assert 'call calendar_.delete_event(id="event-1")' in text
        assert done.read_text().splitlines()[1:] == ['delete_event {"id": "event-1"}']
        assert "everything is as it was" in (await person.undo(run))[1]


async def test_no_rule_answers_for_the_person(tmp_path: Path) -> None:
    async with open_engine(tmp_path, config="policy: {allow: [ot.undo]}\n") as app:
        person = Person(app, tmp_path)
        run, _ = await person.run('file.write(path="a", content="1")')

        _, text = await person.run(f'ot.undo(run="{run}")', alone=True)

        assert "nobody" in text, text
        assert (tmp_path / "a").exists()
        await person.undo(run)
        assert len(person.asked) == 1
        assert not (tmp_path / "a").exists()


async def test_a_skill_that_was_written_and_taken_back_is_gone_and_written_again_by_the_undo_of_that(
    person: Person,
) -> None:
    file = person.project / ".onetool" / "skills" / "loud.py"
    made, _ = await person.run(
        "scaffold.skill(name='loud', code='text.upper()', description='Shout.', parameters='text: str')"
    )
    undo, _ = await person.undo(made)
    gone = (await person.run("skills.loud(text='a')"))[1]  # and the pack with it
    there = file.exists()
    await person.undo(undo)

    assert "There is no pack 'skills'" in gone
    assert not there
    assert file.exists()
    assert (await person.run("skills.loud(text='a')"))[1] == "A"


async def test_skills_and_resumed_runs_are_undone_like_others(person: Person) -> None:
    code, parameters = "file.write(path=path, content='x')", "path: str"
    await person.run(f"scaffold.skill(name='jot', code={code!r}, description='Jot.', parameters={parameters!r})")
    skill, text = await person.run("skills.jot(path='jotted')")
    assert (person.project / "jotted").exists(), text
    await person.undo(skill)
    assert not (person.project / "jotted").exists()

    first = 'file.write(path="first", content="1")\n'
    failed, _ = await person.run(f"{first}1 / 0")
    resumed, _ = await person.run(f'ot.resume(run="{failed}")\n{first}file.write(path="second", content="2")')
    _, text = await person.undo(resumed)
    assert [(person.project / name).exists() for name in ("first", "second")] == [True, False]
    assert f'ot.undo(run="{failed}")' in text
    await person.undo(failed)
    assert not (person.project / "first").exists()


BELLS = """
# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
from pathlib import Path

import ot_sdk

pack = "bells"
FILE = Path(__file__).with_name("rung")


def _note(what):
    with FILE.open("a") as file:
        file.write(f"{what} ")
    if Path(__file__).with_name("broken").exists():
        raise ot_sdk.ToolError("the bell is broken")


@ot_sdk.undone_by("silence", bell="arguments.bell")
def ring(*, bell: str) -> int:
    \"\"\"Ring a bell.\"\"\"
    _note(f"ring-{bell}")
    return 1


@ot_sdk.undone_by("ring", bell="arguments.bell")
def silence(*, bell: str) -> int:
    \"\"\"Silence a bell.\"\"\"
    _note(f"silence-{bell}")
    return 1


if __name__ == "__main__":
    ot_sdk.serve()
"""


class Ringer(Person):
    """A person with bells, and what was done to them since it was last looked at."""

    @property
    def done(self) -> list[str]:
        file = self.project / ".onetool" / "tools" / "bells" / "rung"
        done = file.read_text().split() if file.exists() else []
        file.unlink(missing_ok=True)
        return done


@pytest.fixture(scope="module")
async def ringer(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Ringer]:
    folder = tmp_path_factory.mktemp("bells") / "p"
    async with open_engine(folder, extensions={"bells": BELLS}) as app:
        yield Ringer(app, folder)


async def test_calls_are_undone_once_by_undos_at_once_and_by_undos_of_undos(ringer: Ringer) -> None:
    run, _ = await ringer.run('bells.ring(bell="a"); bells.ring(bell="b")')
    assert ringer.done == ["ring-a", "ring-b"]
    undos = await undo_twice_at_once(ringer, run)
    assert sorted(ringer.done) == ["silence-a", "silence-b"]
    texts = " ".join(text for _, text in undos)
    assert texts.count("another undo has called it in the meantime") == 2

    for undo, _ in undos:
        await ringer.undo(undo)
    assert sorted(ringer.done) == ["ring-a", "ring-b"]
    for undo, _ in undos:
        await ringer.undo(undo)
    assert ringer.done == []


async def test_a_call_that_could_not_be_undone_is_tried_again_and_its_undo_is_not_undone(ringer: Ringer) -> None:
    run, _ = await ringer.run('bells.ring(bell="a"); bells.ring(bell="b")')
    broken = ringer.project / ".onetool" / "tools" / "bells" / "broken"
    broken.touch()
    failed, text = await ringer.undo(run)
    assert "the bell is broken" in text
    broken.unlink()
    assert ringer.done == ["ring-a", "ring-b", "silence-b", "silence-a"]

    assert "everything is as it was" in (await ringer.undo(failed))[1]
    _, text = await ringer.undo(run)

    assert "left: {}" in text
    assert ringer.done == ["silence-b", "silence-a"]


KINDS = ("nothing", "file", "program", "link", "link to a folder", "folder", "deep folder")


def put(path: Path, kind: str) -> None:
    """Put something of a kind where something else may be."""
    match kind:
        case "file" | "program":
            path.write_text(kind)
            path.chmod(0o755 if kind == "program" else 0o644)
        case "link" | "link to a folder":
            path.symlink_to("target/in" if kind == "link to a folder" else "nowhere")
        case "folder" | "deep folder":
            folder = path if kind == "folder" else path / "deep"
            folder.mkdir(parents=True)
            (folder / "g").write_text(kind)


@pytest.mark.parametrize("way", ["there", "back"])
async def test_a_branch_may_have_files_folders_and_links_in_one_anothers_place(
    person: Person, repository: str, way: str
) -> None:
    pairs = {f"{one} to {other}": (one, other) for one in KINDS for other in KINDS}
    for branch, which in (("one", 0), ("two", 1)):
        person.git("switch", "--quiet", "--orphan", branch)
        put(person.top / "target" / "in", "deep folder")
        for name, kinds in pairs.items():
            put(person.top / name, kinds[which])
        person.git("add", ".")
        person.git("commit", "--quiet", "--message=All")
    here, there = ("one", "two") if way == "there" else ("two", "one")
    person.git("switch", "--quiet", here)
    before = tree_of(person.top)

    run, text = await person.run(f'git.switch(branch="{there}", path="{repository}")["branch"]')
    assert text == there
    after = tree_of(person.top)
    assert after != before
    undo, text = await person.undo(run)

    assert "left: {}" in text
    assert tree_of(person.top) == before
    assert (person.git("branch", "--show-current"), person.git("status", "--porcelain")) == (here, "")
    _, text = await person.undo(undo)
    assert tree_of(person.top) == after, text
    assert (person.git("branch", "--show-current"), person.git("status", "--porcelain")) == (there, "")
