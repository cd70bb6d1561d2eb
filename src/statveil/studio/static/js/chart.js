// Drawing: a picture as wide as its place, scales, axes and lines. Colours are in the style sheet.

import { h, s } from "./dom.js";
import { nice, shown } from "./numbers.js";

/**
 * A place that draws anew when its width changes. `draw(svg, width, height)` fills the picture; what it says stands in
 * `label`, for those who do not see it.
 */
export function picture({ label, height, draw, role = "img", shape = "" }) {
  const svg = s("svg", { role, "aria-label": label, class: `chart ${shape}`, height });
  const place = h("div", { class: "chart-place" }, svg);
  let width = 0;
  const redraw = () => {
    if (width < 40) return;
    svg.setAttribute("width", width);
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    draw(svg, width, height);
  };
  new ResizeObserver((entries) => {
    const wide = Math.floor(entries[0].contentRect.width);
    if (wide === width) return;
    width = wide;
    redraw();
  }).observe(place);
  return { place, svg, redraw };
}

/** A linear scale from values to pixels. */
export function scale(low, high, from, to) {
  const span = high - low || 1;
  const map = (value) => from + ((value - low) / span) * (to - from);
  map.back = (pixel) => low + ((pixel - from) / (to - from)) * span;
  map.low = low;
  map.high = high;
  return map;
}

/** Round numbers between two ends. */
export function ticks(low, high, about) {
  const step = nice((high - low) / Math.max(1, about));
  if (!Number.isFinite(step) || step <= 0) return [low];
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i += 1) found.push(i * step);
  return found;
}

/** The horizontal axis, with its title below. */
export function bottom(x, y, width, title, text = (value) => shown(value, 3)) {
  const marks = ticks(x.low, x.high, Math.max(2, Math.floor(width / 110)));
  return s(
    "g",
    { class: "axis" },
    s("line", { x1: x(x.low), x2: x(x.high), y1: y, y2: y }),
    marks.map((value) => [
      s("line", { x1: x(value), x2: x(value), y1: y, y2: y + 5 }),
      s("text", { x: x(value), y: y + 19, "text-anchor": "middle" }, text(value)),
    ]),
    title && s("text", { class: "axis-title", x: (x(x.low) + x(x.high)) / 2, y: y + 38, "text-anchor": "middle" }, title),
  );
}

/** The vertical axis, with its title above and quiet lines across. */
export function left(y, x, end, title, text = (value) => shown(value, 3)) {
  return s(
    "g",
    { class: "axis" },
    ticks(y.low, y.high, 4).map((value) => [
      s("line", { class: "grid", x1: x, x2: end, y1: y(value), y2: y(value) }),
      s("text", { x: x - 8, y: y(value) + 4, "text-anchor": "end" }, text(value)),
    ]),
    title && s("text", { class: "axis-title", x: 0, y: 14 }, title),
  );
}

/** The path through points that are pixels. */
export function path(points) {
  return points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(2)} ${y.toFixed(2)}`).join("");
}

/** What the lines of a picture mean. */
export function legend(...entries) {
  return h(
    "ul",
    { class: "legend" },
    entries.filter(Boolean).map(([kind, text]) => h("li", {}, h("span", { class: `key ${kind}`, "aria-hidden": "true" }), text)),
  );
}
