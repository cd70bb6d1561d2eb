// What outsiders believe, as a picture whose two ends can be dragged, or moved by the arrow keys.

import { bottom, path, picture, scale } from "./chart.js";
import { s, set } from "./dom.js";
import { nice, onGrid, shown, typed } from "./numbers.js";

const HEIGHT = 210;
const FLOOR = 150;
const TOP = 34;

/** The picture; `moved(low, high, ended)` hears texts while an end moves, and `ended` when it has been let go. */
export function beliefPicture({ label, moved }) {
  let state = { low: null, high: null, drawn: null, statistic: "" };
  let fixed = false;
  let frame = null; // the values at the left and right edge; stays while one drags
  let x = scale(0, 1, 0, 1);
  const area = s("path", { class: "belief-area" });
  const line = s("path", { class: "belief-line" });
  const window_ = s("rect", { class: "belief-window" });
  const windowText = s("text", { class: "belief-note", "text-anchor": "middle" });
  const empty = s("text", { class: "belief-note", "text-anchor": "middle" });
  const axis = s("g", {});
  const ends = ["low", "high"].map((name) => makeEnd(name));
  const drawing = picture({ label, height: HEIGHT, role: "group", shape: "belief", draw });
  drawing.svg.append(area, window_, line, windowText, axis, empty, ...ends.map((end) => end.element));

  function makeEnd(name) {
    const stem = s("line", { class: "end-stem", y1: TOP, y2: FLOOR });
    const grip = s("rect", { class: "end-grip", y: FLOOR - 30, width: 16, height: 30, rx: 4 });
    const value = s("text", { class: "end-value", y: TOP - 10, "text-anchor": "middle" });
    const touch = s("rect", { class: "end-touch", y: TOP - 26, width: 44, height: FLOOR - TOP + 46 });
    const element = s(
      "g",
      { role: "slider", tabindex: "0", class: "end", "aria-label": name === "low" ? "Lower end" : "Upper end", "aria-orientation": "horizontal" },
      touch,
      stem,
      grip,
      value,
    );
    element.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      if (fixed) return;
      element.focus({ preventScroll: true });
      element.setPointerCapture(event.pointerId);
      element.classList.add("held");
    });
    element.addEventListener("pointermove", (event) => {
      if (!element.hasPointerCapture(event.pointerId)) return;
      go(name, x.back(event.clientX - drawing.svg.getBoundingClientRect().left));
    });
    const let_go = (event) => {
      if (!element.classList.contains("held")) return;
      element.classList.remove("held");
      if (element.hasPointerCapture(event.pointerId)) element.releasePointerCapture(event.pointerId);
      finish();
    };
    element.addEventListener("pointerup", let_go);
    element.addEventListener("pointercancel", let_go);
    element.addEventListener("keydown", (event) => {
      const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 }[event.key];
      if (steps === undefined || state.low === null || fixed) return;
      event.preventDefault();
      go(name, state[name] + steps * step() * (event.shiftKey ? 10 : 1));
    });
    element.addEventListener("keyup", (event) => event.key.startsWith("Arrow") || event.key.startsWith("Page") ? finish() : null);
    element.addEventListener("blur", () => frame && finish());
    return { name, element, stem, grip, value, touch };
  }

  const step = () => nice((x.high - x.low) / 120);

  function go(name, value) {
    frame ??= [x.low, x.high];
    const grid = step();
    const other = name === "low" ? state.high : state.low;
    const kept = Math.min(frame[1], Math.max(frame[0], value));
    const wanted = Number(onGrid(kept, grid));
    if (name === "low" ? wanted >= other : wanted <= other) return;
    state = { ...state, [name]: wanted, drawn: null };
    drawing.redraw();
    moved(onGrid(state.low, grid), onGrid(state.high, grid), false);
  }

  function finish() {
    if (!frame) return;
    frame = null;
    moved(String(state.low), String(state.high), true);
    drawing.redraw();
  }

  function draw(svg, width) {
    const known = state.low !== null;
    for (const { element } of ends) element.style.display = known ? "" : "none";
    for (const part of [area, line, window_, windowText, axis]) part.style.display = known ? "" : "none";
    empty.style.display = known ? "none" : "";
    if (!known) {
      set(empty, { x: width / 2, y: HEIGHT / 2 });
      empty.textContent = "Give both ends above; then drag them here.";
      return;
    }
    const density = state.drawn;
    const from = density ? Math.min(state.low, density.x[0]) : state.low;
    const to = density ? Math.max(state.high, density.x.at(-1)) : state.high;
    const pad = (state.high - state.low) * 0.2;
    const [left, right] = frame ?? [Math.min(from, state.low - pad), Math.max(to, state.high + pad)];
    x = scale(left, right, 14, width - 14);
    const points = density ? density.x.map((value, i) => [value, density.density[i]]) : [[state.low, 1], [state.high, 1]];
    const most = Math.max(...points.map(([, value]) => value)) || 1;
    const y = (value) => FLOOR - (value / most) * (FLOOR - TOP - 22);
    const pixels = points.map(([value, height]) => [x(value), y(height)]);
    const closed = [[pixels[0][0], FLOOR], ...pixels, [pixels.at(-1)[0], FLOOR]];
    area.setAttribute("d", path(closed));
    line.setAttribute("d", path(closed));
    const window_at = density?.window;
    window_.style.display = windowText.style.display = window_at ? "" : "none";
    if (window_at) {
      const wide = Math.max(2, x(window_at[1]) - x(window_at[0]));
      const middle = (x(window_at[0]) + x(window_at[1])) / 2;
      set(window_, { x: middle - wide / 2, y: TOP + 18, width: wide, height: FLOOR - TOP - 18 });
      set(windowText, { x: Math.min(width - 80, Math.max(80, middle)), y: TOP + 12 });
      windowText.textContent = "a hit is this wide";
    }
    axis.replaceChildren(bottom(x, FLOOR, width, state.statistic));
    for (const { name, element, stem, grip, value, touch } of ends) {
      const at = x(state[name]);
      set(stem, { x1: at, x2: at });
      set(grip, { x: at - 8 });
      set(touch, { x: at - 22 });
      set(value, { x: Math.min(width - 30, Math.max(30, at)) });
      value.textContent = shown(state[name], 6);
      set(element, { "aria-valuemin": name === "low" ? left : state.low, "aria-valuemax": name === "low" ? state.high : right, "aria-valuenow": state[name], "aria-valuetext": shown(state[name], 6) });
    }
  }

  return {
    element: drawing.place,
    /** Lets the ends move no more. */
    freeze(wanted) {
      fixed = wanted;
      for (const { element } of ends) set(element, { "aria-disabled": wanted ? "true" : null });
    },
    /** Shows texts of two ends and, once known, the density. */
    update({ low, high, drawn, statistic }) {
      const [a, b] = [typed(low), typed(high)];
      if (frame) return; // one is dragging: what is dragged is newer
      state = a !== null && b !== null && a < b ? { low: a, high: b, drawn, statistic } : { low: null, high: null, drawn: null, statistic };
      drawing.redraw();
    },
  };
}
