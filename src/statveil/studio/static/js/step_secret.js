// Step 2: for each hidden column, what is secret. No data is looked at here.

import { h, renew, replace } from "./dom.js";
import { frozenNote } from "./frozen.js";
import { secretPanel } from "./secret_panel.js";
import { hidden } from "./state.js";

/** The step, made once and told of every new state. */
export function secretStep() {
  const panels = new Map();
  const place = h("div", { class: "stack" });
  const frozen = h("div", {});
  const element = h(
    "section",
    { "aria-labelledby": "title" },
    h("h1", { id: "title" }, "What must nobody guess?"),
    h("p", { class: "lead" }, "One number about each hidden column is the secret. Say what outsiders believe of it already and when a guess is too good."),
    frozen,
    place,
    h("div", { class: "onward" }, h("a", { class: "button primary", href: "#tradeoff", id: "to-tradeoff" }, "On to the trade-off")),
  );
  let listed = null;
  const update = (study) => {
    const columns = hidden();
    const key = columns.map(({ index }) => index).join(",") + (study.table?.name ?? "");
    if (key !== listed) {
      listed = key;
      panels.clear();
      for (const { index } of columns) panels.set(index, secretPanel(index));
      replace(
        place,
        columns.length
          ? columns.map(({ index }) => panels.get(index).element)
          : h("div", { class: "empty" }, h("p", {}, "No column is hidden yet."), h("a", { class: "button", href: "#table" }, study.table ? "Choose one in the first step" : "Begin with a table")),
      );
    }
    renew(frozen, Boolean(study.plan), () => study.plan && frozenNote());
    for (const column of columns) panels.get(column.index).update(column, Boolean(study.plan), study);
  };
  return { element, update };
}
