"""Makes tasks of its calls, in the form of 2025 or, with the argument `extension`, in that of 2026; most are odd.

The first argument is a folder: every request is a line of `log` there, tasks are remembered in `tasks`, and `wait`
ends once there is a file `go`. A server that is started later knows the same tasks.
"""

import json
import sys
import time
from pathlib import Path

from plain_server import Server, send, text, tool

FOLDER, EXTENSION = Path(sys.argv[1]), "extension" in sys.argv
NAMES = (
    "wait", "question", "questions", "refused", "endless", "gone", "stranger", "twice", "odd", "fails", "cancelled",
    "nested", "related", "unnamed", "unstable", "vanishes",
)  # fmt: skip
QUESTION = {
    "method": "elicitation/create",
    "params": {"message": "Name?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}},
}


class WithTasks(Server):
    capabilities = {"tools": {}, "tasks": {"cancel": {}, "requests": {"tools": {"call": {}}}}}

    def __init__(self):
        self.kept = FOLDER / "tasks"
        self.tasks = json.loads(self.kept.read_text()) if self.kept.exists() else {}
        self.looks = {}
        self.answers = {}

    def tools(self):
        execution = {} if EXTENSION else {"execution": {"taskSupport": "required"}}
        reads = tool("look", properties={"text": {"type": "string"}}, annotations={"readOnlyHint": True}, **execution)
        return [
            *(tool(name, properties={"text": {"type": "string"}}, **execution) for name in NAMES),
            reads,
            tool("plain"),
        ]

    def note(self, **facts):
        with (FOLDER / "log").open("a") as file:
            file.write(json.dumps({"time": time.monotonic(), **facts}) + "\n")

    def answer(self, request):
        method, params = request["method"], request.get("params") or {}
        if method == "initialize" and EXTENSION:
            return None
        if method == "initialize":
            return {**super().answer(request), "protocolVersion": "2025-11-25"}
        if method == "server/discover" and EXTENSION:
            found = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}, "extensions": {}}}
        elif method.startswith("tasks/"):
            self.note(method=method, task=params.get("taskId"), responses=params.get("inputResponses"))
            found = self.about(method, params)
        else:
            found = super().answer(request)
        return found and {
            "resultType": "complete",
            **({"ttlMs": 0, "cacheScope": "private"} if EXTENSION else {}),
            **found,
        }

    def call(self, name, arguments, request):
        params = request["params"]
        self.note(method="tools/call", tool=name, task=params.get("task"), text=arguments.get("text"))
        if name == "plain":
            return text("plain")
        task = f"{name}-{len(self.tasks) + 1}"
        self.tasks[task] = name
        self.kept.write_text(json.dumps(self.tasks))
        made = self.state(task, "working")
        if name == "unnamed":
            made["taskId"] = ["no", "text"]
        if name == "twice":
            send({"id": request["id"], "result": self.begun(made)})
        return self.begun(made)

    def begun(self, made):
        return {"resultType": "task", **made} if EXTENSION else {"task": made}

    def state(self, task, status, **more):
        times = {"createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z"}
        limits = {"ttlMs": None, "pollIntervalMs": 60} if EXTENSION else {"ttl": None, "pollInterval": 60}
        return {"taskId": task, "status": status, **times, **limits, **more}

    def about(self, method, params):
        task = params["taskId"]
        name = self.tasks.get(task)
        if name is None:
            return None
        if method == "tasks/cancel":
            return {} if EXTENSION else self.state(task, "cancelled")
        if method == "tasks/update":
            self.answers.update(params["inputResponses"])
            return {}
        if method == "tasks/result":
            return self.result(task, name)
        self.looks[task] = self.looks.get(task, 0) + 1
        return self.look(task, name, self.looks[task])

    def result(self, task, name):
        if name == "question":
            send({"id": "asked", **QUESTION})
            while True:
                message = json.loads(sys.stdin.readline())
                if message.get("id") == "asked":
                    return text(json.dumps(message.get("result", message.get("error"))))
        related = "another" if name == "related" else task
        meta = {"_meta": {"io.modelcontextprotocol/related-task": {"taskId": related}}}
        return {**text(f"{name} done"), **meta}

    def look(self, task, name, count):
        if name in ("wait", "look"):
            return self.ended(task, name) if (FOLDER / "go").exists() else self.state(task, "working")
        if name in ("question", "questions", "refused") and EXTENSION:
            key = f"q{count}" if name == "questions" else "q"
            if key in self.answers and count > 4:
                return self.ended(task, name, text(json.dumps(self.answers)))
            return self.state(task, "input_required", inputRequests={key: QUESTION})
        if name in ("question", "refused"):
            return self.state(task, "input_required")
        if name == "stranger":
            return self.state("wait-1", "working")
        if name == "gone":
            return None
        if name == "odd":
            odd = {"pollIntervalMs": -1, "pollInterval": 1e-300, "statusMessage": "x\x1b[2J\u202e" + "y" * 1_000_000}
            return self.ended(task, name) if count > 2 else self.state(task, "working", **odd)
        if name == "fails":
            error = {"error": {"code": -32603, "message": "The oven is cold"}}
            return self.state(task, "failed", statusMessage="failed", **(error if EXTENSION else {}))
        if name == "cancelled":
            return self.state(task, "cancelled", statusMessage="by an administrator")
        if name == "nested":
            return self.ended(task, name, {"resultType": "task", "taskId": "another"})
        if name == "vanishes":
            sys.exit(3)
        if name == "unstable":
            return self.state(task, "resting")
        if name == "endless":
            return self.state(task, "working", statusMessage=f"look {count}")
        return self.ended(task, name)

    def ended(self, task, name, result=None):
        if not EXTENSION:
            return self.state(task, "completed")
        return self.state(task, "completed", result=result or self.result(task, name))


WithTasks().serve()
