// Block tables and their pool, operation by operation. Runs in anywidget and in the site's host.
// The state is the list of operations, e.g. ["start", "A", 6]; it is replayed at each drawing.

import { box, button, control, counted, groupName, node, statusLine, store } from "./common.js";

const SLOTS = 48;
const BLOCK_SIZES = [2, 4, 8, 16];
const NAMES = "ABCDE";
const MOST_TOKENS = 16;
const START_TOKENS = 5;

export function newPool(blockSize) {
  const count = SLOTS / blockSize;
  return {
    blockSize,
    refs: Array(count).fill(0),
    free: Array.from({ length: count }, (_, block) => block), // in the order in which they go out
    tables: {}, // name: { blocks, tokens }, in the order of their start
    copied: 0,
  };
}

// Carry out one operation, or refuse it: then nothing has changed. Says what happened, for the status line.
// The same rules, in the same order, as kvcourse.blocks.BlockManager without prefix caching.
export function apply(pool, operation) {
  const [kind, name] = operation;
  if (!["start", "append", "fork", "free"].includes(kind)) return { refused: "Unknown", kind, name };
  const table = pool.tables[name];
  if ((kind === "start") === Boolean(table)) return { refused: "SequenceError", kind, name };
  if (kind === "fork") return fork(pool, table, name, operation[2]);
  if (kind === "free") return release(pool, table, name);
  return grow(pool, table, kind, name, operation[2]);
}

function grow(pool, table, kind, name, count) {
  const before = table ? table.tokens : 0;
  const inAll = Math.ceil((before + count) / pool.blockSize);
  if (inAll > pool.refs.length) return { refused: "SequenceTooLong", kind, name, needed: inAll };
  const filled = before % pool.blockSize;
  const last = table?.blocks.at(-1);
  const shared = filled > 0 && pool.refs[last] > 1;
  const missing = inAll - (table ? table.blocks.length : 0);
  const needed = missing + (shared ? 1 : 0);
  if (needed > pool.free.length) return { refused: "OutOfBlocks", kind, name, needed };

  const grown = table || (pool.tables[name] = { blocks: [], tokens: 0 });
  const take = () => {
    const block = pool.free.shift();
    pool.refs[block] = 1;
    return block;
  };
  let copy = null;
  if (shared) {
    copy = { source: last, target: take(), tokens: filled, others: holders(pool, last).filter((other) => other !== name) };
    pool.refs[last] -= 1;
    grown.blocks[grown.blocks.length - 1] = copy.target;
    pool.copied += 1;
  }
  const fresh = Array.from({ length: missing }, take);
  grown.blocks.push(...fresh);
  grown.tokens += count;
  return { kind, name, count, copy, fresh, into: filled ? grown.blocks[inAll - missing - 1] : null };
}

function fork(pool, table, name, child) {
  if (pool.tables[child]) return { refused: "SequenceError", kind: "fork", name: child };
  for (const block of table.blocks) pool.refs[block] += 1;
  pool.tables[child] = { blocks: [...table.blocks], tokens: table.tokens };
  return { kind: "fork", name, child };
}

// The last block goes back first, and to the front of the free list.
function release(pool, table, name) {
  const released = [];
  const kept = [];
  for (const block of [...table.blocks].reverse()) {
    pool.refs[block] -= 1;
    (pool.refs[block] ? kept : released).push(block);
  }
  pool.free.unshift(...released);
  delete pool.tables[name];
  return { kind: "free", name, released, kept };
}

// The pool after as many operations as can be done, how many these are, and what the last of them did.
export function replay(operations, blockSize) {
  const pool = newPool(blockSize);
  let event = null;
  for (const [done, operation] of operations.entries()) {
    const next = apply(pool, operation);
    if (next.refused) return { pool, done, event };
    event = next;
  }
  return { pool, done: operations.length, event };
}

export function locate(pool, name, position) {
  const { blocks } = pool.tables[name];
  const number = Math.floor(position / pool.blockSize);
  const offset = position % pool.blockSize;
  return { number, block: blocks[number], offset, slot: blocks[number] * pool.blockSize + offset };
}

export function holders(pool, block) {
  return Object.keys(pool.tables).filter((name) => pool.tables[name].blocks.includes(block));
}

// Written slots of a block; where several sequences hold it, those of the longest.
export function written(pool, block) {
  return Math.max(0, ...Object.values(pool.tables).map(({ blocks, tokens }) => {
    const number = blocks.indexOf(block);
    return number < 0 ? 0 : Math.min(pool.blockSize, tokens - number * pool.blockSize);
  }));
}

const listed = (items) => (items.length < 2 ? items.join("") : `${items.slice(0, -1).join(", ")} and ${items.at(-1)}`);
const named = (blocks) => `block${blocks.length === 1 ? "" : "s"} ${listed(blocks)}`;
const percent = (part, whole) => `${Math.round((100 * part) / whole)}\u00a0%`;

function told(event, pool) {
  const { kind, name, count, copy, fresh } = event;
  if (event.refused === "OutOfBlocks") {
    return `Refused, out of blocks: ${kind === "start" ? "starting" : "appending to"} ${name} needs ` +
      `${counted(event.needed, "free block")}, and ${pool.free.length} ${pool.free.length === 1 ? "is" : "are"} free. ` +
      "Nothing has changed. Free a sequence, then try again.";
  }
  if (event.refused === "SequenceTooLong") {
    return `Refused: ${name} would need ${counted(event.needed, "block")}, and the whole pool has ${pool.refs.length}. Waiting will not help.`;
  }
  if (event.refused) return `Refused: there is no sequence ${name} to ${kind}, or its name is taken.`;
  if (kind === "start") return `${name} starts with ${counted(count, "token")}: ${named(fresh)} left the free list.`;
  if (kind === "fork") {
    const { blocks } = pool.tables[event.child];
    return `${event.child} is a fork of ${name}: it got a copy of the table, and the reference ${blocks.length === 1 ? "count" : "counts"} ` +
      `of ${named(blocks)} went up. No block was copied.`;
  }
  if (kind === "free") {
    const back = event.released.length ? `${named(event.released)} went back to the front of the free list` : "no block went back";
    const stay = event.kept.length ? `; ${named(event.kept)} ${event.kept.length === 1 ? "stays" : "stay"}, for others hold ${event.kept.length === 1 ? "it" : "them"}` : "";
    return `${name} ends: ${back}${stay}.`;
  }
  const more = fresh.length ? ` ${named(fresh).replace("b", "B")} left the free list.` : "";
  if (copy) {
    return `Copy-on-write: ${listed(copy.others)} also ${copy.others.length === 1 ? "holds" : "hold"} block ${copy.source}. ` +
      `Its ${counted(copy.tokens, "written slot")} went to block ${copy.target}, and ${name} writes there.${more}`;
  }
  const where = event.into === null ? "" : ` into block ${event.into}`;
  return `${name} writes ${counted(count, "token")}${fresh.length ? "." : `${where}: no new block.`}${more}`;
}

// The sequences: choose one; beside it its table, an entry for each block.
function tablesPanel(onChoose) {
  const group = groupName();
  const rows = Object.fromEntries([...NAMES].map((name) => {
    const input = control(node("input", { type: "radio", name: group, value: name }));
    input.addEventListener("change", () => onChoose(name));
    const tokens = node("span", { className: "kv-tokens" });
    const entries = node("span", { className: "kv-entries" });
    entries.setAttribute("aria-hidden", "true"); // the label says it in words
    const heard = node("span", { className: "kv-heard" });
    const label = node("label", {}, input, node("b", { className: `kv-tag kv-of-${name}`, textContent: name }), tokens, heard);
    return [name, { row: node("div", { className: "kv-sequence" }, label, entries), input, tokens, entries, heard }];
  }));
  const none = node("p", { className: "kv-none", textContent: "No sequence. Start one." });
  const element = node("fieldset", { className: "kv-tables" },
    node("legend", { textContent: "Block tables" }), ...Object.values(rows).map(({ row }) => row), none);
  return {
    element,
    show(pool, chosen, number) {
      none.hidden = Object.keys(pool.tables).length > 0;
      for (const [name, { row, input, tokens, entries, heard }] of Object.entries(rows)) {
        const table = pool.tables[name];
        row.hidden = !table;
        if (!table) continue;
        input.checked = name === chosen;
        tokens.textContent = counted(table.tokens, "token");
        heard.textContent = `block table ${table.blocks.join(", ")}`;
        entries.replaceChildren(...table.blocks.map((block, i) => {
          const entry = node("span", { className: "kv-entry" }, node("small", { textContent: i }), node("span", { textContent: block }));
          entry.classList.toggle("kv-chosen", name === chosen && i === number);
          return entry;
        }));
      }
    },
  };
}

// The pool: a box for each block with its holders, its reference count and its slots.
function poolPanel() {
  const title = node("p", { className: "kv-panel-title" });
  const grid = node("div", { className: "kv-pool" });
  grid.setAttribute("role", "group");
  grid.setAttribute("aria-label", "Physical pool");
  const order = node("p", { className: "kv-free-list" });
  return {
    element: node("div", { className: "kv-panel" }, title, grid, order),
    show(pool, place, copy) {
      title.textContent = `The pool: ${pool.refs.length} blocks of ${pool.blockSize} slots`;
      grid.style.setProperty("--kv-slots", Math.min(pool.blockSize, 8));
      grid.replaceChildren(...pool.refs.map((refs, block) => drawnBlock(pool, block, refs, place, copy)));
      order.textContent = pool.free.length ? `Free, the next one first: ${pool.free.join(" ")}` : "Free: none";
    },
  };
}

function drawnBlock(pool, block, refs, place, copy) {
  const owners = holders(pool, block);
  const full = written(pool, block);
  const state = refs === 0 ? "free" : refs > 1 ? "shared" : "own";
  const slots = Array.from({ length: pool.blockSize }, (_, offset) => {
    const slot = node("span", { className: `kv-slot kv-slot-${refs === 0 ? "free" : offset < full ? state : "empty"}` });
    if (state === "own" && offset < full) slot.classList.add(`kv-of-${owners[0]}`);
    if (place?.block === block && place.offset === offset) slot.classList.add("kv-chosen");
    return slot;
  });
  const copied = copy?.target === block;
  const head = node("span", { className: "kv-block-head" }, node("span", { className: "kv-block-id", textContent: block }),
    node("span", { className: "kv-refs", textContent: refs }));
  const tags = owners.map((name) => node("b", { className: `kv-tag kv-of-${name}`, textContent: name }));
  const box = node("div", { className: `kv-block kv-block-${state}` }, head, node("span", { className: "kv-owners" }, ...tags),
    node("span", { className: "kv-slots" }, ...slots));
  box.dataset.block = block;
  box.dataset.refs = refs;
  if (copied) {
    box.classList.add("kv-copied");
    box.append(node("small", { textContent: `copied from ${copy.source}` }));
  }
  box.setAttribute("role", "img");
  box.setAttribute("aria-label", `block ${block}: ` + (refs === 0 ? "free" :
    `held by ${listed(owners)}, reference count ${refs}, ${full} of ${pool.blockSize} slots written`) +
    (copied ? `, copied from block ${copy.source}` : ""));
  return box;
}

function legend() {
  const items = [["own", "written, one holder"], ["shared", "written, shared"], ["empty", "held, not written"], ["free", "free"]];
  return node("ul", { className: "kv-legend" }, ...items.map(([state, words]) => {
    const slot = node("span", { className: `kv-slot kv-slot-${state}` });
    if (state === "own") slot.classList.add("kv-of-A");
    return node("li", {}, slot, words);
  }), node("li", {}, node("span", { className: "kv-refs", textContent: "2" }), "reference count"));
}

function gauges() {
  const rows = [["blocks", "Blocks in use"], ["slots", "Slots written"], ["alone", "Blocks if nothing were shared"], ["copied", "Blocks copied so far"]];
  const cells = {};
  const element = node("table", { className: "kv-gauges" }, node("tbody", {}, ...rows.map(([key, words]) => {
    cells[key] = node("td", { className: "kv-num" });
    cells[key].dataset.gauge = key;
    return node("tr", {}, node("th", { scope: "row", textContent: words }), cells[key]);
  })));
  return {
    element,
    show(pool) {
      const blocks = pool.refs.length;
      const used = blocks - pool.free.length;
      const slots = pool.refs.reduce((sum, _, block) => sum + written(pool, block), 0);
      cells.blocks.textContent = `${used} of ${blocks} = ${percent(used, blocks)}`;
      cells.slots.textContent = `${slots} of ${SLOTS} = ${percent(slots, SLOTS)}`;
      cells.alone.textContent = Object.values(pool.tables).reduce((sum, table) => sum + table.blocks.length, 0);
      cells.copied.textContent = pool.copied;
    },
  };
}

function render({ model, el }) {
  box(el, "kv-block-table", "Explorer of block tables");
  const first = { operations: model.get("operations"), sequence: model.get("sequence"), position: model.get("position"), block_size: model.get("block_size") };
  let note = ""; // what the reader just did, where the last operation does not say it
  const set = (values, said = "") => {
    store(model, values);
    note = said; // last, for a changed list of operations clears it
    draw();
  };
  const now = () => {
    const { pool, done, event } = replay(model.get("operations"), model.get("block_size"));
    const names = Object.keys(pool.tables);
    const chosen = names.includes(model.get("sequence")) ? model.get("sequence") : names.at(-1);
    return { pool, done, event, chosen, operations: model.get("operations").slice(0, done) };
  };
  // Try an operation; the list grows only by what was done.
  const attempt = (operation, choice = {}) => {
    const { pool, operations } = now();
    const event = apply(pool, operation);
    if (event.refused) set({ operations }, told(event, pool));
    else set({ operations: [...operations, operation], ...choice });
  };
  const onChosen = (act) => () => {
    const { chosen, pool } = now();
    if (!chosen) return set({}, "There is no sequence. Start one first.");
    act(chosen, pool);
  };
  // A sequence is shown at its newest token after it has grown.
  const append = (count) => onChosen((name, pool) => attempt(["append", name, count], { sequence: name, position: pool.tables[name].tokens + count - 1 }));
  const withName = (act) => {
    const { pool } = now();
    const name = [...NAMES].find((each) => !pool.tables[each]);
    if (!name) return set({}, `Refused: this explorer shows ${NAMES.length} sequences at most. Free one first.`);
    act(name);
  };
  const buttons = node("div", { className: "kv-buttons" },
    button("Append 1 token", append(1)),
    button("Append 4", append(4)),
    button("Fork", onChosen((parent, pool) => withName((child) => attempt(["fork", parent, child], { sequence: child, position: pool.tables[parent].tokens - 1 })))),
    button("Free", onChosen((name) => attempt(["free", name], { position: 0 }))),
    button("Start a sequence", () => withName((name) => attempt(["start", name, START_TOKENS], { sequence: name, position: START_TOKENS - 1 }))),
    button("Undo", () => {
      const { operations } = now();
      set({ operations: operations.slice(0, -1) }, operations.length ? "The last step is undone." : "There is nothing to undo.");
    }),
    button("Start over", () => set(first, "Back to the beginning.")));

  const size = control(node("select", {}, ...BLOCK_SIZES.map((value) => node("option", { value, textContent: `${value} tokens` }))));
  size.addEventListener("change", () => {
    const blockSize = Number(size.value);
    const { operations } = now();
    const { done } = replay(operations, blockSize);
    const lost = operations.length - done;
    set({ block_size: blockSize, operations: operations.slice(0, done) }, `The same steps in blocks of ${blockSize} tokens.` +
      (lost ? ` From step ${done + 1} on they do not fit, so ${counted(lost, "step")} ${lost === 1 ? "is" : "are"} left out.` : ""));
  });
  const position = control(node("input", { type: "range", min: 0, step: 1 }));
  position.addEventListener("input", () => {
    const { chosen } = now();
    if (chosen) set({ sequence: chosen, position: Number(position.value) }, note);
  });
  const positionLabel = node("span");
  const status = statusLine();
  const formula = node("p", { className: "kv-formula" });
  const tables = tablesPanel((name) => set({ sequence: name, position: 0 }, note));
  const blocks = poolPanel();
  const figures = gauges();

  function draw() {
    const { pool, event, chosen } = now();
    const last = chosen ? pool.tables[chosen].tokens - 1 : 0;
    const at = Math.min(Math.max(model.get("position"), 0), last);
    const place = chosen ? locate(pool, chosen, at) : null;
    size.value = pool.blockSize;
    position.max = last;
    position.value = at;
    position.setAttribute("aria-valuetext", chosen ? `position ${at} of ${chosen}, slot ${place.slot}` : "no sequence");
    positionLabel.textContent = chosen ? `Position in ${chosen}, 0 to ${last}` : "Position";
    const steps = chosen
      ? [`Position ${at} of ${chosen}:`, `block = table[${at} // ${pool.blockSize}] = table[${place.number}] = ${place.block}`,
        `offset = ${at} % ${pool.blockSize} = ${place.offset}`, `slot = ${place.block} × ${pool.blockSize} + ${place.offset} = ${place.slot}`]
      : [];
    formula.replaceChildren(...steps.flatMap((step) => [node("span", { textContent: step }), " "])); // broken between steps only
    tables.show(pool, chosen, place?.number);
    blocks.show(pool, place, event?.copy);
    figures.show(pool);
    status.textContent = note || (event ? told(event, pool) : "All blocks are free.");
  }

  for (const key of ["block_size", "sequence", "position"]) model.on(`change:${key}`, draw);
  model.on("change:operations", () => { note = ""; draw(); });
  el.append(
    node("div", { className: "kv-choices" },
      node("label", { className: "kv-size" }, node("span", { textContent: "Block size" }), size),
      node("label", { className: "kv-position" }, positionLabel, position)),
    formula,
    node("div", { className: "kv-halves" }, tables.element, blocks.element),
    buttons,
    status,
    legend(),
    figures.element,
  );
  draw();
}

export default { render };
