// Decoding with and without a KV cache, step by step. Runs in anywidget and in the site's host.
// Step s (1 is the prefill) feeds the T = prompt + s - 1 tokens known by then and yields one new token.

import { box, button, counted, node, number, player, slider, statusLine, store } from "./common.js";

const MAX_PROMPT = 192;
const MAX_NEW = 64;

// The work of one step: token rows projected to K and V, and query-key score pairs (each layer and head alike).
export function stepWork(prompt, step, cached) {
  const seen = prompt + step - 1;
  if (!cached) return { rows: seen, pairs: (seen * (seen + 1)) / 2 };
  if (step === 1) return { rows: prompt, pairs: (prompt * (prompt + 1)) / 2 };
  return { rows: 1, pairs: seen };
}

export function totalWork(prompt, step, cached) {
  const sum = { rows: 0, pairs: 0 };
  for (let s = 1; s <= step; s++) {
    const work = stepWork(prompt, s, cached);
    sum.rows += work.rows;
    sum.pairs += work.pairs;
  }
  return sum;
}

// What happens to token row `row` (from 0) in a step: first, again, read or later.
export function rowState(prompt, step, cached, row) {
  const seen = prompt + step - 1;
  const known = step === 1 ? 0 : seen - 1;
  if (row >= seen) return "later";
  if (row >= known) return "first";
  return cached ? "read" : "again";
}

const KEYS = [
  ["first", "projected for the first time"],
  ["again", "projected again, needlessly"],
  ["read", "read from the cache"],
  ["later", "not there yet"],
];

const tokens = (count) => counted(count, "token");

// One panel: its heading and a square for each token row.
function panel(title) {
  const grid = node("div", { className: "kv-rows" });
  grid.setAttribute("role", "img");
  const said = node("p", { className: "kv-panel-text" });
  const element = node("div", { className: "kv-panel" }, node("p", { className: "kv-panel-title", textContent: title }), grid, said);
  return {
    element,
    show(prompt, fresh, step, cached) {
      const rows = prompt + fresh - 1; // the last token generated is never fed back
      while (grid.children.length > rows) grid.lastChild.remove();
      while (grid.children.length < rows) grid.append(node("span"));
      const counts = { first: 0, again: 0, read: 0, later: 0 };
      [...grid.children].forEach((square, row) => {
        const state = rowState(prompt, step, cached, row);
        square.className = `kv-row kv-row-${state}`;
        counts[state]++;
      });
      const parts = KEYS.filter(([key]) => counts[key] && key !== "later").map(([key, words]) => `${number(counts[key])} ${words}`);
      said.textContent = parts.join(", ");
      grid.setAttribute("aria-label", `${title}: token rows ${parts.join(", ")}`);
    },
  };
}

function counterTable() {
  const cells = {};
  const body = node("tbody");
  for (const [what, words] of [["rows", "Rows projected"], ["pairs", "Score pairs per head"]]) {
    for (const [when, span] of [["step", "this step"], ["total", "so far"]]) {
      const head = node("th", { scope: "row", textContent: `${words}, ${span}` });
      const row = node("tr", {}, head);
      for (const side of ["without", "with"]) {
        cells[`${what}-${when}-${side}`] = node("td", { className: "kv-num" });
        cells[`${what}-${when}-${side}`].dataset.counter = `${what}-${when}-${side}`;
        row.append(cells[`${what}-${when}-${side}`]);
      }
      body.append(row);
    }
  }
  const heads = ["In each layer", "Without a cache", "With a cache"].map((text) => node("th", { scope: "col", textContent: text }));
  const element = node("table", { className: "kv-counters" }, node("thead", {}, node("tr", {}, ...heads)), body);
  return { element, cells };
}

function legend() {
  const items = KEYS.map(([key, words]) => node("li", {}, node("span", { className: `kv-row kv-row-${key}` }), words));
  return node("ul", { className: "kv-legend" }, ...items);
}

function render({ model, el }) {
  box(el, "kv-cache-work", "Decoding with and without a cache");
  const set = (key, value) => store(model, { [key]: value });
  const goTo = (step) => set("step", Math.min(Math.max(step, 1), model.get("new")));

  const status = statusLine();
  const { play, pause, leave } = player({ at: () => model.get("step"), last: () => model.get("new"), goTo, status, draw });

  const prompt = slider("Prompt length", 1, MAX_PROMPT, (value) => { pause(); set("prompt", value); });
  const fresh = slider("New tokens", 1, MAX_NEW, (value) => { pause(); set("new", value); goTo(model.get("step")); });
  const step = slider("Step", 1, MAX_NEW, (value) => { pause(); goTo(value); });
  const back = button("Back", () => { pause(); goTo(model.get("step") - 1); });
  const next = button("Next", () => { pause(); goTo(model.get("step") + 1); });
  const end = button("Last step", () => { pause(); goTo(model.get("new")); });
  const without = panel("Without a cache");
  const cached = panel("With a cache");
  const counters = counterTable();

  function draw() {
    const p = model.get("prompt");
    const n = model.get("new");
    const s = Math.min(model.get("step"), n);
    const kind = s === 1 ? "prefill" : "decode";
    prompt.show(p, tokens(p));
    fresh.show(n, tokens(n));
    step.show(s, `${s} of ${n} (${kind})`, n);
    without.show(p, n, s, false);
    cached.show(p, n, s, true);
    for (const [side, hasCache] of [["without", false], ["with", true]]) {
      const now = stepWork(p, s, hasCache);
      const sum = totalWork(p, s, hasCache);
      for (const what of ["rows", "pairs"]) {
        counters.cells[`${what}-step-${side}`].textContent = number(now[what]);
        counters.cells[`${what}-total-${side}`].textContent = number(sum[what]);
      }
    }
    const rows = totalWork(p, s, false).rows;
    const few = totalWork(p, s, true).rows;
    status.textContent =
      `Step ${s} of ${n}, ${kind}: the model sees ${tokens(p + s - 1)}. ` +
      `So far ${number(rows)} rows projected without a cache, ${number(few)} with one.`;
  }

  for (const key of ["prompt", "new", "step"]) model.on(`change:${key}`, draw);
  el.append(
    node("div", { className: "kv-sliders" }, prompt.element, fresh.element, step.element),
    node("div", { className: "kv-buttons" }, back, next, play, end),
    status,
    node("div", { className: "kv-panels" }, without.element, cached.element),
    legend(),
    counters.element,
  );
  draw();
  return leave;
}

export default { render };
