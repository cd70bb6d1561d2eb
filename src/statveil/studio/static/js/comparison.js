// Before and after, of one hidden column. Private: it shows the original.

import { bottom, left, legend, path, picture, scale } from "./chart.js";
import { h, paragraphs, s } from "./dom.js";
import { shown } from "./numbers.js";

let made = 0;

/** The pictures and their words. */
export function comparison(name, found) {
  return h(
    "div",
    { class: "comparison" },
    h("h3", {}, name),
    paragraphs(found.words),
    legend(["before", "before (private)"], ["after", "after (released)"]),
    h(
      "div",
      { class: "pictures" },
      found.shares?.length > 0 && figure("Share of each label", dumbbells(`Shares of ${name}`, found.shares.map((one) => [one.label, one.before, one.after]))),
      found.histogram && figure("How values are spread", histogram(name, found.histogram)),
      found.quantiles && figure("Quantiles, before and after", quantiles(name, found.quantiles)),
      ...(found.group_means ?? []).map((one) => figure(`Means by ${one.by}`, dumbbells(`Means of ${name} by ${one.by}`, one.groups.map((group) => [group.label, group.before, group.after])))),
      found.correlations?.length > 0 && figure("Correlation with other columns", dumbbells(`Correlations of ${name}`, found.correlations.map((one) => [one.with, one.before, one.after]), [-1, 1])),
    ),
  );
}

function figure(title, element) {
  return h("figure", {}, h("figcaption", {}, title), element);
}

function histogram(name, { edges, before, after }) {
  made += 1;
  const pattern = `hatch-${made}`;
  const most = Math.max(1, ...before, ...after);
  const draw = (svg, width, height) => {
    const x = scale(edges[0], edges.at(-1), 8, width - 8);
    const y = scale(0, most, height - 30, 10);
    const outline = (counts) => counts.flatMap((count, i) => [[x(edges[i]), y(count)], [x(edges[i + 1]), y(count)]]);
    const closed = (counts) => path([[x(edges[0]), y(0)], ...outline(counts), [x(edges.at(-1)), y(0)]]);
    svg.replaceChildren(
      s("defs", {}, s("pattern", { id: pattern, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, s("line", { class: "hatch", x1: 0, x2: 0, y1: 0, y2: 6 }))),
      s("path", { d: closed(before), fill: `url(#${pattern})` }),
      s("path", { class: "before-line", d: closed(before) }),
      s("path", { class: "after-line", d: closed(after) }),
      bottom(x, height - 30, width, null),
    );
  };
  return picture({ label: `Histogram of ${name} before and after`, height: 200, draw }).place;
}

function quantiles(name, { before, after }) {
  const low = Math.min(...before, ...after);
  const high = Math.max(...before, ...after);
  const draw = (svg, width, height) => {
    const x = scale(low, high, 52, width - 14);
    const y = scale(low, high, height - 48, 26);
    svg.replaceChildren(
      left(y, 52, width - 14, "after"),
      bottom(x, height - 48, width - 60, "before"),
      s("line", { class: "same", x1: x(low), y1: y(low), x2: x(high), y2: y(high) }),
      s("path", { class: "after-line open", d: path(before.map((value, i) => [x(value), y(after[i])])) }),
      ...before.map((value, i) => s("circle", { class: "after-dot", cx: x(value), cy: y(after[i]), r: 3 })),
    );
  };
  return picture({ label: `Quantiles of ${name}: before across, after upwards; the thin line is no change`, height: 260, draw }).place;
}

function dumbbells(label, rows, range = null) {
  const values = rows.flatMap(([, a, b]) => [a, b]).filter((value) => Number.isFinite(value));
  const [low, high] = range ?? [Math.min(...values), Math.max(...values)];
  const pad = range ? 0 : (high - low) * 0.05 || 1;
  const draw = (svg, width, height) => {
    const x = scale(low - pad, high + pad, 14, width - 14);
    svg.replaceChildren(
      ...rows.flatMap(([name, before, after], i) => {
        const y = 34 + i * 44;
        const words = `${name}: ${shown(before)} → ${shown(after)}`;
        const whole = width / 7.2;
        return [
          s("text", { class: "row-name", x: 14, y: y - 14 }, words.length > whole ? `${words.slice(0, whole - 1)}…` : words),
          s("line", { class: "row-line", x1: 14, x2: width - 14, y1: y, y2: y }),
          Number.isFinite(before) && Number.isFinite(after) && s("line", { class: "row-move", x1: x(before), x2: x(after), y1: y, y2: y }),
          Number.isFinite(before) && s("circle", { class: "before-dot", cx: x(before), cy: y, r: 6 }),
          Number.isFinite(after) && s("circle", { class: "after-dot", cx: x(after), cy: y, r: 5 }),
        ].filter(Boolean);
      }),
      bottom(x, height - 28, width, null),
    );
  };
  return picture({ label: `${label}. ${rows.map(([name, a, b]) => `${name}: ${shown(a)} before, ${shown(b)} after`).join("; ")}`, height: 34 + rows.length * 44 + 24, draw }).place;
}
