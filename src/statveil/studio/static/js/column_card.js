// One column in step 1: what is seen in it, what tells it, what is proposed and what was chosen.

import { h, replace, sentence } from "./dom.js";
import { draft, keep } from "./drafts.js";
import { choices, field, number, select, text } from "./field.js";
import { notice, say } from "./notice.js";
import { change, current } from "./state.js";

const ACTIONS = [
  ["hide", "Hide"],
  ["keep", "Keep"],
  ["drop", "Drop"],
  ["derive", "Derive"],
  ["link", "Link"],
];

/** A card that is made once and told of every new state of its column. */
export function columnCard(index) {
  const name = h("h3", { id: `column-${index}-name`, class: "column-name" });
  const type = h("span", { class: "kind" });
  const words = h("div", { class: "column-words" });
  const proposal = h("div", { class: "proposal" });
  const picking = h("div", {});
  const more = h("div", { class: "more" });
  const wrong = h("div", { class: "wrong", "aria-live": "polite" });
  const element = h(
    "article",
    { class: "card column-card", "aria-labelledby": `column-${index}-name` },
    h("header", {}, name, type),
    words,
    proposal,
    picking,
    more,
    wrong,
  );
  let drawn = "";

  const put = async (body, focused) => {
    try {
      replace(wrong);
      await change("PUT", `/api/columns/${index}`, body);
      return true;
    } catch (problem) {
      if (problem.status === 409) notice("This study was changed in another tab; what you see is the newest state. Choose again.");
      else {
        replace(wrong, h("p", {}, problem.message));
        focused?.setAttribute("aria-invalid", "true");
      }
      drawn = ""; // the buttons show what was pressed, not what stands
      const refused = [...wrong.childNodes];
      update(current().columns[index], current());
      if (refused.length) replace(wrong, refused);
      return false;
    }
  };

  const update = (column, study) => {
    const hiddenNow = study.columns.filter((other) => other.choice?.action === "hide" && other.index !== index);
    const frozen = Boolean(study.plan);
    const state = JSON.stringify([column, hiddenNow.map((other) => other.name), frozen]);
    if (state === drawn) return;
    drawn = state;
    const choice = column.choice ?? {};
    name.textContent = column.name === "" ? "(no name)" : column.name;
    type.textContent = column.type ?? "";
    element.dataset.action = choice.action ?? "";
    replace(
      words,
      column.words?.length ? column.words.map((word) => h("p", {}, word)) : h("p", { class: "help" }, "Not looked at yet."),
      column.telling?.length > 0 && h("ul", { class: "telling" }, column.telling.map((word) => h("li", {}, word))),
    );
    const proposed = column.proposal;
    const away = proposed && choice.action && proposed.action !== choice.action;
    replace(
      proposal,
      proposed && [
        h("p", {}, h("strong", {}, away ? "Proposed instead: " : "Proposed: "), proposalWords(proposed, study)),
        away &&
          h("button", { type: "button", class: "quiet", id: `take-${index}`, on: { click: () => put(taking(proposed)) } }, `Take it`, h("span", { class: "unseen" }, ` for ${column.name}`)),
      ],
    );
    replace(
      picking,
      choices({
        name: `action-${index}`,
        legend: `What becomes of ${column.name}`,
        options: ACTIONS,
        chosen: choice.action,
        picked: (action) => {
          say(`${column.name}: ${action}`);
          pick(action, column, hiddenNow);
        },
      }),
    );
    showMore(choice.action, column, hiddenNow);
    for (const input of element.querySelectorAll("input, select, button")) input.disabled = frozen;
    replace(wrong, (column.checks ?? []).filter(({ field: at }) => ["action", "expression", "linked_to", "factor"].includes(at)).map(({ message }) => h("p", {}, sentence(message))));
  };

  const pick = (action, column, hiddenNow) => {
    const choice = column.choice ?? {};
    if (action === "derive") {
      const expression = choice.expression || draft(index, "expression") || column.proposal?.expression;
      if (expression) derive(expression, column, hiddenNow);
      else showMore(action, column, hiddenNow, true);
    } else if (action === "link") {
      const to = choice.linked_to ?? column.proposal?.linked_to ?? hiddenNow[0]?.index;
      if (to !== undefined && to !== null) put({ action, linked_to: to, factor: choice.factor ?? column.proposal?.factor ?? 1 });
      else showMore(action, column, hiddenNow, true);
    } else put({ action });
  };

  const derive = async (expression, column, hiddenNow) => {
    if (await put({ action: "derive", expression })) {
      keep(index, "expression", null);
      return;
    }
    keep(index, "expression", expression); // a formula that cannot be read stays in its field, to be mended
    document.getElementById(`action-${index}-derive`).checked = true;
    showMore("derive", column, hiddenNow, true);
    more.querySelector("input").setAttribute("aria-invalid", "true");
  };

  const showMore = (action, column, hiddenNow, fresh = false) => {
    const choice = column.choice ?? {};
    if (action === "derive") {
      const input = text({ class: "formula", placeholder: "log(wage)", value: draft(index, "expression") ?? choice.expression ?? "" });
      input.addEventListener("input", () => keep(index, "expression", input.value));
      input.addEventListener("change", async () => {
        if (input.value.trim() === "") return;
        await derive(input.value, column, hiddenNow);
      });
      replace(more, field({ id: `expression-${index}`, label: "Worked out as", help: "From the names of released columns: log(wage), wage * hours, hours >= 35, `net price` / 12.", input }));
      if (fresh) input.focus();
    } else if (action === "link") {
      if (hiddenNow.length === 0) {
        replace(more, h("p", { class: "wrong" }, "A link needs a hidden column to follow; hide one first."));
        return;
      }
      const to = select(hiddenNow.map((other) => [String(other.index), other.name]), String(choice.linked_to ?? hiddenNow[0].index));
      const factor = number({ value: String(choice.factor ?? 1) });
      const heard = () => put({ action: "link", linked_to: Number(to.value), factor: Number(factor.value) }, factor);
      to.addEventListener("change", heard);
      factor.addEventListener("change", heard);
      replace(
        more,
        h(
          "div",
          { class: "pair" },
          field({ id: `linked-${index}`, label: "Moves along with", input: to }),
          field({ id: `factor-${index}`, label: "Its units per unit of that column", help: "1 for two clocks; 0.19 for a tax of 19 %.", input: factor }),
        ),
      );
    } else replace(more);
  };
  return { element, update };
}

function proposalWords(proposed, study) {
  if (proposed.words) return proposed.words;
  if (proposed.action === "hide") return `hide the ${proposed.secret || "mean"}`;
  if (proposed.action === "derive") return ["derive it as ", h("code", {}, proposed.expression)];
  if (proposed.action === "link") return `link it to ${study.columns[proposed.linked_to]?.name ?? "a hidden column"}`;
  return proposed.action;
}

function taking({ action, expression, linked_to, factor }) {
  const body = { action };
  if (action === "derive") body.expression = expression;
  if (action === "link") Object.assign(body, { linked_to, factor: factor ?? 1 });
  return body;
}
