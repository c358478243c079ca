// A host of views, made of the official AppBridge: it shows a page in a sandboxed frame, as the specification wants it
// where a view names no domains, and hands calls on to the test, which has the client.
import { AppBridge, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";

const POLICY =
  "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "media-src 'self' data:; font-src 'self' data:; connect-src 'none'; frame-src 'none'; object-src 'none'; base-uri 'self'";

window.heard = [];
window.violations = [];

window.openView = async (html, { theme, input, result }) => {
  const frame = document.createElement("iframe");
  frame.id = "view";
  frame.sandbox = "allow-scripts";
  frame.allow = "clipboard-write";
  frame.style.cssText = "width: 100%; height: 400px; border: 0; display: block";
  document.body.replaceChildren(frame);
  document.documentElement.style.colorScheme = theme;
  document.documentElement.style.background = theme === "dark" ? "#111" : "#fff";
  const capabilities = { serverTools: {}, openLinks: {}, message: { text: {} }, updateModelContext: { text: {} }, logging: {} };
  const hostContext = { theme, displayMode: "inline", availableDisplayModes: ["inline"], locale: "en-GB" };
  const bridge = (window.bridge = new AppBridge(null, { name: "test-host", version: "1" }, capabilities, { hostContext }));
  const note = kind => async params => {
    window.heard.push([kind, params]);
    return {};
  };
  bridge.onopenlink = note("open-link");
  bridge.onmessage = note("message");
  bridge.onupdatemodelcontext = note("update-model-context");
  bridge.oncalltool = async params => {
    window.heard.push(["call", params]);
    const answer = await window.callTool(params);
    if (answer.error) throw new Error(answer.error);
    return answer;
  };
  bridge.onsizechange = ({ height }) => {
    if (height) frame.style.height = `${height}px`;
  };
  const ready = new Promise(resolve => (bridge.oninitialized = resolve));
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.srcdoc = html.replace("<head>", `<head><meta http-equiv="Content-Security-Policy" content="${POLICY}">`);
  await ready;
  await bridge.sendToolInput({ arguments: input });
  await bridge.sendToolResult(result);
};
