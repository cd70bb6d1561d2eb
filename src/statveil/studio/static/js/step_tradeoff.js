// Step 3: how private, and at what change. Still without data; then the plan is frozen.

import { h, paragraphs, replace, sentence } from "./dom.js";
import { field, number } from "./field.js";
import { progress, running, start } from "./jobs.js";
import { notice } from "./notice.js";
import { percent, typed } from "./numbers.js";
import { change, hidden } from "./state.js";
import { tradeoffPanel } from "./tradeoff_panel.js";

/** The step, made once and told of every new state. */
export function tradeoffStep() {
  const panels = new Map();
  const place = h("div", { class: "stack" });
  const together = h("div", {});
  const freezing = h("div", { class: "freeze" });
  const working = progress("plan");
  const element = h(
    "section",
    { "aria-labelledby": "title" },
    h("h1", { id: "title" }, "How private, and at what change?"),
    h("p", { class: "lead" }, "Everything on this page follows from what you said, not from your table. Choose a place on the curve, then freeze the plan."),
    place,
    together,
    working,
    freezing,
  );
  let listed = null;
  let frozen = "";
  const update = (study) => {
    const columns = hidden();
    working.update();
    const key = columns.map(({ index }) => index).join(",") + (study.table?.name ?? "");
    if (key !== listed) {
      listed = key;
      panels.clear();
      for (const { index } of columns) panels.set(index, tradeoffPanel(index));
      replace(
        place,
        columns.length ? columns.map(({ index }) => panels.get(index).element) : h("div", { class: "empty" }, h("p", {}, "No column is hidden yet."), h("a", { class: "button", href: "#table" }, "Go to the table")),
      );
      replace(together, columns.length > 1 && jointRisk());
    }
    for (const column of columns) panels.get(column.index).update(column, study);
    const joint = document.getElementById("joint-risk");
    if (joint && joint !== document.activeElement) joint.value = study.options?.joint_risk ? String(Number((study.options.joint_risk * 100).toPrecision(6))) : "";
    if (joint) joint.disabled = Boolean(study.plan);
    const state = JSON.stringify([study.plan, study.replanned, study.release !== null, study.ready, Boolean(running("plan")), columns.length]);
    if (state === frozen) return;
    frozen = state;
    replace(freezing, columns.length > 0 && (study.plan ? frozenPlan(study) : freezeButton(study)));
  };
  return { element, update };
}

function jointRisk() {
  const asked = field({
    id: "joint-risk",
    label: "At most this often, any of the hidden numbers is guessed",
    help: "Columns without a limit of their own share it. Left empty: each column has its own limit.",
    input: number({ size: 6 }),
    after: h("span", { class: "unit" }, "%"),
  });
  asked.input.addEventListener("change", async () => {
    const given = asked.input.value.trim();
    const value = typed(given);
    asked.problem(null);
    if (given !== "" && value === null) {
      asked.problem(`A number of per cent is needed here, such as 20; given was ${given}.`);
      return;
    }
    try {
      await change("PUT", "/api/table/options", { joint_risk: given === "" ? null : Number((value / 100).toPrecision(12)) });
    } catch (problem) {
      asked.problem(problem.message);
    }
  });
  return h("section", { class: "panel", "aria-labelledby": "all-columns" }, h("header", { class: "panel-head" }, h("p", { class: "eyebrow" }, "All hidden columns"), h("h2", { id: "all-columns" }, "One limit for all together")), asked);
}

function freezeButton(study) {
  const why = study.ready && study.ready.plan === false ? study.ready.why : null;
  return [
    h("p", { class: "help" }, "A plan must be made before anyone looks at what it does to the data. Freezing fixes it."),
    why && h("p", { class: "wrong", id: "freeze-why" }, sentence(why)),
    h(
      "div",
      { class: "onward" },
      h("button", { type: "button", class: "primary", id: "freeze", disabled: Boolean(running("plan")), "aria-describedby": why ? "freeze-why" : null, on: { click: () => freeze() } }, "Freeze the plan"),
    ),
  ];
}

async function freeze() {
  try {
    await start("plan");
  } catch (problem) {
    notice(problem.message);
  }
}

function frozenPlan(study) {
  const { plan } = study;
  const tried = (study.jobs ?? []).some((job) => job.kind === "release" && job.state === "failed");
  const seen = study.release || study.audit ? "You have already seen what this plan does to the data." : tried ? "A release was tried and refused, which told you something of the data." : null;
  return h(
    "section",
    { class: "panel frozen", "aria-labelledby": "frozen-title" },
    h("header", { class: "panel-head" }, h("p", { class: "eyebrow stamp" }, "Frozen"), h("h2", { id: "frozen-title" }, "The plan")),
    paragraphs(plan.words),
    (plan.columns ?? []).length > 0 &&
      h(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": "The plan of each column" },
        h(
          "table",
          {},
          h("thead", {}, h("tr", {}, ["column", "hidden", "risk", "change"].map((head, i) => h("th", { scope: "col", class: i > 1 ? "figure" : null }, head)))),
          h("tbody", {}, plan.columns.map((one) => h("tr", {}, h("th", { scope: "row" }, study.columns[one.index]?.name ?? ""), h("td", {}, one.secret), h("td", { class: "figure" }, percent(one.risk), one.risk_kind ? ` (${one.risk_kind})` : ""), h("td", { class: "figure" }, one.distortion)))),
        ),
      ),
    study.replanned && h("p", { class: "warned" }, "This plan was made again after the data had been seen. The card of the release will say so."),
    h(
      "div",
      { class: "onward" },
      h("a", { class: "button primary", href: "#release", id: "to-release" }, "On to the release"),
      h("button", { type: "button", id: "unfreeze", on: { click: () => unfreeze(seen) } }, "Plan again"),
    ),
  );
}

function unfreeze(seen) {
  const go = async () => {
    box.close();
    try {
      await change("POST", "/api/unfreeze", { confirm: true });
    } catch (problem) {
      notice(problem.message);
    }
  };
  const box = h(
    "dialog",
    { "aria-labelledby": "again-title" },
    h("h2", { id: "again-title" }, "Plan again?"),
    h(
      "p",
      {},
      seen
        ? `${seen} A plan that is chosen by looking at results can give away more than it states. You may go on; the next card will say that planning was repeated after the data were seen.`
        : "The plan is thrown away and can be changed. Nothing was released under it yet.",
    ),
    h(
      "div",
      { class: "onward" },
      h("button", { type: "button", class: seen ? "danger" : "primary", id: "again", on: { click: go } }, "Plan again"),
      h("button", { type: "button", on: { click: () => box.close() } }, "Leave it frozen"),
    ),
  );
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
}
