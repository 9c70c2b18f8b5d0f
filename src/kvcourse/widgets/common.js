// What the widgets share. `host.module_source` puts it into each: neither JupyterLab nor a page on disk resolves imports.

const PLAY_MS = 700;

export const number = (value) => value.toLocaleString("en");
export const counted = (count, word) => `${number(count)} ${word}${Number(count) === 1 ? "" : "s"}`;

export function node(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

// JupyterLab takes arrow keys and letters from inputs that do not say this.
export const control = (element) => {
  element.dataset.lmSuppressShortcuts = "true";
  return element;
};

export function button(label, onClick) {
  const element = control(node("button", { type: "button", className: "kv-button", textContent: label }));
  element.addEventListener("click", onClick);
  return element;
}

export function slider(label, min, max, onInput) {
  const input = control(node("input", { type: "range", min, max, step: 1 }));
  const value = node("span", { className: "kv-value" });
  value.setAttribute("aria-hidden", "true"); // the slider itself says it (aria-valuetext)
  const element = node("div", { className: "kv-slider" }, node("label", {}, node("span", { textContent: label }), input), value);
  input.addEventListener("input", () => onInput(Number(input.value)));
  return {
    element,
    show(now, text, most = max) {
      input.max = most;
      input.value = now;
      value.textContent = text;
      input.setAttribute("aria-valuetext", text);
    },
  };
}

// A name for a group of radios: two widgets on a page must not share theirs.
export const groupName = () => `kv-${Math.random().toString(36).slice(2)}`;

// The widget's own element: its style's class, and what a screen reader calls it.
export function box(el, className, label) {
  el.classList.add("kv-box", className);
  el.setAttribute("role", "group");
  el.setAttribute("aria-label", label);
}

export function statusLine() {
  const element = node("p", { className: "kv-status" });
  element.setAttribute("aria-live", "polite");
  return element;
}

export function store(model, values) {
  for (const [key, value] of Object.entries(values)) model.set(key, value);
  model.save_changes();
}

// A Play button: a step every 0.7 s, from the first again where the last is shown. `at` and `last` say steps.
export function player({ at, last, goTo, status, draw }) {
  let timer = null;
  const play = button("Play", () => (timer === null ? start() : stop()));
  const start = () => {
    if (at() >= last()) goTo(1);
    play.textContent = "Pause";
    status.setAttribute("aria-live", "off"); // a sentence every 0.7 s would drown the reader
    timer = setInterval(() => {
      goTo(at() + 1);
      if (at() >= last()) stop();
    }, PLAY_MS);
  };
  const stop = () => {
    clearInterval(timer);
    timer = null;
    play.textContent = "Play";
    status.setAttribute("aria-live", "polite");
    draw();
  };
  return { play, pause: () => timer !== null && stop(), leave: () => clearInterval(timer) };
}
