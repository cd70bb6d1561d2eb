// Risk against change: what is possible, what our mechanisms reach, and where one stands.

import { bottom, left, path, picture, scale } from "./chart.js";
import { replace, s } from "./dom.js";
import { percent, shown } from "./numbers.js";

const HEIGHT = 320;
let made = 0;

/** The chart; `update(answer)` takes what /api/tradeoff said. */
export function tradeoffChart() {
  let answer = null;
  made += 1;
  const clip = `plot-${made}`;
  const drawing = picture({ label: "Risk against change", height: HEIGHT, shape: "tradeoff", draw });

  function draw(svg, width) {
    if (!answer) return;
    const { points, here, without, unit, others = [] } = answer;
    const curves = ["limit", "interval", "comb"].map((name) => [name, (points[name] ?? []).filter(([a, b]) => Number.isFinite(a) && Number.isFinite(b))]);
    const inner = { left: 56, right: width - 16, top: 34, bottom: HEIGHT - 52 };
    const most = Math.min(1, Math.max(0.02, (without?.risk ?? 0) * 2.5, (here?.risk ?? 0) * 1.6));
    const interval = curves[1][1];
    const all = curves.flatMap(([, list]) => list.map(([, change]) => change));
    const tallest = Math.max(...all, 0, here?.distortion ?? 0, 1e-12);
    const tall = Math.min(tallest * 1.4, Math.max((here?.distortion ?? tallest) * 2, interval.length ? interval[Math.floor(interval.length / 3)][1] : 0));
    const x = scale(0, most, inner.left, inner.right);
    const y = scale(0, tall * 1.05, inner.bottom, inner.top);
    const at = ([risk, change]) => [x(risk), y(change)];
    const withUnit = (value) => `${shown(value, 3)}${unit === "%" ? " %" : ""}`;
    const limit = curves[0][1];
    // the limit falls with the risk, so between two of its points the lower one is what is certain
    const bound = limit.flatMap(([risk, change], i) => [[i ? limit[i - 1][0] : 0, change], [risk, change]]);
    // the table as it is tells the secret every time and changes nothing: mostly far to the right of the chart
    const asIs = () =>
      most >= 1
        ? [s("circle", { class: "as-is", cx: x(1), cy: y(0), r: 6 }), s("text", { class: "chart-note", x: x(1) - 10, y: y(0) - 10, "text-anchor": "end" }, "published as it is")]
        : s("text", { class: "chart-note", x: inner.right, y: y(0) - 8, "text-anchor": "end" }, "published as it is: 100 % ▸");
    const room = here && inner.right - x(here.risk) > 110; // right above the place, where the curve has fallen
    replace(
      svg,
      s("defs", {}, s("clipPath", { id: clip }, s("rect", { x: inner.left, y: inner.top - 8, width: inner.right - inner.left, height: inner.bottom - inner.top + 8 }))),
      left(y, inner.left, inner.right, "how much the column may change", withUnit),
      bottom(x, inner.bottom, width - 72, "how often the best attacker is right", (value) => `${shown(value * 100, 3)} %`),
      s(
        "g",
        { "clip-path": `url(#${clip})` },
        without && s("rect", { class: "impossible", x: x(0), y: inner.top - 8, width: x(without.risk) - x(0), height: inner.bottom - inner.top + 8 }),
        limit.length > 1 && s("path", { class: "impossible", d: path([[x(0), y(0)], ...bound.map(at), [x(limit.at(-1)[0]), y(0)]]) }),
        limit.length > 1 && s("path", { class: "curve limit", d: path(bound.map(at)) }),
        curves.slice(1).map(([name, list]) => list.length > 1 && s("path", { class: `curve ${name}`, d: path(list.map(at)) })),
        others.map((one) => one.points.length > 1 && s("path", { class: `curve other ${one.name}`, d: path(one.points.map(at)) })),
        without && s("line", { class: "without", x1: x(without.risk), x2: x(without.risk), y1: inner.top - 8, y2: inner.bottom }),
      ),
      without && x(without.risk) > inner.left + 190 && s("text", { class: "chart-note", x: x(without.risk) - 6, y: inner.top + 4, "text-anchor": "end" }, "a guess without the release"),
      asIs(),
      here && s("line", { class: "here-line", x1: x(here.risk), x2: x(here.risk), y1: y(here.distortion), y2: inner.bottom }),
      here && s("circle", { class: "here", cx: x(here.risk), cy: y(here.distortion), r: 7 }),
      here && s("text", { class: "here-text", x: room ? x(here.risk) + 10 : inner.right, y: Math.max(inner.top + 10, y(here.distortion) - 16), "text-anchor": room ? "start" : "end" }, "you are here"),
    );
  }

  return {
    element: drawing.place,
    update(next) {
      answer = next;
      const { here, without } = next;
      const words = [here && `You are here: risk ${percent(here.risk)}, change ${shown(here.distortion, 3)} ${next.unit ?? ""}.`, without && `A guess without the release: ${percent(without.risk)}.`];
      drawing.svg.setAttribute("aria-label", `Risk against change. ${words.filter(Boolean).join(" ")}`);
      drawing.redraw();
    },
  };
}

/** The bins as a band: every statistic in one of them is released alike. */
export function binsPicture() {
  let state = null;
  const drawing = picture({ label: "Bins", height: 74, shape: "bins", draw });
  function draw(svg, width) {
    if (!state) return;
    const { bins, range } = state;
    const x = scale(range[0], range[1], 14, width - 14);
    const shownBins = bins.length > 400 ? [] : bins;
    svg.replaceChildren(
      s("rect", { class: "bin-band", x: x(range[0]), y: 8, width: x(range[1]) - x(range[0]), height: 26 }),
      ...shownBins.slice(0, -1).map((edge, i) => s("rect", { class: i % 2 ? "bin odd" : "bin", x: x(edge), y: 8, width: Math.max(0.5, x(bins[i + 1]) - x(edge)), height: 26 })),
      bottom(x, 40, width, null),
    );
  }
  return {
    element: drawing.place,
    update(bins, range) {
      state = bins?.length > 1 ? { bins, range: range ?? [bins[0], bins.at(-1)] } : null;
      drawing.place.hidden = state === null;
      if (state) drawing.svg.setAttribute("aria-label", `${bins.length - 1} bins from ${shown(state.range[0])} to ${shown(state.range[1])}`);
      drawing.redraw();
    },
  };
}
