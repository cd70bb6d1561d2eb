// The same without this page: files to download, commands to copy, and the ledger.

import { download } from "./api.js";
import { h, paragraphs } from "./dom.js";
import { notice, say } from "./notice.js";
import { percent } from "./numbers.js";

const PUBLIC = [
  ["table", "Released table", "The table to share."],
  ["card", "Card", "What was promised; goes with the table."],
  ["plan", "Plan", "How it was decided, without data."],
  ["specification", "Specification", "What happens to every column."],
];
const PRIVATE = [
  ["audit", "Audit", "What the attackers found."],
  ["record", "Record", "The secret seed: needed to release again."],
  ["report", "Private report", "For those who decide; shows the original."],
];

/** Public files apart from private ones; what is not there yet cannot be pressed. */
export function downloads(study) {
  const there = { table: study.release, card: study.release, plan: study.plan, specification: study.table, audit: study.audit, record: study.release, report: study.release };
  const entry = ([name, title, says]) =>
    h(
      "li",
      {},
      h("button", { type: "button", id: `download-${name}`, disabled: !there[name], "aria-describedby": `download-${name}-says`, on: { click: () => fetchFile(name, title) } }, title),
      h("span", { class: "help", id: `download-${name}-says` }, says),
    );
  return h(
    "div",
    { class: "two" },
    h("section", { class: "panel public", "aria-labelledby": "public-title" }, h("p", { class: "public-mark" }, "Public"), h("h2", { id: "public-title" }, "To share"), h("ul", { class: "files" }, PUBLIC.map(entry))),
    h("section", { class: "panel private", "aria-labelledby": "private-title" }, h("p", { class: "private-mark" }, "Private"), h("h2", { id: "private-title" }, "To keep"), h("ul", { class: "files" }, PRIVATE.map(entry))),
  );
}

async function fetchFile(name, title) {
  try {
    say(`${title}: downloading.`);
    await download(`/api/download/${name}`);
  } catch (problem) {
    notice(problem.message);
  }
}

/** The same as commands, Python and a specification, each with a button that copies it. */
export function commands(found) {
  const one = (name, title, text) => {
    const button = h("button", { type: "button", class: "quiet", id: `copy-${name}`, "aria-label": `Copy: ${title}` }, "Copy");
    button.addEventListener("click", async () => {
      const copied = await copy(text);
      button.textContent = copied ? "Copied" : "Select and copy it";
      say(copied ? `${title}: copied.` : "This browser did not allow copying.");
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });
    return h("details", { class: "code", open: name === "shell" }, h("summary", {}, title), h("div", { class: "code-body" }, button, h("pre", { tabindex: "0", role: "region", "aria-label": title }, h("code", {}, text))));
  };
  return [
    h("h2", {}, "The same without this page"),
    h("p", { class: "help" }, "These give the same release; keep them beside the card."),
    one("shell", "Command line", found.shell),
    one("python", "Python", found.python),
    one("specification", "Specification file", found.specification),
  ];
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** Earlier releases of the dataset and what they leave. */
export function ledger(found) {
  return h(
    "section",
    { class: "panel", "aria-labelledby": "ledger-title" },
    h("header", { class: "panel-head" }, h("p", { class: "eyebrow" }, "Ledger"), h("h2", { id: "ledger-title" }, found.dataset ? `Earlier releases of ${found.dataset}` : "Earlier releases")),
    paragraphs(found.words),
    found.accounts?.length > 0 &&
      h(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": "What earlier releases leave" },
        h(
          "table",
          {},
          h("thead", {}, h("tr", {}, ["column", "secret", "risk so far", "budget"].map((head, i) => h("th", { scope: "col", class: i > 1 ? "figure" : null }, head)))),
          h("tbody", {}, found.accounts.map((one) => h("tr", {}, h("th", { scope: "row" }, one.column), h("td", {}, one.secret ?? ""), h("td", { class: "figure" }, percent(one.risk)), h("td", { class: "figure" }, one.budget === null || one.budget === undefined ? "none" : percent(one.budget))))),
        ),
      ),
    found.releases?.length > 0 && h("ul", {}, found.releases.map((one) => h("li", {}, one.words || [one.when, (one.columns ?? []).join(", "), one.audience && `to ${one.audience}`].filter(Boolean).join(" · ")))),
  );
}
