"use strict";
// The view of an answer. What it shows is text or data, never markup; what it asks for goes with the answer's handle.
(() => {
  const VERSION = "2026-01-26", KEY = "onetool/answer", FIRST_ROWS = 200, MORE_ROWS = 500, LINES = 100, POLL = 1000;
  const answer = document.getElementById("answer"), told = document.getElementById("told");
  let host = {}, context = {}, going = 0, number = 0;

  // -- elements

  function make(name, attributes = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key === "on") for (const [kind, hear] of Object.entries(value)) element.addEventListener(kind, hear);
      else if (value === true) element.setAttribute(key, "");
      else if (value !== false && value !== undefined && value !== null) element.setAttribute(key, value);
    }
    element.append(...children.filter(child => child !== null && child !== undefined));
    return element;
  }

  const button = (label, act, attributes = {}) => make("button", { type: "button", on: { click: act }, ...attributes }, label);
  const note = (...words) => make("p", { class: "note" }, ...words);
  const count = value => Number(value).toLocaleString();
  const say = words => { told.textContent = words; };
  const scroller = (label, child) => make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, child);

  // -- the host

  const waiting = new Map();

  function post(message) {
    window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
  }

  function request(method, params) {
    const id = ++number;
    post({ id, method, params });
    return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
  }

  async function ask(data, what, options = {}) {
    const given = await request("tools/call", { name: data.tool, arguments: { handle: data.handle, ask: what, options } });
    const found = given?._meta?.[KEY] ?? {};
    if (found.error !== undefined) throw new Error(found.error);
    return { given, found };
  }

  function hear(message) {
    if (message.method === undefined) {
      const asked = waiting.get(message.id);
      waiting.delete(message.id);
      if (message.error) asked?.reject(new Error(message.error.message)); else asked?.resolve(message.result);
      return;
    }
    const params = message.params ?? {};
    switch (message.method) {
      case "ui/notifications/tool-result": show(params); break;
      case "ui/notifications/tool-cancelled": place([note("This run was cancelled.")]); break;
      case "ui/notifications/host-context-changed": adopt(params); break;
      case "ui/resource-teardown": clearTimeout(going); break;
    }
    if (message.id === undefined) return;
    const known = ["ping", "ui/resource-teardown"].includes(message.method);
    post(known ? { id: message.id, result: {} } : { id: message.id, error: { code: -32601, message: "Method not found" } });
  }

  function adopt(changed) {
    context = { ...context, ...changed };
    if (context.theme) document.documentElement.dataset.theme = context.theme;
    if (context.locale) document.documentElement.lang = "en";
    views.forEach(view => view.tell("ui/notifications/host-context-changed", { theme: context.theme }));
  }

  window.addEventListener("message", event => {
    const message = event.data;
    if (message === null || typeof message !== "object" || message.jsonrpc !== "2.0") return;
    if (event.source === window.parent) hear(message);
    else views.find(view => view.frame.contentWindow === event.source)?.hear(message);
  });

  function tellModel(words) {
    if (host.updateModelContext) request("ui/update-model-context", { content: [{ type: "text", text: words }] }).catch(() => {});
  }

  // -- an answer

  function place(parts) {
    answer.replaceChildren(...parts);
    answer.setAttribute("aria-busy", "false");
  }

  function show(result) {
    clearTimeout(going);
    views.splice(0).forEach(view => view.frame.remove());
    const data = result._meta?.[KEY] ?? {};
    const parts = partsOf(result, data);
    place(parts.length ? parts : [note("Nothing was returned.")]);
    if (data.going) follow(data);
  }

  function partsOf(result, data) {
    const blocks = Array.isArray(result.content) ? result.content : [];
    const words = blocks.filter(block => block.type === "text").map(block => block.text).join("\n");
    const rest = blocks.filter(block => block.type !== "text");
    const parts = (data.views ?? []).map(each => showView({ ...each, tool: data.tool, called: each.tool }));
    const shownAs = parts.length;
    if (data.going) parts.push(showGoing(words));
    else if (data.preview) parts.push(showPreview(data));
    else if (result.isError || data.failed) parts.push(make("div", { class: "failed" }, showText(words, "What went wrong")));
    else {
      const printed = data.printed ? [make("section", {}, make("h2", {}, "Printed"), showText(data.printed, "Printed"))] : [];
      if (data.rows) parts.push(...printed, showRows(data));
      else if (data.stored) parts.push(...(data.text ? printed : []), showPages(data));
      else if (data.text && !rest.length && !shownAs) parts.push(...printed, showText(data.text, "Answer"));
      else if (printed.length) parts.push(...printed);
      else if (words && !rest.length && !shownAs) parts.push(showText(words, "Answer"));
    }
    parts.push(...rest.map((block, place) => showBlock(block, place + 1, rest.length)));
    const said = data.text ?? data.printed;
    if (words && (data.handle || data.run) && !data.going && !data.failed && words !== said) parts.push(showTold(words));
    return parts;
  }

  const showTold = words => make("details", {}, make("summary", {}, "As text, as the model has it"), scroller("As text", make("pre", {}, words)));

  // -- text and differences

  const isDiff = text => /^@@ .*@@/m.test(text) && /^(?:diff --git |--- |\+\+\+ )/m.test(text);

  function diff(text) {
    const shown = make("pre", { class: "diff" });
    for (const line of text.split("\n")) {
      const kind = /^(?:\+\+\+|---|diff --git|index )/.test(line) ? "" : line.startsWith("@@") ? "place" : line[0] === "+" ? "ins" : line[0] === "-" ? "del" : "";
      shown.append(kind === "place" ? make("span", { class: "place" }, line) : kind ? make(kind, {}, line) : `${line}\n`);
    }
    return shown;
  }

  function showText(text, label) {
    const copy = button("Copy", () => put(text));
    const content = isDiff(text) ? diff(text) : make("pre", {}, text);
    return make("section", { "aria-label": label }, scroller(label, content), make("div", { class: "tools" }, copy));
  }

  async function put(text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {  // not allowed here: the older way needs a click only
      const area = make("textarea", { class: "unseen", "aria-hidden": "true" });
      const focused = document.activeElement;
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
      focused?.focus();
    }
    say("Copied.");
  }

  // -- rows

  function showRows(data) {
    const { columns } = data.rows, cells = [...data.rows.cells], name = `rows-${++number}`;
    const byRows = data.stored && data.stored.kind === "list";
    const total = byRows ? data.stored.lines : data.rows.total;
    let sorted = -1, falling = false, limit = FIRST_ROWS, wanted = "";
    const numeric = columns.map((_, at) => cells.every(row => row[at] === null || typeof row[at] === "number") && cells.some(row => row[at] !== null));
    const written = value => value === null || value === undefined ? "" : String(value);
    const body = make("tbody"), status = make("span", { class: "note", role: "status" });
    const more = button("Show more", showMore);
    const heads = columns.map((column, at) => make("th", { scope: "col", class: numeric[at] ? "number" : "" }, button(column, () => sort(at))));
    const table = make("table", {}, make("caption", {}, `${count(total)} rows`), make("thead", {}, make("tr", {}, ...heads)), body);
    const filter = make("input", { type: "search", id: name, autocomplete: "off", on: { input: () => { wanted = filter.value.toLowerCase(); limit = FIRST_ROWS; draw(); } } });

    function chosen() {
      const found = wanted ? cells.filter(row => row.some(cell => written(cell).toLowerCase().includes(wanted))) : [...cells];
      if (sorted < 0) return found;
      const order = (a, b) => numeric[sorted] ? a - b : written(a).localeCompare(written(b), undefined, { numeric: true });
      return found.sort((one, two) => {
        const [a, b] = [one[sorted] ?? null, two[sorted] ?? null];
        if (a === null || b === null) return (a === null) - (b === null);
        return falling ? order(b, a) : order(a, b);
      });
    }

    function sort(at) {
      falling = sorted === at && !falling;
      sorted = at;
      heads.forEach((head, place) => place === at ? head.setAttribute("aria-sort", falling ? "descending" : "ascending") : head.removeAttribute("aria-sort"));
      draw();
    }

    function draw() {
      const rows = chosen(), drawn = rows.slice(0, limit);
      body.replaceChildren(...drawn.map(row => make("tr", {}, ...columns.map((_, at) => {
        const value = row[at] ?? null;
        return make("td", { class: value === null ? "empty" : numeric[at] ? "number" : "" }, value === null ? "–" : written(value));
      }))));
      const all = rows.length === total ? "" : ` of ${count(total)}`;
      status.textContent = `${drawn.length < rows.length ? `${count(drawn.length)} of ` : ""}${count(rows.length)}${all} rows`;
      more.hidden = drawn.length === rows.length && !(byRows && cells.length < total);
    }

    async function showMore() {
      limit += MORE_ROWS;
      if (byRows && cells.length < total && limit > chosen().length) {
        more.disabled = true;
        try {
          const { found } = await ask(data, "rows", { offset: cells.length, limit: MORE_ROWS });
          const places = columns.map(column => found.rows.columns.indexOf(column));
          cells.push(...found.rows.cells.map(row => places.map(at => at < 0 ? null : row[at])));
        } catch (error) {
          status.textContent = error.message;
          return;
        } finally {
          more.disabled = false;
        }
      }
      draw();
    }

    const lines = rows => [columns, ...rows.map(row => row.map(written))].map(line => line.map(cell => cell.replace(/[\t\n\r]+/g, " ")).join("\t")).join("\n");
    const objects = rows => JSON.stringify(rows.map(row => Object.fromEntries(columns.map((column, at) => [column, row[at] ?? null]))), null, 1);
    draw();
    return make("section", { "aria-label": "Rows" },
      make("div", { class: "tools" }, make("label", { class: "field", for: name }, "Filter", filter),
        button("Copy", () => put(lines(chosen())), { title: "With tabs, for a spreadsheet" }), button("Copy as JSON", () => put(objects(chosen()))), status),
      scroller("Rows", table), make("div", { class: "tools" }, more));
  }

  // -- what was stored, page by page

  function showPages(data) {
    const status = make("span", { class: "note", role: "status" }), shown = make("pre"), name = `search-${++number}`;
    let offset = 1, last = 1, search = "";
    const first = button("First", () => turn(1)), before = button("Previous", () => turn(Math.max(1, offset - LINES))), next = button("Next", () => turn(last));
    const find = () => { search = field.value; turn(1); };  // no form: frames like this one may not send any
    const field = make("input", { type: "search", id: name, autocomplete: "off", on: { keydown: event => { if (event.key === "Enter") find(); } } });
    const form = make("div", { class: "tools", role: "search" }, make("label", { class: "field", for: name }, "Find lines", field), button("Find", find));

    async function turn(to) {
      try {
        const { found: { page } } = await ask(data, "page", { offset: to, limit: LINES, search });
        offset = to;
        last = page.offset + page.returned;
        shown.replaceChildren(...page.lines.map((line, at) => make("span", { class: "line" }, make("span", { class: "count", "aria-hidden": "true" }, count(page.numbers?.[at] ?? page.offset + at)), line)));
        const all = search ? `${count(page.matches)} that match, of ${count(page.total_lines)} lines` : `${count(page.total_lines)} lines`;
        status.textContent = page.returned ? `${count(page.offset)}–${count(last - 1)} of ${all}` : `0 of ${all}`;
        first.disabled = before.disabled = offset <= 1;
        next.disabled = !page.has_more;
        shown.parentElement.scrollTop = 0;
      } catch (error) {
        status.textContent = error.message;
      }
    }

    turn(1);
    return make("section", { "aria-label": "Stored result" }, form, scroller("Stored result", shown), make("div", { class: "tools" }, first, before, next, status));
  }

  // -- pictures, sounds and resources

  function showBlock(block, place, of) {
    const which = of > 1 ? ` ${place} of ${of}` : "";
    if (block.type === "image") return showPicture(`data:${block.mimeType};base64,${block.data}`, `Picture${which}`);
    if (block.type === "audio") return make("figure", {}, make("audio", { controls: true, src: `data:${block.mimeType};base64,${block.data}`, "aria-label": `Sound${which}` }));
    const resource = block.resource ?? block, type = resource.mimeType ?? "";
    if (type.startsWith("image/") && resource.blob) return showPicture(`data:${type};base64,${resource.blob}`, `Picture${which}`);
    if (type === "image/svg+xml" && resource.text) return showPicture(`data:image/svg+xml,${encodeURIComponent(resource.text)}`, `Picture${which}`);
    if (typeof resource.text === "string") return make("section", {}, make("h2", {}, resource.uri), showText(resource.text, resource.uri));
    return note(`${resource.name ?? "Resource"}: ${resource.uri ?? block.type}`);
  }

  function showPicture(source, label) {
    const picture = make("img", { src: source, alt: label }), figure = make("figure", {}, scroller(label, picture));
    const fits = button("Fit to width", () => fits.setAttribute("aria-pressed", String(figure.classList.toggle("fits"))), { "aria-pressed": "false", hidden: true });
    picture.addEventListener("load", () => { fits.hidden = picture.naturalWidth <= figure.clientWidth; });
    figure.append(make("div", { class: "tools" }, fits));
    return figure;
  }

  // -- a run that goes on

  function showGoing(words) {
    const message = make("p", { id: "going" }, "The run goes on.");
    return make("section", { "aria-label": "Progress" }, make("div", { class: "going", role: "status" }, message), make("details", {}, make("summary", {}, "As text, as the model has it"), make("pre", {}, words)));
  }

  async function follow(data) {
    let wait = POLL;
    try {
      const { given, found } = await ask(data, "look");
      if (!found.going) { show(given); say("The run has ended."); return; }
      const shown = document.getElementById("going");
      if (shown && found.message && shown.textContent !== found.message) shown.textContent = found.message;
    } catch (error) {
      const shown = document.getElementById("going");
      if (shown) shown.textContent = error.message;
      wait = 10 * POLL;
    }
    going = setTimeout(() => follow(data), wait);
  }

  // -- a preview

  function showPreview(data) {
    const { calls, applicable, end } = data.preview, status = make("p", { class: "note", role: "status" }), boxes = [];
    const list = make("ol", { class: "calls" }, ...calls.map(call => {
      const box = make("input", { type: "checkbox", value: call.number, disabled: !applicable || call.refused || call.reads, checked: !call.refused });
      if (!call.refused && !call.reads) boxes.push(box);
      box.addEventListener("change", tally);
      return make("li", {}, make("label", {}, box, make("span", { class: "name" }, `${call.number}. ${call.name}`),
        call.arguments.length ? make("span", { class: "given" }, call.arguments.map(line => line.replace(/^ {2}/, "")).join("\n")) : null,
        call.fate ? make("span", { class: call.refused ? "fate refused" : "fate" }, call.fate) : null), call.changes ? (isDiff(call.changes) ? diff(call.changes) : make("pre", { class: "diff" }, ...changed(call.changes))) : null);
    }));
    const all = button(calls.length === 1 ? "Make the call" : "Make all", () => apply(null), { class: "main" });
    const some = button("Make those ticked", () => apply(boxes.filter(box => box.checked).map(box => Number(box.value))));
    const none = button("Make none", refuse);
    const buttons = make("div", { class: "tools" }, all, calls.length > 1 ? some : null, none);

    function tally() { some.disabled = !boxes.some(box => box.checked) || boxes.every(box => box.checked); }

    function close() {
      buttons.remove();
      boxes.forEach(box => { box.disabled = true; });
    }

    function refuse() {
      close();
      status.textContent = "None of these calls is made.";
      tellModel(`The person looked at preview ${data.run}, and chose to make none of its calls.`);
    }

    async function apply(chosen) {
      [all, some, none].forEach(each => { each.disabled = true; });
      status.textContent = "The calls are being made…";
      try {
        const given = await request("tools/call", { name: data.tool, arguments: { handle: data.handle, ask: "apply", options: chosen ? { calls: chosen } : {} } });
        close();
        const words = (given.content ?? []).filter(block => block.type === "text").map(block => block.text).join("\n");
        tellModel(`The person applied preview ${data.run}${chosen ? `, calls ${chosen.join(", ")} only` : ""}. The answer:\n${words}`);
        status.textContent = given.isError ? "Not all of it went well." : "Done.";
        const next = given._meta?.[KEY] ?? {};
        status.after(...partsOf(given, next));
        if (next.going) follow(next);
      } catch (error) {
        status.textContent = error.message;
        [all, some, none].forEach(each => { each.disabled = false; });
        tally();
      }
    }

    tally();
    const legend = calls.length ? `This preview has changed nothing. It would make ${calls.length === 1 ? "this call" : `these ${count(calls.length)} calls`}:` : "The code would change nothing.";
    return make("section", { "aria-label": "Preview" }, make("fieldset", {}, make("legend", {}, legend), list), ...end.map(line => note(line)), applicable ? buttons : null, status);
  }

  const changed = text => text.split("\n").map(line => line[0] === "+" ? make("ins", {}, line) : line[0] === "-" ? make("del", {}, line) : `${line}\n`);

/* views */

  // -- start

  new ResizeObserver(() => {
    const { scrollHeight: height, scrollWidth: width } = document.documentElement;
    post({ method: "ui/notifications/size-changed", params: { width, height: Math.ceil(Math.max(document.body.getBoundingClientRect().height, 1)) } });
  }).observe(document.body);

  request("ui/initialize", { protocolVersion: VERSION, appInfo: { name: "onetool-answer", version: "1" }, appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] } }).then(found => {
    host = found?.hostCapabilities ?? {};
    adopt(found?.hostContext ?? {});
    post({ method: "ui/notifications/initialized", params: {} });
  });
})();
