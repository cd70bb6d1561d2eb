// What the attackers found, in plain words. Private.

import { h, paragraphs } from "./dom.js";
import { percent } from "./numbers.js";

const VERDICTS = { holds: "Holds", leaks: "Leaks", undecided: "Undecided" };

/** The verdict, and each attacker with what it did. */
export function findings(found, study) {
  return h(
    "div",
    { class: "findings" },
    h("p", { class: `verdict ${found.verdict}` }, VERDICTS[found.verdict] ?? found.verdict),
    paragraphs(found.words),
    (found.columns ?? []).map((one) =>
      h(
        "div",
        { class: "finding" },
        h("h3", {}, study.columns[one.index]?.name ?? "", " ", h("span", { class: `verdict small ${one.verdict}` }, VERDICTS[one.verdict] ?? one.verdict)),
        paragraphs(one.words),
        h("ul", { class: "attackers" }, (one.attackers ?? []).map((attacker) => h("li", {}, bar(attacker), h("p", {}, h("strong", {}, attacker.attacker), " ", attacker.says ?? "")))),
      ),
    ),
  );
}

function bar({ rate, claimed, verdict }) {
  const meter = h("span", { class: `rate ${verdict ?? ""}`, "aria-hidden": "true" }, h("span", { class: "rate-bar" }), h("span", { class: "rate-claim" }));
  const most = Math.max(rate ?? 0, claimed ?? 0, 0.05) * 1.2;
  meter.firstChild.style.width = `${Math.min(100, (100 * (rate ?? 0)) / most)}%`;
  meter.lastChild.style.left = `${Math.min(100, (100 * (claimed ?? 0)) / most)}%`;
  return h("div", { class: "rate-row" }, meter, h("span", { class: "rate-words" }, `right ${percent(rate)}, allowed ${percent(claimed)}`));
}
