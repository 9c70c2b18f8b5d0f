// What a KV cache costs, factor by factor, beside the weights. Runs in anywidget and in the site's host.
// Whole bytes throughout (BigInt): the same numbers as kvcourse.memory, at any size.

import { box, control, counted, node, number, statusLine, store } from "./common.js";

const MOST = { layers: 256, kv_heads: 256, head_dim: 512, tokens: 2000000, sequences: 10000, parameters: 10000000000000 };
// Bytes of one number of the cache, and of a group of weights: [numbers, bytes]. q4_0 is 4 bits and a scale for every 32.
const CACHE = { fp32: 4n, fp16: 2n, fp8: 1n };
const WEIGHTS = { fp32: [1n, 4n], fp16: [1n, 2n], fp8: [1n, 1n], q4_0: [32n, 18n] };
const KEEPS = { used: "what is used", reserved: "full length reserved" };
const SAID = { fp32: "fp32", fp16: "fp16 or bf16", fp8: "fp8", q4_0: "4-bit (q4_0)" };
const CUSTOM = "Your own numbers";
const MOST_SEGMENTS = 64; // more sequences than that are drawn as one piece

// Bytes of one layer after so many tokens: its terms are [rows, limit, numbers a row, bytes], as in kv_calc.py.
export function layerBytes(terms, tokens, dtype) {
  const stored = (bytes) => (bytes > 0 ? BigInt(bytes) : bytes < 0 && CACHE[dtype] < 2n ? 2n : CACHE[dtype]);
  const kept = (rows, limit) => (rows === "always" || (limit && tokens > limit) ? limit : tokens);
  return terms.reduce((sum, [rows, limit, numbers, bytes]) => sum + BigInt(kept(rows, limit)) * BigInt(numbers) * stored(bytes), 0n);
}

function mixedBytes(input, tokens) {
  return input.groups.reduce((sum, group) => sum + BigInt(group.count) * layerBytes(group[input.keeps], tokens, input.dtype), 0n);
}

export function figures(input) {
  const n = (key) => BigInt(input[key]);
  const mixed = input.groups.length > 0;
  const product = 2n * n("layers") * n("kv_heads") * n("head_dim") * CACHE[input.dtype];
  const perSequence = mixed ? mixedBytes(input, input.tokens) : product * n("tokens");
  const perToken = mixed ? mixedBytes(input, input.tokens + 1) - perSequence : product;
  const [group, bytes] = WEIGHTS[input.weights];
  const weights = ((n("parameters") + group - 1n) / group) * bytes;
  return { perToken, perSequence, total: perSequence * n("sequences"), weights, passes: weights / perSequence + 1n };
}

// "2.00 GiB" by 1024, "2.15 GB" by 1000: two decimals, half up, as kvcourse.units.format_size.
export function formatSize(size, binary) {
  const step = binary ? 1024n : 1000n;
  const names = binary ? ["KiB", "MiB", "GiB", "TiB"] : ["kB", "MB", "GB", "TB"];
  if (size < step) return `${size} B`;
  let unit = step;
  let power = 0;
  while (power < 3 && 200n * size + unit >= 200n * step * unit) {
    unit *= step;
    power += 1;
  }
  const hundredths = (200n * size + unit) / (2n * unit);
  return `${hundredths / 100n}.${String(hundredths % 100n).padStart(2, "0")} ${names[power]}`;
}

const both = (size) => (size < 1000n ? formatSize(size, true) : `${formatSize(size, true)} (${formatSize(size, false)})`);

function times(total, weights) {
  const hundredths = Number((total * 1000n) / weights) / 1000;
  return hundredths < 0.01 ? "less than 0.01" : hundredths.toFixed(2);
}

function field(label, input) {
  return node("label", { className: "kv-field" }, node("span", { textContent: label }), input);
}

function choice(label, options, onChange) {
  const select = control(node("select", {}, ...options.map(([value, text]) => node("option", { value, textContent: text }))));
  select.addEventListener("change", () => onChange(select.value));
  return { element: field(label, select), show: (value) => { select.value = value; } };
}

// A number to type; `scale` says how many of the model's units one unit of the field is. Refuses with a sentence.
function quantity(label, most, onInput, scale = 1) {
  const top = most / scale;
  const input = control(node("input", { type: "number", min: scale === 1 ? 1 : 0, max: top, step: scale === 1 ? 1 : "any", inputMode: "decimal" }));
  const self = {
    element: field(label, input),
    fault: "",
    show(value) {
      if (document.activeElement !== input || self.read() !== value) input.value = scale === 1 ? value : Number((value / scale).toPrecision(6));
      self.mark("");
    },
    read() {
      const value = input.value.trim() === "" ? NaN : Number(input.value) * scale;
      return scale === 1 ? value : Math.round(value);
    },
    mark(fault) {
      self.fault = fault;
      input.setAttribute("aria-invalid", fault ? "true" : "false");
    },
  };
  input.addEventListener("input", () => {
    const value = self.read();
    const good = Number.isInteger(value) && value >= 1 && value <= most;
    self.mark(good ? "" : `${label}: expected a ${scale === 1 ? "whole number from 1" : "number above 0, up"} to ${top.toLocaleString("en")}.`);
    onInput(good ? value : null);
  });
  return self;
}

function slider(label, min, max, onInput) {
  const input = control(node("input", { type: "range", min, max, step: 1 }));
  input.setAttribute("aria-label", label);
  input.addEventListener("input", () => onInput(Number(input.value)));
  return {
    element: input,
    show(value, text) {
      input.value = value;
      input.setAttribute("aria-valuetext", text);
    },
  };
}

// Two bars to one scale: the weights, and the caches with one segment a sequence, hatched from the passing one on.
function bars() {
  const weights = node("span", { className: "kv-bar kv-bar-weights" });
  const caches = node("span", { className: "kv-bar kv-bar-caches" });
  const element = node("div", { className: "kv-bars" },
    node("span", { textContent: "weights" }), node("div", { className: "kv-track" }, weights),
    node("span", { textContent: "caches" }), node("div", { className: "kv-track" }, caches));
  element.setAttribute("role", "img");
  return {
    element,
    show(found, sequences) {
      const most = found.total > found.weights ? found.total : found.weights;
      const share = (size) => `${Number((size * 10000n) / most) / 100}%`;
      weights.style.width = share(found.weights);
      caches.style.width = share(found.total);
      const segments = sequences <= MOST_SEGMENTS ? sequences : 1;
      while (caches.children.length > segments) caches.lastChild.remove();
      while (caches.children.length < segments) caches.append(node("span"));
      [...caches.children].forEach((segment, i) => {
        segment.className = segments === sequences && BigInt(i + 1) >= found.passes ? "kv-over" : "";
      });
      element.setAttribute("aria-label", `weights ${formatSize(found.weights, true)}, caches ${formatSize(found.total, true)}`);
    },
  };
}

// The kinds of layers of a model whose layers differ, each with its share of one sequence.
function kinds() {
  const element = node("ul", { className: "kv-kinds" });
  return {
    element,
    show(input) {
      element.replaceChildren(...input.groups.map((group) => {
        const size = BigInt(group.count) * layerBytes(group[input.keeps], input.tokens, input.dtype);
        return node("li", {}, `${number(group.count)} × ${group.said}: `, node("b", { textContent: formatSize(size, true) }));
      }));
    },
  };
}

function sizes() {
  const cells = {};
  const body = node("tbody");
  for (const key of ["perToken", "perSequence", "total", "weights"]) {
    const head = node("th", { scope: "row" });
    const row = node("tr", {}, head);
    cells[key] = { head };
    for (const side of ["binary", "decimal"]) {
      cells[key][side] = node("td", { className: "kv-num" });
      cells[key][side].dataset.size = `${key}-${side}`;
      row.append(cells[key][side]);
    }
    body.append(row);
  }
  const heads = ["", "by 1024", "by 1000"].map((text) => node(text ? "th" : "td", text ? { scope: "col", textContent: text } : {}));
  return { element: node("table", { className: "kv-sizes" }, node("thead", {}, node("tr", {}, ...heads)), body), cells };
}

function render({ model, el }) {
  box(el, "kv-kv-calc", "Calculator: what a KV cache costs");
  const models = model.get("models");
  const shape = ["layers", "kv_heads", "head_dim", "parameters"];
  const set = (values) => {
    for (const key of Object.keys(values)) numbers[key]?.mark(""); // what was typed there gives way
    store(model, values);
    draw();
  };
  const typed = (key) => (value) => {
    if (value === null) return draw();
    const changed = { [key]: value };
    if (shape.includes(key)) Object.assign(changed, { model: CUSTOM, groups: key === "parameters" ? model.get("groups") : [] });
    set(changed);
  };
  const named = choice("Model", [...models.map(({ name }) => [name, name]), [CUSTOM, CUSTOM]], (name) => {
    const found = models.find((each) => each.name === name);
    set({ model: name, ...(found ? Object.fromEntries([...shape, "groups"].map((key) => [key, found[key]])) : { groups: [] }) });
  });
  const numbers = {
    layers: quantity("Layers", MOST.layers, typed("layers")),
    kv_heads: quantity("KV heads", MOST.kv_heads, typed("kv_heads")),
    head_dim: quantity("Head width", MOST.head_dim, typed("head_dim")),
    parameters: quantity("Parameters, billions", MOST.parameters, typed("parameters"), 1e9),
    tokens: quantity("Tokens a sequence", MOST.tokens, typed("tokens")),
    sequences: quantity("Sequences", MOST.sequences, typed("sequences")),
  };
  const dtype = choice("Cache stored in", Object.keys(CACHE).map((key) => [key, SAID[key]]), (value) => set({ dtype: value }));
  const weights = choice("Weights stored in", Object.keys(WEIGHTS).map((key) => [key, SAID[key]]), (value) => set({ weights: value }));
  const keeps = choice("Layers with a window", Object.entries(KEEPS), (value) => set({ keeps: value }));
  const powers = slider("Tokens a sequence, in powers of two", 0, 20, (power) => set({ tokens: 2 ** power }));
  const few = slider("Sequences, 1 to 64", 1, 64, (value) => set({ sequences: value }));
  const product = node("p", { className: "kv-product" });
  const listed = kinds();
  const table = sizes();
  const drawn = bars();
  const status = statusLine();

  const state = [...shape, "groups", "keeps", "tokens", "sequences", "dtype", "weights"];
  function draw() {
    const input = Object.fromEntries(state.map((key) => [key, model.get(key)]));
    const mixed = input.groups.length > 0;
    const windowed = input.groups.some((group) => JSON.stringify(group.used) !== JSON.stringify(group.reserved));
    for (const key of ["layers", "kv_heads", "head_dim"]) numbers[key].element.hidden = mixed;
    keeps.element.hidden = !windowed;
    listed.element.hidden = !mixed;
    keeps.show(input.keeps);
    named.show(model.get("model"));
    dtype.show(input.dtype);
    weights.show(input.weights);
    const faults = Object.values(numbers).map(({ fault }) => fault).filter(Boolean);
    el.classList.toggle("kv-faulty", faults.length > 0);
    if (faults.length) {
      status.textContent = faults[0];
      return;
    }
    for (const key of Object.keys(numbers)) numbers[key].show(input[key]);
    powers.show(Math.round(Math.log2(input.tokens)), counted(input.tokens, "token"));
    few.show(input.sequences, counted(input.sequences, "sequence"));
    const found = figures(input);
    listed.show(input);
    product.textContent = mixed ? "One sequence, by kind of layer:" :
      `2 (K and V) × ${counted(input.layers, "layer")} × ${counted(input.kv_heads, "KV head")} × ` +
      `${counted(input.head_dim, "number")} × ${counted(CACHE[input.dtype], "byte")} = ${number(found.perToken)} bytes a token`;
    const rows = {
      perToken: mixed ? "one more token" : "each token",
      perSequence: `one sequence of ${counted(input.tokens, "token")}`,
      total: `${counted(input.sequences, "such sequence")}`,
      weights: "the weights",
    };
    for (const [key, text] of Object.entries(rows)) {
      table.cells[key].head.textContent = text;
      table.cells[key].binary.textContent = formatSize(found[key], true);
      table.cells[key].decimal.textContent = formatSize(found[key], false);
    }
    drawn.show(found, input.sequences);
    status.textContent =
      `${counted(input.sequences, "cache")} of ${counted(input.tokens, "token")}: ${both(found.total)}, ` +
      `${times(found.total, found.weights)} times the weights. ` +
      `The caches pass the weights with sequence ${number(found.passes)}.`;
  }

  for (const key of ["model", ...state]) model.on(`change:${key}`, draw);
  el.append(
    node("div", { className: "kv-fields" }, named.element, numbers.layers.element, numbers.kv_heads.element,
      numbers.head_dim.element, keeps.element, dtype.element, numbers.parameters.element, weights.element),
    node("div", { className: "kv-fields kv-amounts" },
      node("div", {}, numbers.tokens.element, powers.element), node("div", {}, numbers.sequences.element, few.element)),
    product,
    listed.element,
    status,
    drawn.element,
    table.element,
  );
  draw();
}

export default { render };
