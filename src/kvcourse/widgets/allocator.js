// A small pool of KV slots under four ways of handing it out, step by step. Runs in anywidget and in the site's host.
// The allocators and the server's loop are those of kvcourse.reservation; a test runs both on the same requests.

import { box, button, control, counted, groupName, node, player, slider, statusLine, store } from "./common.js";

const SLOTS = 140;
const LONGEST = 32;
const BLOCK = 4;
const WATERMARK = 4;
const STEPS = 48;
const MOST_ADDED = 20;

const POLICIES = { max: "Maximum length", pow2: "Power of two", oracle: "Oracle", paged: "Paged" };
// What a slot is: key, what the table calls it.
const KINDS = [
  ["token", "tokens stored"],
  ["reserved", "reserved, will be used"],
  ["internal", "never used: internal"],
  ["rounding", "rounded up: external & other"],
  ["free", "free: external & other"],
];

const powerOfTwo = (n) => 2 ** Math.ceil(Math.log2(n));

// Equal slabs, cut once: the slab freed last goes out first.
function slabs() {
  const free = Array.from({ length: Math.floor(SLOTS / LONGEST) }, (_, i) => i * LONGEST).reverse();
  const rest = SLOTS % LONGEST;
  return {
    allocate: () => (free.length ? { start: free.pop(), size: LONGEST } : null),
    free: ({ start }) => free.push(start),
    holes: () => [...free.map((start) => ({ start, size: LONGEST })), ...(rest ? [{ start: SLOTS - rest, size: rest }] : [])],
  };
}

// Regions of powers of two that split and merge again: a region's buddy starts at `start ^ size`.
function buddies() {
  const free = new Map(); // start -> size
  for (let size = powerOfTwo(SLOTS + 1), start = 0; size >= 1; size /= 2) {
    if (SLOTS & size) {
      free.set(start, size);
      start += size;
    }
  }
  return {
    allocate(asked) {
      const wanted = powerOfTwo(asked);
      const fitting = [...free].filter(([, size]) => size >= wanted).sort((a, b) => a[1] - b[1] || a[0] - b[0]);
      if (!fitting.length) return null;
      let [start, size] = fitting[0];
      free.delete(start);
      while (size > wanted) {
        size /= 2;
        free.set(start + size, size); // keep the lower half
      }
      return { start, size };
    },
    free({ start, size }) {
      while (free.get(start ^ size) === size) {
        free.delete(start ^ size);
        start &= ~size;
        size *= 2;
      }
      free.set(start, size);
    },
    holes: () => [...free].map(([start, size]) => ({ start, size })),
  };
}

// One region a request, reserved when it is admitted and freed whole when it ends.
function contiguous(policy) {
  const { allocate, free, holes } = policy === "max" ? slabs() : buddies();
  const asks = ({ stored, final }) =>
    ({ max: LONGEST, pow2: Math.min(stored + powerOfTwo(final - stored), LONGEST), oracle: final })[policy];
  return {
    asks,
    holes,
    admit(request) {
      request.asked = asks(request);
      request.region = allocate(request.asked);
      return request.region !== null;
    },
    append: () => true, // its slot is there already
    finish: (request) => free(request.region),
    paint({ region, stored, final, asked }) {
      return Array.from({ length: region.size }, (_, i) => [
        region.start + i,
        i < stored ? "token" : i < final ? "reserved" : i < asked ? "internal" : "rounding",
      ]);
    },
  };
}

// Blocks anywhere, taken when tokens need them; the newest request gives way when there is none left.
function paged() {
  const free = Array.from({ length: Math.floor(SLOTS / BLOCK) }, (_, i) => i);
  const asks = ({ stored }) => Math.ceil(stored / BLOCK);
  return {
    asks: (request) => asks(request) * BLOCK,
    holes: () => free.map((block) => ({ start: block * BLOCK, size: BLOCK })),
    admit(request) {
      if (asks(request) + WATERMARK > free.length) return false; // an empty pool has room for both
      request.blocks = free.splice(0, asks(request));
      return true;
    },
    append({ blocks, stored }) {
      if (stored % BLOCK) return true;
      if (!free.length) return false;
      blocks.push(free.shift());
      return true;
    },
    finish: ({ blocks }) => free.unshift(...blocks.reverse()),
    paint({ blocks, stored, final }) {
      return blocks.flatMap((block, number) =>
        Array.from({ length: BLOCK }, (_, i) => {
          const position = number * BLOCK + i;
          return [block * BLOCK + i, position < stored ? "token" : position < final ? "reserved" : "internal"];
        }),
      );
    },
  };
}

// The server: each step admits what fits, first come, first served, and stores a token for each running request.
// `requests` are [prompt, output]; `added` are [step, prompt, output], at the head of the queue in that step.
// Returns what each step shows, before its complete requests leave.
export function run(policy, requests, added) {
  const pool = policy === "paged" ? paged() : contiguous(policy);
  const request = ([prompt, output], id) => ({ id, stored: prompt, final: prompt + output });
  const waiting = requests.map(request);
  const frames = [];
  let running = [];
  let finished = 0;
  let preempted = 0;
  for (let step = 1; step <= STEPS; step++) {
    added.forEach(([when, ...lengths], i) => {
      if (when === step) waiting.unshift(request(lengths, requests.length + i));
    });
    while (waiting.length && pool.admit(waiting[0])) running.push(waiting.shift());
    const head = waiting[0] && { id: waiting[0].id, asks: pool.asks(waiting[0]) };
    for (const each of [...running]) {
      while (running.includes(each) && !pool.append(each)) {
        const newest = running.pop();
        pool.finish(newest);
        waiting.unshift(newest);
        preempted += 1;
      }
      if (running.includes(each)) each.stored += 1;
    }
    const slots = Array.from({ length: SLOTS }, () => ["free", null]); // what it is, whose
    for (const each of running) {
      for (const [slot, kind] of pool.paint(each)) slots[slot] = [kind, each.id];
    }
    const numbers = { running: running.length, waiting: waiting.length, finished, preempted };
    frames.push({ slots, holes: pool.holes(), head, ...numbers });
    for (const each of running.filter(({ stored, final }) => stored === final)) pool.finish(each);
    finished += running.length;
    running = running.filter(({ stored, final }) => stored < final);
    finished -= running.length;
  }
  return frames;
}

// Percent of the slots of each kind, over all of the frames.
export function shares(frames) {
  const count = (kind) => frames.reduce((sum, { slots }) => sum + slots.filter(([each]) => each === kind).length, 0);
  return Object.fromEntries(KINDS.map(([kind]) => [kind, (100 * count(kind)) / (frames.length * SLOTS)]));
}

function policies(onChoose) {
  const name = groupName();
  const inputs = {};
  const labels = Object.entries(POLICIES).map(([policy, words]) => {
    inputs[policy] = control(node("input", { type: "radio", name, value: policy }));
    inputs[policy].addEventListener("change", () => onChoose(policy));
    return node("label", {}, inputs[policy], node("span", { textContent: words }));
  });
  const element = node("fieldset", { className: "kv-radios" }, node("legend", { textContent: "How much does a request get?" }), ...labels);
  return { element, show: (policy) => { inputs[policy].checked = true; } };
}

// The pool: a square for each slot, a request's number where one of its regions starts, a bar where a piece starts.
function memory() {
  const squares = Array.from({ length: SLOTS }, () => node("span"));
  const element = node("div", { className: "kv-memory" }, ...squares);
  element.setAttribute("role", "img");
  const show = ({ slots, holes }, policy) => {
    const starts = new Set(holes.map(({ start }) => start));
    squares.forEach((square, i) => {
      const [kind, id] = slots[i];
      const first = id === null ? starts.has(i) : !i || slots[i - 1][1] !== id || (policy === "paged" && i % BLOCK === 0);
      square.className = `kv-mem kv-mem-${kind}${first ? " kv-mem-first" : ""}`;
      square.textContent = first && id !== null ? id + 1 : "";
    });
    const counts = KINDS.map(([kind, words]) => `${slots.filter(([each]) => each === kind).length} ${words}`);
    element.setAttribute("aria-label", `The pool, ${SLOTS} slots: ${counts.join("; ")}`);
  };
  return { element, show };
}

// A table of text; returns its body's cells by row.
function table(className, heads, rows) {
  const cells = rows.map(() => heads.slice(1).map(() => node("td", { className: "kv-num" })));
  const body = rows.map((head, i) => node("tr", {}, node("th", { scope: "row" }, ...head), ...cells[i]));
  const top = heads.map((text) => node("th", { scope: "col", textContent: text }));
  return { element: node("table", { className }, node("thead", {}, node("tr", {}, ...top)), node("tbody", {}, ...body)), cells, body };
}

// Who is next in the queue, and why it is not in yet.
function waits(policy, { head, holes, waiting }) {
  if (!head) return "Nobody waits.";
  const free = holes.reduce((sum, { size }) => sum + size, 0);
  const largest = Math.max(0, ...holes.map(({ size }) => size));
  const room = policy === "paged"
    ? `${counted(free, "slot")} are free, ${WATERMARK * BLOCK} are kept for those that run`
    : `${counted(free, "slot")} are free, the largest piece has ${largest}`;
  return `${counted(waiting, "request")} wait${waiting === 1 ? "s" : ""}. The next, number ${head.id + 1}, asks for ` +
    `${counted(head.asks, "slot")}${policy === "paged" ? "" : " in one piece"}: ${room}.`;
}

function render({ model, el }) {
  box(el, "kv-allocator", "Allocator playground");
  const names = Object.keys(POLICIES);
  let seen = {};
  const simulate = () => {
    seen = Object.fromEntries(names.map((policy) => [policy, run(policy, model.get("requests"), model.get("added"))]));
    draw();
  };
  const set = (values) => store(model, values);
  const goTo = (step) => set({ step: Math.min(Math.max(step, 1), STEPS) });

  const status = statusLine();
  const { play, pause, leave } = player({ at: () => model.get("step"), last: () => STEPS, goTo, status, draw });
  const act = (action) => (value) => {
    pause();
    action(value);
  };

  const choice = policies(act((policy) => set({ policy })));
  const step = slider("Step", 1, STEPS, act(goTo));
  const back = button("Back", act(() => goTo(model.get("step") - 1)));
  const next = button("Next", act(() => goTo(model.get("step") + 1)));
  const over = button("Start over", act(() => set({ step: 1, added: [] })));

  const lengths = { prompt: 4, output: 8 };
  const own = ["prompt", "output"].map((key) => slider(`Your ${key}`, 1, LONGEST / 2, (value) => {
    lengths[key] = value;
    draw();
  }));
  const add = button("Add it to the head of the queue", act(() => {
    const now = Math.min(model.get("step") + 1, STEPS);
    set({ added: [...model.get("added"), [now, lengths.prompt, lengths.output]], step: now });
  }));

  const pool = memory();
  const kinds = table("kv-kinds", ["Slots of the pool", "now", "so far"], KINDS.map(([kind, words]) =>
    [node("span", { className: "kv-kind" }, node("span", { className: `kv-mem kv-mem-${kind}` }), words)]));
  const all = table("kv-policies", ["So far", "tokens stored", "at once", "finished"], names.map((policy) => [POLICIES[policy]]));

  function draw() {
    const policy = model.get("policy");
    const now = model.get("step");
    const frame = seen[policy][now - 1];
    choice.show(policy);
    step.show(now, `${now} of ${STEPS}`);
    own.forEach(({ show }, i) => show(Object.values(lengths)[i], counted(Object.values(lengths)[i], "token")));
    add.disabled = model.get("added").length >= MOST_ADDED || now === STEPS;
    pool.show(frame, policy);
    const [present, sofar] = [shares([frame]), shares(seen[policy].slice(0, now))];
    KINDS.forEach(([kind], i) => {
      kinds.cells[i][0].textContent = `${present[kind].toFixed(1)} %`;
      kinds.cells[i][1].textContent = `${sofar[kind].toFixed(1)} %`;
    });
    names.forEach((name, i) => {
      const frames = seen[name].slice(0, now);
      const atOnce = frames.reduce((sum, { running }) => sum + running, 0) / now;
      const values = [`${shares(frames).token.toFixed(1)} %`, atOnce.toFixed(1), frames[now - 1].finished];
      values.forEach((value, j) => { all.cells[i][j].textContent = value; });
      all.body[i].classList.toggle("kv-current", name === policy);
    });
    const again = frame.preempted ? `, ${frame.preempted} times one gave its blocks back` : "";
    status.textContent =
      `Step ${now} of ${STEPS}, ${POLICIES[policy].toLowerCase()}: ${counted(frame.running, "request")} ` +
      `run${frame.running === 1 ? "s" : ""}, ${frame.finished} finished${again}. ${waits(policy, frame)}`;
  }

  for (const key of ["policy", "step"]) model.on(`change:${key}`, draw);
  for (const key of ["requests", "added"]) model.on(`change:${key}`, simulate);
  el.append(
    choice.element,
    node("div", { className: "kv-sliders" }, step.element),
    node("div", { className: "kv-buttons" }, back, next, play, over),
    status,
    pool.element,
    kinds.element,
    all.element,
    node("div", { className: "kv-sliders" }, ...own.map(({ element }) => element), node("div", { className: "kv-buttons" }, add)),
  );
  simulate();
  return leave;
}

export default { render };
