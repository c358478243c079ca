"""Ways by which a path may lead out of the allowed folders, and a home in which all of them are laid."""

from __future__ import annotations

from pathlib import Path

SECRET = "what nobody may read"

TRICKS = {
    "parent": "../outside.txt",
    "deep parent": "sub/../../outside.txt",
    "absolute": "{home}/outside.txt",
    "doubled slashes": "..//..//{home}//outside.txt",
    "home": "~/outside.txt",
    "sibling with the same beginning": "../project-of-others/a.txt",
    "link to a file": "to-file",
    "link to a folder": "to-folder/outside.txt",
    "link to /": "to-root/{home}/outside.txt",
    "link by way of a link": "to-link/outside.txt",
    "relative link": "sub/relative",
    "parent of a link": "to-other/../outside.txt",
    "proc root": "/proc/self/root/{home}/outside.txt",
    "proc cwd": "/proc/self/cwd/../outside.txt",
    "link into proc": "to-proc/root/{home}/outside.txt",
    "descriptor": "/proc/self/fd/{descriptor}",
    "dev fd": "/dev/fd/{descriptor}",
    "environment": "/proc/self/environ",
    "own folder": "~/.onetool/onetool.yaml",
    "own state": "../.onetool/state/token",
    "secrets": "secrets.yaml",
    "secrets in capitals": "sub/SECRETS.yaml",
    "secrets with another ending": "sub/secrets.yml",
    "link to secrets": "to-secrets",
    "second name of secrets": "second-name",
    "passwords": "/etc/passwd",
    "a missing file outside": "../nothing-there.txt",
    "below a file outside": "../outside.txt/x",
}
"""By name; `{home}` and `{descriptor}`, of an open file outside, are to be filled in. Each would show SECRET."""


def build_home(home: Path) -> Path:
    """A home with a project, and files around it and in it that are not for tools."""
    for folder in (".onetool/state", "project/sub/.onetool", "project-of-others", "other"):
        (home / folder).mkdir(parents=True)
    for file in (
        ".onetool/onetool.yaml",
        ".onetool/secrets.yaml",
        ".onetool/state/token",
        "outside.txt",
        "project-of-others/a.txt",
        "project/secrets.yaml",
        "project/sub/SECRETS.yaml",
        "project/sub/secrets.yml",
    ):
        (home / file).write_text(SECRET)
    (home / "project" / "a.txt").write_text("a")
    (home / "project" / "sub" / "b.txt").write_text("b")
    (home / "project" / "sub" / ".onetool" / "onetool.yaml").write_text("c")
    return home


def lay_links(home: Path) -> Path:
    """Lay the links that the tricks use in the project, and return it."""
    project = home / "project"
    (project / "to-file").symlink_to(home / "outside.txt")
    (project / "to-folder").symlink_to(home)
    (project / "to-root").symlink_to("/")
    (project / "to-link").symlink_to("to-folder")
    (project / "sub" / "relative").symlink_to("../../outside.txt")
    (project / "to-other").symlink_to(home / "other")
    (project / "to-proc").symlink_to("/proc/self")
    (project / "to-secrets").symlink_to("../.onetool/secrets.yaml")
    (project / "second-name").hardlink_to(home / ".onetool" / "secrets.yaml")
    return project
