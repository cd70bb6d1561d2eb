// One hidden column in step 3: the slider, the chart, and what it means in words.

import { send } from "./api.js";
import { legend } from "./chart.js";
import { h, later, paragraphs, replace, sentence } from "./dom.js";
import { STEP_OF } from "./jobs.js";
import { notice } from "./notice.js";
import { percent } from "./numbers.js";
import { change } from "./state.js";
import { binsPicture, tradeoffChart } from "./tradeoff_chart.js";

const HIGHEST = 0.95;

// the curves of other methods come with the finer answer
const beside = ({ complete, others, other_words: [first, ...rest] }) => [complete === false && !others.length && !first.startsWith("Not drawn") ? "One random move of all rows is being worked out." : first, ...rest];

/** A panel that is made once and told of every new state of its column. */
export function tradeoffPanel(index) {
  const id = (name) => `${name}-${index}`;
  const name = h("h2", { id: id("tradeoff") });
  const chart = tradeoffChart();
  const bins = binsPicture();
  const words = h("div", { class: "says", "aria-live": "polite" });
  const wrong = h("div", { class: "wrong", id: id("risk-wrong"), "aria-live": "polite" });
  const value = h("output", { for: id("risk"), class: "risk-value" });
  const slider = h("input", { type: "range", id: id("risk"), min: 0, max: 1000, step: 1, "aria-describedby": `${id("ends")} ${id("risk-wrong")}` });
  const share = h("button", { type: "button", class: "quiet", id: id("share") }, "Share the limit of all columns instead");
  const keys = h("div", {});
  const drawn = h("div", { class: "chart-block" }, chart.element, keys);
  const binsBlock = h("div", { class: "block" }, h("h3", {}, "Bins"), h("p", { class: "help" }, "All tables whose statistic lies in the same bin come out with the same statistic."), bins.element);
  const element = h(
    "section",
    { class: "panel", "aria-labelledby": id("tradeoff") },
    h("header", { class: "panel-head" }, h("p", { class: "eyebrow" }, "Hidden column"), name),
    h(
      "div",
      { class: "slider" },
      h("div", { class: "slider-head" }, h("label", { for: id("risk") }, "The best attacker may be right at most"), value),
      slider,
      h("div", { class: "ends", id: id("ends") }, h("span", {}, "◂ more private, more change"), h("span", {}, "less private, closer to the original ▸")),
      share,
      wrong,
    ),
    words,
    drawn,
    binsBlock,
  );

  let column = null;
  let study = null;
  let lowest = 0.005; // nobody can be made worse than a guess without the release
  let seen = null;
  let held = false;
  const toRisk = (place) => Math.ceil(1000 * lowest * (HIGHEST / lowest) ** (place / 1000) - 1e-9) / 1000;
  const toPlace = (risk) => Math.round((1000 * Math.log(risk / lowest)) / Math.log(HIGHEST / lowest));

  let asked = 0;
  let told = null; // the answer that is shown
  const ask = async (risk, again = 0) => {
    finer.cancel();
    asked += 1;
    const mine = asked;
    try {
      const answer = await send("POST", "/api/tradeoff", { column: index, ...(risk === null ? {} : { max_risk: risk }) });
      if (mine !== asked) return;
      const text = JSON.stringify(answer);
      if (text !== told) show(answer); // the same words again would be read out again
      told = text;
      if (answer.complete === false && again < 300) finer(risk, again + 1);
    } catch (problem) {
      if (mine !== asked) return;
      told = null;
      replace(wrong, h("p", {}, problem.message), STEP_OF[problem.field]?.[0] === "#secret" && h("a", { href: "#secret" }, "Go to the secret"));
      drawn.hidden = true;
      replace(words);
      bins.update([], null);
    }
  };
  const finer = later(400, ask); // a coarse curve comes at once; the plan itself is ready a little later
  const askSoon = later(30, ask);
  const show = (answer) => {
    replace(wrong, answer.problem && h("p", {}, sentence(answer.problem.message)));
    drawn.hidden = false;
    chart.update(answer);
    const { points } = answer;
    replace(
      keys,
      legend(
        points.interval?.length > 1 && ["interval", "neighbouring bins"],
        points.comb?.length > 1 && ["comb", "comb: bins that are no neighbours"],
        (points.limit?.length > 1 || answer.without) && ["impossible", "no method gets here"],
        answer.without && ["without", "a guess without the release"],
        ...(answer.others ?? []).map((one) => [`other ${one.name}`, one.words]),
      ),
      h("div", { class: "beside" }, h("h3", {}, "Other methods"), paragraphs(beside(answer), { class: "help" })),
    );
    binsBlock.hidden = !(answer.bins?.length > 1);
    bins.update(answer.bins, answer.range);
    if (answer.without) lowest = Math.min(0.9, Math.max(0.001, answer.without.risk));
    if (!held) place(column.choice?.max_risk ?? answer.here?.max_risk ?? study.options?.joint_risk ?? 0.2);
    const text = answer.here ? paragraphs(answer.here.words) : !answer.problem && h("p", { class: "help" }, "The plan is being worked out; this takes some seconds.");
    replace(words, text, !answer.here && paragraphs(answer.without?.words)); // a plan says it itself
  };
  const place = (risk) => {
    slider.value = toPlace(Math.min(HIGHEST, Math.max(lowest, risk)));
    tell(risk);
  };
  const tell = (risk) => {
    value.textContent = percent(risk);
    slider.setAttribute("aria-valuetext", `${percent(risk)}; further left is more private`);
  };
  slider.addEventListener("input", () => {
    held = true;
    const risk = toRisk(Number(slider.value));
    tell(risk);
    askSoon(risk);
  });
  slider.addEventListener("change", async () => {
    held = false;
    await put(toRisk(Number(slider.value)));
  });
  const put = async (risk) => {
    try {
      await change("PUT", `/api/columns/${index}`, { action: "hide", max_risk: risk });
    } catch (problem) {
      if (problem.status === 409) notice("This study was changed in another tab; what you see is the newest state.");
      else replace(wrong, h("p", {}, problem.message));
    }
  };
  share.addEventListener("click", () => put(null));

  const update = (next, whole) => {
    column = next;
    study = whole;
    name.textContent = next.name === "" ? "(no name)" : next.name;
    slider.disabled = Boolean(study.plan);
    share.hidden = Boolean(study.plan) || !study.options?.joint_risk || next.choice?.max_risk === null || next.choice?.max_risk === undefined;
    const state = JSON.stringify([next.choice, study.options?.joint_risk]);
    if (state === seen) return;
    seen = state;
    ask(next.choice?.max_risk ?? null);
  };
  return { element, update };
}
