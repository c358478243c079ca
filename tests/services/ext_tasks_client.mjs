// Calls `run` of a server with the official client for tasks, and prints what came of it as one line of JSON.
// Arguments: the server's address, and the code to run; its questions are answered with "once".
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createTaskSessionFromClient, resultFromTaskOutcome } from "@modelcontextprotocol/ext-tasks/client";

const [address, command] = process.argv.slice(2);
const REVISION = "2026-07-28";
const clientInfo = { name: "ext-tasks", version: "1" };
const clientCapabilities = { elicitation: { form: {} }, extensions: { "io.modelcontextprotocol/tasks": {} } };
const asked = [];
const seen = [];

async function rawDispatch(request, options) {
  const name = request.params.name ?? request.params.taskId;
  const headers = {
    "Content-Type": "application/json",
    Accept: "application/json, text/event-stream",
    "MCP-Protocol-Version": REVISION,
    "Mcp-Method": request.method,
    ...(name === undefined ? {} : { "Mcp-Name": name }),
  };
  const message = { jsonrpc: "2.0", id: seen.length + 1, ...request };
  const answer = await fetch(address, { method: "POST", headers, body: JSON.stringify(message), signal: options?.signal });
  const text = await answer.text();
  const events = text.split(/\r?\n/).filter((line) => line.startsWith("data: "));
  const found = JSON.parse(events.length ? events.at(-1).slice("data: ".length) : text);
  seen.push([request.method, found.result?.status ?? found.result?.resultType ?? found.error?.code]);
  return found;
}

const client = new Client(clientInfo, { capabilities: clientCapabilities, versionNegotiation: { mode: { pin: REVISION } } });
await client.connect(new StreamableHTTPClientTransport(new URL(address)));
const session = createTaskSessionFromClient(client, {
  endpointId: "onetool",
  rawDispatch,
  v2RequestFraming: { protocolVersion: REVISION, clientInfo, clientCapabilities },
  onInputRequest: async (request) => {
    asked.push(request.params.message);
    return { action: "accept", content: { answer: "once" } };
  },
});
const execution = await session.callTool("run", { command });
const { outcome } = await execution.settle();
const result = resultFromTaskOutcome(outcome);
await session.close();
await client.close();
console.log(JSON.stringify({ result, asked, seen }));
