"""A repository that makes plain git run programs in every way we know; each leaves a file named for the way."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

HOOKS = (
    "pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-checkout", "post-index-change",
    "reference-transaction",
)  # fmt: skip
ATTRIBUTES = """\
*.command diff=command
*.converted diff=converted
*.cleaned filter=cleaned
*.smudged filter=smudged
*.processed filter=processed
*.merged merge=merged
"""
WAYS = frozenset(HOOKS) | {
    "fsmonitor", "submodule", "external-diff", "diff-command", "textconv", "clean", "smudge", "process", "merge-driver",
    "gpg", "ssh", "pager", "editor", "included-alias",
}  # fmt: skip
PLAIN: tuple[tuple[str, ...], ...] = (
    ("status",),
    ("diff", "text.command", "text.converted", "text.txt"),
    ("log", "-1"),
    ("show", "lost"),
    ("blame", "text.converted"),
    ("lol",),
    ("add", "text.processed"),
    ("add", "text.cleaned", "text.txt"),
    ("commit", "-m", "one more"),
    ("commit", "--allow-empty", "--edit", "-m", "edited"),
    ("stash", "push"),
    ("switch", "topic"),
    ("stash", "pop"),
)
"""What a person types who knows nothing of it."""

# Greets git, and can do nothing for it. One that ends at once ends the command too, if git has written to it by then.
_NO_FILTER = r"printf '0016git-filter-server\n000eversion=2\n00000000'; cat >/dev/null"


def git(folder: Path, *words: str, stdin: str = "", environ: dict[str, str] | None = None) -> str:
    """Run plain git as a person would, with a name and no other settings of their own; its status does not count."""
    personal = {
        "PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.org", "GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.org",
    }  # fmt: skip
    done = subprocess.run(
        ["git", *words],
        cwd=folder,
        env=personal | (environ or {}),
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip()


def git_in_terminal(folder: Path, *words: str) -> None:
    """Run plain git in front of a person, so that it uses a pager."""
    outside, terminal = os.openpty()
    with subprocess.Popen(["git", *words], cwd=folder, stdout=terminal, stderr=terminal, stdin=subprocess.DEVNULL):
        os.close(terminal)
        with suppress(OSError):  # the other side is closed
            while os.read(outside, 4096):
                pass
    os.close(outside)


def new_repository(folder: Path, files: dict[str, str]) -> Path:
    """A repository with one commit by Ada, on the branch `main`."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "Begin")
    return folder


class HostileRepository:
    """It has two branches, files of every kind that names a program, and changes to each of them."""

    def __init__(self, folder: Path) -> None:
        names = ("command", "converted", "cleaned", "smudged", "merged", "txt")
        self.folder = new_repository(folder, {f"text.{name}": "first\n" for name in names} | {".gitignore": "marks\n"})
        self.marks = folder / "marks"
        self.marks.mkdir()
        self._commit_topic()
        self._lose_a_blob()
        self._add_submodule()
        self._sign()
        for name in names:
            if name != "smudged":
                (folder / f"text.{name}").write_text("second\n")
        (folder / "text.processed").write_text("new\n")
        (folder / ".gitattributes").write_text(ATTRIBUTES)
        self._hook()
        self._configure()

    def run_plain(self, commands: Sequence[Sequence[str]] = PLAIN) -> None:
        """Run plain git as its victim would."""
        for command in commands:
            git(self.folder, *command)
        git_in_terminal(self.folder, "log")

    def taken(self) -> set[str]:
        """Return the ways in which a program has run since it was asked last."""
        found = {mark.name for mark in self.marks.iterdir()}
        for name in found:
            (self.marks / name).unlink()
        return found

    def _mark(self, way: str, *, then: str = "true") -> str:
        return f"touch {self.marks / way}; {then}"

    def _commit_topic(self) -> None:
        git(self.folder, "switch", "--quiet", "--create", "topic")
        for kind in ("smudged", "merged"):
            (self.folder / f"text.{kind}").write_text("topic\n")
        git(self.folder, "commit", "--quiet", "--all", "-m", "Topic")
        git(self.folder, "switch", "--quiet", "main")

    def _lose_a_blob(self) -> None:
        """Tag a commit whose file only a remote repository has, which git would ask for it."""
        git(self.folder, "switch", "--quiet", "--create", "aside")
        (self.folder / "lost.txt").write_text("lost\n")
        git(self.folder, "add", "lost.txt")
        git(self.folder, "commit", "--quiet", "-m", "Lose")
        git(self.folder, "tag", "lost")
        blob = git(self.folder, "rev-parse", "HEAD:lost.txt")
        git(self.folder, "switch", "--quiet", "main")
        (self.folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()

    def _add_submodule(self) -> None:
        inner = new_repository(self.folder / "inner", {"a.txt": "a\n"})
        git(self.folder, "add", "inner")
        git(self.folder, "commit", "--quiet", "-m", "Add a submodule")
        git(inner, "config", "core.fsmonitor", self._mark("submodule"))

    def _sign(self) -> None:
        """Put a signature on the last commit, for somebody to check it."""
        commit = git(self.folder, "cat-file", "commit", "HEAD")
        head, _, message = commit.partition("\n\n")
        signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n AA==\n -----END PGP SIGNATURE-----"
        signed = git(
            self.folder, "hash-object", "-t", "commit", "-w", "--stdin", stdin=f"{head}\n{signature}\n\n{message}\n"
        )
        git(self.folder, "reset", "--quiet", "--soft", signed)

    def _hook(self) -> None:
        for name in HOOKS:
            hook = self.folder / ".git" / "hooks" / name
            hook.parent.mkdir(exist_ok=True)
            hook.write_text(f"#!/bin/sh\n{self._mark(name)}\n")
            hook.chmod(0o755)

    def _configure(self) -> None:
        (self.folder / ".git" / "more").write_text(f'[alias]\n\tlol = "!{self._mark("included-alias")}"\n')
        settings = {
            "user.name": "Ada",
            "user.email": "ada@example.org",
            "include.path": "more",
            "core.fsmonitor": self._mark("fsmonitor"),
            "core.pager": self._mark("pager", then="cat"),
            "core.editor": self._mark("editor"),
            "core.sshCommand": self._mark("ssh"),
            "diff.external": self._mark("external-diff"),
            "diff.command.command": self._mark("diff-command"),
            "diff.converted.textconv": self._mark("textconv", then="cat"),
            "filter.cleaned.clean": self._mark("clean", then="cat"),
            "filter.smudged.smudge": self._mark("smudge", then="cat"),
            "filter.processed.process": self._mark("process", then=_NO_FILTER),
            "merge.merged.driver": self._mark("merge-driver"),
            "log.showSignature": "true",
            "extensions.partialClone": "origin",
            "core.repositoryFormatVersion": "1",
            "remote.origin.promisor": "true",
            "remote.origin.url": "somebody@example.invalid:x",
        }
        for name, value in settings.items():
            git(self.folder, "config", name, value)
        program = self.folder / ".git" / "gpg"
        program.write_text(f"#!/bin/sh\n{self._mark('gpg')}\n")
        program.chmod(0o755)
        git(self.folder, "config", "gpg.program", str(program))
