"""`python cluster_program.py`: a Ray cluster on this machine, whose nodes come and go as lines of JSON on stdin say.

It runs where Ray is installed. Each line is answered by one; the nodes end with the program.
"""

from __future__ import annotations

import json
import sys

from ray.cluster_utils import Cluster

_SMALL = {"object_store_memory": 80 * 1024 * 1024, "include_dashboard": False}


def main() -> None:
    """Start a head without processors, and do as stdin says."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **_SMALL})
    nodes = {}
    answer({"address": cluster.address})
    try:
        for line in sys.stdin:
            order = json.loads(line)
            name = order["node"]
            if order["do"] == "add":
                nodes[name] = cluster.add_node(num_cpus=order["cpus"], resources=order["resources"], **_SMALL)
            elif order["do"] == "kill":
                cluster.remove_node(nodes.pop(name), allow_graceful=False)
            elif order["do"] == "kill head":
                cluster.remove_node(cluster.head_node, allow_graceful=False)
            answer({})
    finally:
        cluster.shutdown()


def answer(facts: dict[str, str]) -> None:
    """Write one line."""
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
