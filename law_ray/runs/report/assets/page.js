"use strict";
const figures = JSON.parse(document.getElementById("figures").textContent);
const trials = JSON.parse(document.getElementById("trials").textContent);
const stored = Uint8Array.from(atob(trials.orderings), (c) => c.charCodeAt(0));
const row = new Map(trials.ids.map((id, k) => [id, k]));

function ordering(id) {
  if (!row.has(id)) return null;
  const n = trials.names.length, first = row.get(id) * n;
  return trials.names.map((_, k) => {
    const at = (first + k) * trials.bytes;
    return trials.names[trials.bytes === 1 ? stored[at] : stored[at] + 256 * stored[at + 1]];
  });
}

function show(output, point) {
  const id = point.customdata, items = ordering(id);
  output.replaceChildren(Object.assign(document.createElement("b"), { textContent: `trial ${id}` }));
  output.append(" ", items ? items.join(", ") : "(the page holds the orderings of the best evaluations alone)");
}

for (const [name, figure] of Object.entries(figures)) {
  const element = document.getElementById(name);
  const height = element.style.height;
  Plotly.newPlot(element, figure.data, { ...figure.layout, height: parseInt(height), autosize: true }, {
    responsive: true, displaylogo: false, modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
  });
  const output = document.querySelector(`output[for="${name}"]`);
  if (output) {
    element.on("plotly_hover", (event) => {
      const point = event.points.find((each) => Number.isInteger(each.customdata) && each.customdata >= 0);
      if (point) show(output, point);
    });
  }
}

for (const button of document.querySelectorAll(".copy")) {
  button.addEventListener("click", async () => {
    const text = button.parentElement.querySelector("pre");
    try {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "copied";
    } catch {  // a page from disk may not write to the clipboard in every browser
      getSelection().selectAllChildren(text);
      button.textContent = "selected";
    }
    setTimeout(() => (button.textContent = "copy"), 1500);
  });
}

for (const header of document.querySelectorAll("th button")) {
  header.addEventListener("click", () => {
    const cell = header.parentElement, table = cell.closest("table"), body = table.tBodies[0];
    const up = cell.getAttribute("aria-sort") !== "ascending";
    const value = (line) => line.cells[cell.cellIndex].textContent.trim();
    const compare = (a, b) => {
      const x = parseFloat(value(a)), y = parseFloat(value(b));
      return Number.isNaN(x) || Number.isNaN(y) ? value(a).localeCompare(value(b)) : x - y;
    };
    body.append(...[...body.rows].sort((a, b) => (up ? compare(a, b) : compare(b, a))));
    for (const other of table.querySelectorAll("th")) other.removeAttribute("aria-sort");
    cell.setAttribute("aria-sort", up ? "ascending" : "descending");
  });
}

const PAPER = 680;  // pixels of the width of A4 or letter between usual margins

function resizeAll(width) {
  for (const name of Object.keys(figures)) {
    Plotly.relayout(document.getElementById(name), width ? { width, autosize: false } : { width: null, autosize: true });
  }
}

addEventListener("beforeprint", () => resizeAll(PAPER));
addEventListener("afterprint", () => resizeAll(null));
