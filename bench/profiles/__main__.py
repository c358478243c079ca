"""Prints the profiles that are named, or all of them."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping

from bench.profiles.hot_path import profile_hot_path
from bench.profiles.imports import profile_imports
from bench.profiles.paths import profile_paths
from bench.profiles.processor_time import profile_processor_time
from bench.profiles.table import Table

PROFILES: Mapping[str, Callable[[], Iterator[Table]]] = {
    "start": profile_imports,
    "path": profile_hot_path,
    "paths": profile_paths,
    "processes": profile_processor_time,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.profiles", description=__doc__)
    parser.add_argument("profile", nargs="*", help=f"one of: {', '.join(PROFILES)}")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    unknown = set(options.profile) - PROFILES.keys()
    if unknown:
        parser.error(f"there is no profile {', '.join(sorted(unknown))}; there are: {', '.join(PROFILES)}")
    wanted = [name for name in PROFILES if name in (options.profile or PROFILES)]
    if options.json:
        made = {name: [table.as_json() for table in PROFILES[name]()] for name in wanted}
        print(json.dumps(made, ensure_ascii=False, indent=2))
        return
    for name in wanted:
        for table in PROFILES[name]():
            print(table.as_text(), end="\n\n", flush=True)


main()
