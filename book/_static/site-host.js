// The static page's host for widgets in anywidget's form: no kernel, no require.js, no module loading, so that it
// also runs from a page opened straight from disk. The build puts the widgets before it, as kvWidgets[name].
(() => {
  // The part of anywidget's model that a widget uses.
  class Model {
    constructor(state) {
      this.state = state;
      this.listeners = {};
    }
    get(key) {
      return this.state[key];
    }
    set(key, value) {
      if (this.state[key] === value) return;
      this.state[key] = value;
      for (const listener of this.listeners[`change:${key}`] || []) listener();
    }
    on(event, listener) {
      (this.listeners[event] ||= []).push(listener);
    }
    save_changes() {}
  }

  function mount(el) {
    const widget = kvWidgets[el.dataset.module];
    if (!widget) throw new Error(`kvcourse: no widget "${el.dataset.module}" in this site`);
    widget.render({ model: new Model(JSON.parse(el.dataset.state)), el });
  }

  // Boxes to tick: their text becomes their label, and they keep their state in this browser, by page and place.
  function keepTicks() {
    document.querySelectorAll("input.task-list-item-checkbox").forEach((box, i) => {
      const label = document.createElement("label");
      const text = document.createElement("span");
      const parent = box.parentElement;
      text.append(...[...parent.childNodes].filter((node) => node !== box));
      label.append(box, text);
      parent.prepend(label);
      const key = `kvcourse-tick:${location.pathname}:${i}`;
      try {
        box.checked = localStorage.getItem(key) === "1" || box.checked;
        box.addEventListener("change", () => localStorage.setItem(key, box.checked ? "1" : "0"));
      } catch {
        // Storage may be closed to pages (private windows): the box then lasts as long as the page.
      }
    });
  }

  // What is wider than the screen must be reachable by keyboard to be scrolled, and only that.
  function markScrollable() {
    for (const el of document.querySelectorAll(".katex-display, .kv-scroll, .tag_keep-lines .cell_output pre")) {
      const wide = el.scrollWidth > el.clientWidth + 1;
      if (wide && !el.hasAttribute("tabindex")) {
        el.tabIndex = 0;
        el.setAttribute("role", "group");
        if (!el.hasAttribute("aria-label")) el.setAttribute("aria-label", "Scrolls sideways");
      } else if (!wide) {
        el.removeAttribute("tabindex");
      }
    }
  }

  for (const el of document.querySelectorAll(".kv-widget[data-module]")) {
    try {
      mount(el);
    } catch (error) {
      console.error(error); // one broken widget must not stop the others
    }
  }
  keepTicks();
  markScrollable();
  addEventListener("resize", markScrollable);
  addEventListener("load", markScrollable); // fonts change widths
  document.addEventListener("toggle", markScrollable, true); // a fold opened
})();
