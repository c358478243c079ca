  // -- views of servers: each in a frame of its own, which reaches nothing but this, and is told apart by its window

  const views = [], MOST_WAITING = 16, MOST_REFUSED = 3, SETTLED = 700, TALLEST = 1600;
  const ASKED = {
    "ui/open-link": ["wants to open this address:", "Open", params => String(params.url ?? "")],
    "ui/message": ["wants to say this in the conversation:", "Say it", params => wordsOf(params.content)],
    "ui/update-model-context": ["wants the model to know this:", "Allow", params => wordsOf(params.content) + (params.structuredContent ? `\n${JSON.stringify(params.structuredContent)}` : "")],
    "ui/download-file": ["wants to save a file:", "Save", params => (params.contents ?? []).map(each => each.resource?.uri ?? each.uri ?? "a file").join("\n")],
  };
  const wordsOf = content => (Array.isArray(content) ? content : []).map(block => block.text ?? `[${block.type}]`).join("\n");

  function showView(data) {
    const place = make("div", { class: "view" }, make("header", {}, make("strong", {}, data.server), make("span", { class: "note" }, `shows what ${data.called} gave`)));
    const frame = make("iframe", { sandbox: "allow-scripts", title: `View of ${data.server}`, referrerpolicy: "no-referrer" });
    const state = note("Opening…"), view = { frame, hear, tell };
    let open = 0, ready = false, asking = false, refused = 0;
    place.append(state);

    function tell(method, params) {
      if (ready) send({ method, params });
    }

    function send(message) {
      frame.contentWindow?.postMessage({ jsonrpc: "2.0", ...message }, "*");
    }

    async function hear(message) {
      const { id, method } = message, params = message.params ?? {};
      if (method === "ui/notifications/initialized" && !ready) {
        ready = true;
        tell("ui/notifications/tool-input", { arguments: data.arguments });
        tell("ui/notifications/tool-result", data.result);
      } else if (method === "ui/notifications/size-changed" && Number.isFinite(params.height)) {
        frame.style.height = `${Math.min(Math.max(params.height, 40), TALLEST)}px`;
      }
      if (id === undefined || method === undefined) return;
      try {
        if (++open > MOST_WAITING) throw new Error("Too many requests at once");
        send({ id, result: await carryOut(method, params) });
      } catch (error) {
        send({ id, error: { code: error.code ?? -32000, message: error.message } });
      } finally {
        open--;
      }
    }

    async function carryOut(method, params) {
      switch (method) {
        case "ping": return {};
        case "ui/initialize": return welcome();
        case "ui/request-display-mode": return { mode: "inline" };
        case "tools/call": return (await ask(data, "call", { name: params.name, arguments: params.arguments ?? {} })).found.result;
        case "resources/read": return (await ask(data, "read", { uri: params.uri })).found.result;
      }
      if (Object.hasOwn(ASKED, method)) return (await permit(method, params)) ? request(method, params) : { isError: true };
      throw Object.assign(new Error("Method not found"), { code: -32601 });
    }

    function welcome() {
      const passed = ["openLinks", "message", "updateModelContext", "downloadFile"].filter(each => host[each]).map(each => [each, host[each]]);
      return {
        protocolVersion: VERSION, hostInfo: { name: "onetool", version: "1" },
        hostCapabilities: { serverTools: {}, serverResources: {}, logging: {}, ...Object.fromEntries(passed) },
        hostContext: {
          theme: context.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"), displayMode: "inline", availableDisplayModes: ["inline"],
          containerDimensions: { width: place.clientWidth, maxHeight: TALLEST }, locale: context.locale ?? navigator.language, timeZone: context.timeZone,
          platform: context.platform ?? "web", toolInfo: { tool: { name: data.called, inputSchema: { type: "object" } } },
        },
      };
    }

    // What would leave the frame is shown by us, outside of it, and waits for the person; one such wish at a time.
    function permit(method, params) {
      const [wants, label, words] = ASKED[method];
      if (asking || refused >= MOST_REFUSED || !host[{ "ui/open-link": "openLinks", "ui/message": "message", "ui/update-model-context": "updateModelContext", "ui/download-file": "downloadFile" }[method]]) return false;
      asking = true;
      return new Promise(resolve => {
        const settle = said => () => { asking = false; refused += said ? 0 : 1; wish.remove(); resolve(said); };
        const buttons = [button(label, settle(true), { disabled: true }), button("No", settle(false), { disabled: true })];
        const wish = make("div", { class: "wish", role: "alertdialog", "aria-label": `${data.server} ${wants}` }, make("p", {}, make("strong", {}, data.server), ` ${wants}`),
          scroller("What it wants", make("pre", {}, words(params))), make("div", { class: "tools" }, ...buttons));
        frame.before(wish);
        setTimeout(() => buttons.forEach(each => { each.disabled = false; }), SETTLED);  // a click may have been meant for the frame
      });
    }

    ask(data, "open").then(({ found: { page } }) => {
      views.push(view);
      frame.srcdoc = page.html;
      state.replaceWith(frame);
    }, error => { state.textContent = error.message; });
    return place;
  }
