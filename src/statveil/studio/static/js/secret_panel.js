// One hidden column in step 2: the statistic, what outsiders believe, how close counts, what everyone knows.

import { send } from "./api.js";
import { beliefPicture } from "./belief.js";
import { h, later, paragraphs, replace, sentence, set } from "./dom.js";
import { draft, keep } from "./drafts.js";
import { choices, field, number, select, text } from "./field.js";
import { failure } from "./jobs.js";
import { notice } from "./notice.js";
import { alsoBlock } from "./secret_also.js";
import { moreBlock } from "./secret_more.js";
import { change } from "./state.js";
import { hundredfold, hundredth, readKnown, readPrior, readSecret, readTolerance, writeKnown, writePrior, writeSecret, writeTolerance } from "./texts.js";

const STATISTICS = [
  ["mean", "the mean (average)"],
  ["median", "the median (the middle value)"],
  ["total", "the total"],
  ["quantile", "another quantile"],
  ["std", "the standard deviation (spread)"],
  ["min", "the smallest value"],
  ["max", "the largest value"],
  ["trimmed-mean", "the mean without the extremes"],
  ["iqr", "the width of the middle half"],
  ["difference", "the difference between two groups' means"],
  ["ratio", "the ratio of two groups' means"],
  ["fraction", "the share of one label (how many rows hold it)"],
];
const ARGUMENTS = {
  total: ["Rows with a value", "The public number of rows that are added up."],
  quantile: ["Which quantile", "0.9: nine of ten values are below."],
  "trimmed-mean": ["Left out at each end", "0.1: a tenth at each end."],
  fraction: ["Which label", "As it stands in the column: part-time."],
  difference: ["Which groups", "Column, then the two labels: sex=f-m."],
  ratio: ["Which groups", "Column, then the two labels: region=north/south. The closeness is in per cent."],
};
const SHAPES = [
  ["", "left open (any shape)"],
  ["catalogue", "one of the usual shapes"],
  ["norm", "bell-shaped (norm)"],
  ["expon", "falling off (expon)"],
  ["uniform", "even (uniform)"],
];
const UNITS = [["share", "per cent of the truth"], ["units", "units of the column"]];
const POINTS = [["points", "percentage points"]];
const KINDS = [
  ["range", "anywhere between", "No place between the two ends is likelier than another."],
  ["log", "between, by factors", "Twice as much is as likely as half as much. Goes well with per cent."],
  ["sure", "probably between", "Likeliest in the middle, and it may lie outside as well."],
];
const FIELDS = ["secret", "prior", "tolerance", "known", "shape", "labels", "also", "also_prior", "also_tolerance"];

/** A panel that is made once; typing is never interrupted by an answer. */
export function secretPanel(index) {
  const id = (name) => `${name}-${index}`;
  const name = h("h2", { id: id("panel") });
  const says = h("div", { class: "says", "aria-live": "polite" });
  const saved = h("p", { class: "saved" });
  const texts = { ...Object.fromEntries(FIELDS.map((one) => [one, ""])), secret: "mean" };
  let prior = readPrior("");
  let column = null;

  const argument = field({ id: id("argument"), label: "Argument", help: " ", input: text() });
  const statistic = field({ id: id("secret"), label: "The secret is", input: select(STATISTICS, "mean") });
  const low = field({ id: id("low"), label: "From", input: number() });
  const high = field({ id: id("high"), label: "To", input: number() });
  const sure = field({ id: id("sure"), label: "How sure", input: number({ size: 4 }), after: h("span", { class: "unit" }, "%") });
  const priorWrong = h("div", { class: "wrong", id: id("prior-wrong"), "aria-live": "polite" });
  const drawing = beliefPicture({
    label: "What outsiders believe",
    moved: (from, to, ended) => {
      low.input.value = from;
      high.input.value = to;
      typedBelief(ended);
    },
  });
  const kind = h("div", {});
  const tolerance = field({ id: id("tolerance"), label: "A guess is a hit if it is off by at most", input: number({ size: 8 }), after: select(UNITS, "share", { "aria-label": "Unit of the closeness" }) });
  const unit = tolerance.querySelector("select");
  const known = {
    min: field({ id: id("min"), label: "Never below", input: number() }),
    max: field({ id: id("max"), label: "Never above", input: number() }),
    heaps: field({ id: id("heaps"), label: "Usual round values", help: "Multiples people prefer: 5, 100.", input: text() }),
    atoms: field({ id: id("atoms"), label: "Special values", help: "Values that many rows share: 0.", input: text() }),
  };
  const whole = h("input", { type: "checkbox", id: id("whole") });
  const step = field({ id: id("step"), label: "In steps of", help: "0.01 for cents; 1 for whole numbers.", input: number() });
  const knownWrong = h("div", { class: "wrong", id: id("known-wrong"), "aria-live": "polite" });
  const shape = field({ id: id("shape"), label: "Shape of the column", help: "A name from SciPy, or quantiles(0=1, 0.5=3, 1=20). Leave it open if you are not sure.", input: text({ list: id("shapes") }) });
  const written = field({ id: id("written"), label: "The belief as a text", help: "Every form of the command line: 10:50~log, 10:50~normal(30,5), between(10,50,0.9).", input: text() });

  const labels = field({ id: id("labels"), label: "All labels that there can be", help: "With commas between them, also those that your table lacks: full-time, part-time, leave. From public knowledge, not from the rows.", input: text() });
  const also = alsoBlock(id, () => changed());
  const more = moreBlock(index);
  const isShare = () => statistic.input.value === "fraction";

  const belief = h(
    "div",
    { class: "block" },
    h("h3", {}, "What do outsiders believe?"),
    h("p", { class: "help" }, "Take it from what anyone could know: surveys, news, last year's report. Never from the table itself."),
    kind,
    h("div", { class: "pair three" }, low, high, sure),
    priorWrong,
    drawing.element,
  );
  const facts = h(
    "div",
    { class: "block" },
    h("h3", {}, "What does everyone know of such a column?"),
    h("p", { class: "help" }, "Only what holds for every such column. The release keeps to it, so that nothing gives the move away."),
    h("div", { class: "pair" }, known.min, known.max),
    h("div", { class: "tick" }, whole, h("label", { for: whole.id }, "Whole numbers only")),
    h("div", { class: "pair three" }, step, known.heaps, known.atoms),
    knownWrong,
  );
  const shapes = h(
    "details",
    { class: "block deep" },
    h("summary", {}, "I know the shape"),
    shape,
    h("datalist", { id: id("shapes") }, SHAPES.slice(1).map(([value, label]) => h("option", { value }, label))),
    written,
  );
  const element = h(
    "section",
    { class: "panel", "aria-labelledby": id("panel") },
    h("header", { class: "panel-head" }, h("p", { class: "eyebrow" }, "Hidden column"), name, saved),
    h("div", { class: "pair" }, statistic, argument),
    labels,
    belief,
    h("div", { class: "block" }, h("h3", {}, "How close is too close?"), tolerance),
    facts,
    also.element,
    shapes,
    more.element,
    h("div", { class: "in-words" }, h("h3", {}, "In words"), says),
  );

  // every text is put together from its fields, checked at once and saved a little later
  const gather = () => {
    texts.secret = writeSecret({ name: statistic.input.value, argument: argument.hidden ? "" : argument.input.value });
    texts.tolerance = writeTolerance({ value: isShare() ? hundredth(tolerance.input.value) : tolerance.input.value, share: unit.value === "share" });
    texts.labels = isShare() ? labels.input.value.trim() : "";
    texts.known = writeKnown({ ...Object.fromEntries(Object.entries(known).map(([key, one]) => [key, one.input.value])), step: whole.checked ? "1" : step.input.value, rest: readKnown(texts.known).rest });
    texts.shape = shape.input.value.trim();
    texts.prior = writePrior(prior);
    Object.assign(texts, isShare() ? { prior: "", known: "", shape: "", also: "", also_prior: "", also_tolerance: "" } : also.write(statistic.input.value));
  };
  let asked = 0;
  const check = later(180, async () => {
    asked += 1;
    const mine = asked;
    try {
      const answer = await send("POST", "/api/check", texts);
      if (mine === asked) checked(answer);
    } catch (problem) {
      if (mine === asked) checked({ problems: [{ field: problem.field, message: problem.message }], words: [], picture: null });
    }
  });
  const save = later(500, () => saveNow());
  const saveNow = async () => {
    save.cancel();
    const body = {};
    for (const one of FIELDS) if (texts[one] !== (column.choice?.[one] ?? "")) body[one] = texts[one];
    if (Object.keys(body).length === 0) return;
    try {
      await change("PUT", `/api/columns/${index}`, { action: "hide", ...body });
      for (const one of Object.keys(body)) if (texts[one] === body[one]) keep(index, one, null); // or something newer was typed
    } catch (problem) {
      if (problem.status === 409) notice("This study was changed in another tab. What you typed here is not saved yet; change it once more to save it.");
      else if (FIELDS.includes(problem.field)) problems([{ field: problem.field, message: problem.message }]);
      else notice(problem.message);
    }
  };
  const tellSaved = () => {
    const whole = FIELDS.every((one) => texts[one] === (column?.choice?.[one] ?? ""));
    element.dataset.saved = whole ? "yes" : "no";
    saved.textContent = whole ? "Saved" : "Not saved yet";
  };
  const changed = () => {
    gather();
    tellSaved();
    for (const one of FIELDS) keep(index, one, texts[one] === (column?.choice?.[one] ?? "") ? null : texts[one]);
    for (const one of ["low", "high"]) keep(index, one, texts.prior === "" && prior[one] !== "" ? prior[one] : null); // one end alone
    check();
    save();
  };
  const typedBelief = (ended) => {
    prior = { ...prior, kind: prior.kind === "text" ? "range" : prior.kind, low: low.input.value, high: high.input.value, sure: sure.input.value };
    gather();
    written.input.value = texts.prior;
    if (ended) changed();
    else check();
  };
  for (const one of [low, high, sure]) one.input.addEventListener("input", () => { typedBelief(true); draw(null); });
  for (const one of [argument, labels, tolerance, ...Object.values(known), shape]) one.input.addEventListener("input", changed);
  step.input.addEventListener("input", () => { whole.checked = step.input.value.trim() === "1"; changed(); });
  whole.addEventListener("change", () => { step.input.value = whole.checked ? "1" : ""; changed(); });
  unit.addEventListener("change", changed);
  statistic.input.addEventListener("change", () => {
    showArgument();
    tolerance.input.value = ""; // 5 units, 5 per cent and 5 points are three things
    changed();
  });
  written.input.addEventListener("input", () => {
    prior = readPrior(written.input.value);
    if (prior.kind !== "text") [low.input.value, high.input.value, sure.input.value] = [prior.low, prior.high, prior.sure];
    showKind();
    changed();
  });
  for (const input of element.querySelectorAll("input, select")) if (!more.element.contains(input)) input.addEventListener("change", () => saveNow());

  const draw = (picture) => drawing.update({ low: prior.low, high: prior.high, drawn: picture, statistic: STATISTICS.find(([value]) => value === statistic.input.value)?.[1] ?? "" });
  const showArgument = () => {
    for (const block of [belief, facts, also.element, shapes]) block.hidden = isShare();
    labels.hidden = !isShare();
    const wanted = isShare() ? POINTS : UNITS;
    if (unit.options.length !== wanted.length) replace(unit, wanted.map(([value, label]) => h("option", { value }, label)));
    also.show(statistic.input.value);
    const known = STATISTICS.some(([value]) => value === statistic.input.value);
    const found = ARGUMENTS[statistic.input.value] ?? (known ? null : ["Argument", "As on the command line."]);
    argument.hidden = !found;
    if (found) {
      argument.querySelector("label").textContent = found[0];
      argument.querySelector(".help").textContent = found[1];
    }
  };
  const showKind = () => {
    sure.hidden = prior.kind !== "sure";
    replace(
      kind,
      choices({
        name: id("belief"),
        legend: "Outsiders think that it lies",
        plain: true,
        options: KINDS,
        chosen: prior.kind === "range" && prior.log ? "log" : prior.kind,
        picked: (value) => {
          prior = { ...prior, kind: value === "sure" ? "sure" : "range", log: value === "log" };
          if (prior.kind === "sure" && !sure.input.value) sure.input.value = prior.sure;
          showKind();
          typedBelief(true);
          draw(null);
        },
      }),
      prior.kind !== "text" && h("p", { class: "help" }, KINDS.find(([value]) => value === (prior.log ? "log" : prior.kind))[2]),
    );
  };
  const problems = (list) => {
    const at = (one) => list.filter((problem) => problem.field === one).map(({ message }) => sentence(message)).join(" ") || null;
    statistic.problem(at("secret"));
    tolerance.problem(at("tolerance"));
    shape.problem(at("shape"));
    labels.problem(at("labels"));
    also.problems(at);
    for (const [one, place, inputs] of [["prior", priorWrong, [low.input, high.input]], ["known", knownWrong, [known.min.input, known.max.input]]]) {
      const message = at(one);
      if ((message ?? "") !== place.textContent) replace(place, message && h("p", {}, message));
      for (const input of inputs) set(input, { "aria-invalid": message ? "true" : null });
    }
    return list.filter((problem) => !FIELDS.includes(problem.field));
  };
  const checked = (answer) => {
    const failed = failure(index);
    const others = problems([...(answer.problems ?? []), ...(failed ? [failed] : [])]);
    const key = JSON.stringify([answer.words, others]);
    if (key !== says.dataset.key) {
      says.dataset.key = key;
      replace(says, others.map(({ message }) => h("p", { class: "wrong" }, sentence(message))), paragraphs(answer.words), !answer.words?.length && !others.length && h("p", { class: "help" }, "Fill in the fields; what they mean together stands here."));
    }
    draw(answer.picture);
  };
  const take = () => {
    const secret = readSecret(texts.secret || (column?.numeric === false ? "fraction" : ""));
    // what only a specification can say is shown as it is, never as something else
    if (!STATISTICS.some(([value]) => value === secret.name)) statistic.input.append(h("option", { value: secret.name }, secret.name));
    for (const option of statistic.input.options) option.hidden = option.disabled = column?.numeric === false && option.value !== "fraction" && option.value !== secret.name;
    statistic.input.value = secret.name;
    argument.input.value = secret.argument;
    prior = readPrior(texts.prior);
    if (texts.prior === "") prior = { ...prior, low: draft(index, "low") ?? "", high: draft(index, "high") ?? "" };
    [low.input.value, high.input.value, sure.input.value] = [prior.low, prior.high, prior.sure];
    written.input.value = texts.prior;
    showArgument();
    const close = readTolerance(texts.tolerance);
    tolerance.input.value = isShare() ? hundredfold(close.value) : close.value;
    unit.value = isShare() ? "points" : close.share ? "share" : "units";
    labels.input.value = texts.labels;
    also.take(texts, secret.name);
    const facts = readKnown(texts.known);
    for (const [key, one] of Object.entries(known)) one.input.value = facts[key];
    step.input.value = facts.step;
    whole.checked = facts.step === "1";
    shape.input.value = texts.shape;
    showKind();
    draw(null);
    check();
  };
  for (const input of [low.input, high.input, sure.input]) input.setAttribute("aria-describedby", `${input.getAttribute("aria-describedby")} ${priorWrong.id}`);
  for (const { input } of [...Object.values(known), step]) input.setAttribute("aria-describedby", `${input.getAttribute("aria-describedby")} ${knownWrong.id}`);
  // what stands on the server, as this page last saw it: a field that nobody touched here follows it, one that was typed
  // into is left alone, whoever else changed it meanwhile
  let base = null;
  const update = (next, frozen, study) => {
    column = next;
    more.update(next, frozen, study);
    for (const input of element.querySelectorAll("input, select")) input.disabled = frozen;
    drawing.freeze(frozen);
    name.textContent = next.name === "" ? "(no name)" : next.name;
    const stands = Object.fromEntries(FIELDS.map((one) => [one, next.choice?.[one] ?? ""]));
    const followed = FIELDS.filter((one) => base === null || (stands[one] !== base[one] && texts[one] === base[one]));
    for (const one of followed) texts[one] = (base === null ? draft(index, one) : null) ?? stands[one];
    base = stands;
    if (followed.length) take();
    tellSaved();
  };
  return { element, update };
}
