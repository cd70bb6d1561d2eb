// A second statistic of the same column: which one, what outsiders believe of it, how close counts.

import { h } from "./dom.js";
import { field, number, select } from "./field.js";
import { readPrior, readTolerance, writePrior, writeTolerance } from "./texts.js";

const SECOND = [
  ["", "none"],
  ["mean", "the mean (average)"],
  ["median", "the median (the middle value)"],
  ["std", "the standard deviation (spread)"],
];
const STRETCHED = ["std", "iqr"]; // what a shift leaves as it is has a belief of its own

/** The block; `changed` hears of every change, `write(first)` gives the texts, `take(texts, first)` shows them. */
export function alsoBlock(id, changed) {
  const which = field({ id: id("also"), label: "The second secret is", input: select(SECOND, "") });
  const low = field({ id: id("also-low"), label: "From", input: number() });
  const high = field({ id: id("also-high"), label: "To", input: number() });
  const kind = field({ id: id("also-kind"), label: "How sure they are", input: select([["range", "anywhere between"], ["sure", "probably between (90 %)"]], "range") });
  const close = field({ id: id("also_tolerance"), label: "A guess at it is a hit if it is off by at most", input: number({ size: 8 }), after: select([["units", "units of the column"], ["share", "per cent of the truth"]], "units", { "aria-label": "Unit of the closeness of the second" }) });
  const unit = close.querySelector("select");
  const belief = h("div", { role: "group", "aria-labelledby": id("also-belief") }, h("p", { class: "label", id: id("also-belief") }, "Outsiders think that it lies"), h("div", { class: "pair three" }, low, high, kind));
  const same = h("p", { class: "help" }, "One move of the column hides both, so what outsiders believe of the first serves for both.");
  const more = h("div", { class: "stack tight" }, belief, same, close);
  const element = h("details", { class: "block deep" }, h("summary", {}, "Hide a second number of this column"), which, more);
  let other = ""; // a belief that these fields cannot show is kept as it is
  const apart = (first, second) => STRETCHED.includes(first) !== STRETCHED.includes(second);
  const show = (first) => {
    const second = which.input.value;
    more.hidden = second === "";
    belief.hidden = !apart(first, second);
    same.hidden = !belief.hidden;
  };
  for (const one of [low, high, close]) one.input.addEventListener("input", () => { other = ""; changed(); });
  for (const one of [kind.input, unit, which.input]) one.addEventListener("change", () => { other = ""; changed(); });
  return {
    element,
    show,
    write(first) {
      const also = which.input.value;
      show(first);
      if (also === "") return { also: "", also_prior: "", also_tolerance: "" };
      const prior = other || writePrior({ kind: kind.input.value, low: low.input.value, high: high.input.value, log: false, sure: "90", text: "" });
      return { also, also_prior: apart(first, also) ? prior : "", also_tolerance: writeTolerance({ value: close.input.value, share: unit.value === "share" }) };
    },
    take(texts, first) {
      if (texts.also && !SECOND.some(([value]) => value === texts.also)) which.input.append(h("option", { value: texts.also }, texts.also));
      which.input.value = texts.also;
      const prior = readPrior(texts.also_prior);
      other = prior.kind === "text" || prior.log || (prior.kind === "sure" && prior.sure !== "90") ? texts.also_prior : "";
      if (texts.also_prior !== "") [low.input.value, high.input.value, kind.input.value] = [prior.low, prior.high, prior.kind === "sure" ? "sure" : "range"];
      const tolerance = readTolerance(texts.also_tolerance);
      close.input.value = tolerance.value;
      unit.value = tolerance.share && tolerance.value !== "" ? "share" : "units";
      if (texts.also) element.open = true;
      show(first);
    },
    /** Shows problems, each at its field; `at` gives the sentence for a field. */
    problems(at) {
      which.problem(at("also"));
      low.problem(at("also_prior"));
      close.problem(at("also_tolerance"));
      if (at("also") || at("also_prior") || at("also_tolerance")) element.open = true;
    },
  };
}
