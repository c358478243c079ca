"""One call of each tool of the reference servers that declares no result, where no network or account is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def calls_without_schema(folder: Path) -> list[tuple[str, dict[str, Any], str]]:
    """One call of each tool without an output schema: the tool, its arguments, and what is told of it afterwards."""
    repository = {"repo_path": str(folder / "git" / "repository")}
    zone = "{datetime: str, day_of_week: str, is_dst: bool, timezone: str}"
    return [
        ("everything.echo", {"message": "a"}, "str"),
        ("everything.get_annotated_message", {"messageType": "error"}, "str"),
        ("everything.get_env", {}, "JSON: {HOME: str"),
        ("everything.get_resource_links", {"count": 2}, "[Resource | str]"),
        ("everything.get_resource_reference", {}, "[Resource | str]"),
        ("everything.get_sum", {"a": 1, "b": 2}, "str"),
        ("everything.get_tiny_image", {}, "[Image | str]"),
        ("everything.gzip_file_as_resource", {"data": "data:text/plain,a"}, "Resource"),
        ("everything.toggle_simulated_logging", {}, "str"),
        ("everything.toggle_subscriber_updates", {}, "str"),
        ("everything.trigger_long_running_operation", {"duration": 0.01, "steps": 1}, "str"),
        ("git.git_status", repository, "str"),
        ("git.git_log", repository, "str"),
        ("git.git_show", {**repository, "revision": "HEAD"}, "str"),
        ("git.git_diff", {**repository, "target": "HEAD"}, "str"),
        ("git.git_diff_staged", repository, "str"),
        ("git.git_diff_unstaged", repository, "str"),
        ("git.git_branch", {**repository, "branch_type": "local"}, "str"),
        ("git.git_add", {**repository, "files": ["new.txt"]}, "str"),
        ("git.git_commit", {**repository, "message": "Again"}, "str"),
        ("git.git_reset", repository, "str"),
        ("git.git_create_branch", {**repository, "branch_name": "next"}, "str"),
        ("git.git_checkout", {**repository, "branch_name": "next"}, "str"),
        ("sqlite.create_table", {"query": "CREATE TABLE t (a int)"}, "str"),
        ("sqlite.read_query", {"query": "SELECT * FROM t"}, "str"),
        ("sqlite.list_tables", {}, "str"),
        ("sqlite.describe_table", {"table_name": "t"}, "str"),
        ("sqlite.append_insight", {"insight": "a"}, "str"),
        ("sqlite.write_query", {"query": "DROP TABLE t"}, "str"),
        ("time_.get_current_time", {"timezone": "Europe/Vienna"}, f"JSON: {zone}"),
        (
            "time_.convert_time",
            {"source_timezone": "Europe/Vienna", "target_timezone": "Asia/Tokyo", "time": "12:00"},
            f"JSON: {{source: {zone}, target: {zone}, time_difference: str}}",
        ),
    ]
