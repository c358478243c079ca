"use strict";
// A part that changes while it is looked at is asked for again, as long as somebody sees it; nothing moves under the focus,
// nor a form under the pointer: a click would answer another question than the one that was read.
(() => {
  const part = document.querySelector("[data-live]");
  if (!part) return;
  const INTERVAL = 2000, told = document.getElementById("told-live"), pause = document.querySelector("[data-pause]");
  const address = new URL(location.href);
  address.searchParams.delete("done");
  address.searchParams.set("live", "1");
  let known = "", paused = false, said = words();

  function words() {
    return part.querySelector("[data-say]")?.textContent.trim() ?? "";
  }

  function replace(html) {
    const focused = part.contains(document.activeElement) ? document.activeElement : null;
    const key = focused?.closest("[id]")?.id, open = new Map(), scrolled = new Map();
    part.querySelectorAll("details[id]").forEach(each => open.set(each.id, each.open));
    part.querySelectorAll("[id]").forEach(each => (each.scrollLeft || each.scrollTop) && scrolled.set(each.id, [each.scrollLeft, each.scrollTop]));
    part.innerHTML = html;
    open.forEach((value, id) => { const each = document.getElementById(id); if (each) each.open = value; });
    scrolled.forEach(([left, top], id) => { const each = document.getElementById(id); if (each) each.scrollTo(left, top); });
    if (focused) (key && document.getElementById(key) || part).focus({ preventScroll: true });
  }

  async function look() {
    if (paused || document.hidden) return;
    if (part.contains(document.activeElement) && document.activeElement.closest("form")) return;
    if (part.querySelector("form:hover, form :checked")) return;
    const answer = await fetch(address, { headers: known ? { "If-None-Match": known } : {}, credentials: "same-origin" });
    if (answer.status === 401) { location.reload(); return; }
    if (answer.status !== 200) return;
    known = answer.headers.get("ETag") ?? "";
    replace(await answer.text());
    const now = words();
    if (now !== said && !/\d(ms| s| min)/.test(now)) told.textContent = now;
    said = now;
  }

  async function go() {
    try { await look(); } catch { /* the server is away; it is asked again */ }
    setTimeout(go, INTERVAL);
  }

  part.tabIndex = -1;
  if (pause) {
    pause.hidden = false;
    pause.addEventListener("click", () => {
      paused = !paused;
      pause.setAttribute("aria-pressed", String(paused));
    });
  }
  document.addEventListener("visibilitychange", () => { if (!document.hidden) look().catch(() => {}); });
  setTimeout(go, INTERVAL);
})();
