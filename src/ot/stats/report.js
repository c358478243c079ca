"use strict";
(() => {
  const table = document.getElementById("table");
  if (!table) return;
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  const told = document.getElementById("told"), wanted = document.getElementById("wanted");
  heads.forEach((head, index) => head.firstElementChild.addEventListener("click", () => {
    const text = index === 0;
    const now = head.getAttribute("aria-sort");
    const order = now === "none" ? (text ? "ascending" : "descending") : now === "ascending" ? "descending" : "ascending";
    heads.forEach(other => other.setAttribute("aria-sort", other === head ? order : "none"));
    const sign = order === "ascending" ? 1 : -1;
    const value = row => row.cells[index].dataset.value;
    const rows = [...body.rows].sort((a, b) => sign * (text ? value(a).localeCompare(value(b)) : value(a) - value(b)));
    body.append(...rows);
    told.textContent = `Sorted by ${head.textContent.trim()}, ${order}`;
  }));
  wanted.addEventListener("input", () => {
    const part = wanted.value.trim().toLowerCase();
    let shown = 0;
    for (const row of body.rows) {
      row.hidden = !row.cells[0].dataset.value.toLowerCase().includes(part);
      shown += !row.hidden;
    }
    told.textContent = `${shown} of ${body.rows.length} tools shown`;
  });
})();
