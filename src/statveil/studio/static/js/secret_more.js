// What few columns need: rows that belong together, decimals, and leaks that are accepted with open eyes.

import { get } from "./api.js";
import { h, replace, sentence } from "./dom.js";
import { field, number, select } from "./field.js";
import { failure } from "./jobs.js";
import { notice } from "./notice.js";
import { change } from "./state.js";

let listed = null; // the leaks that have names, asked for once
const leaks = () => (listed ??= get("/api/leaks").catch((problem) => { listed = null; throw problem; }));

/** The block; each field is saved as soon as it is changed. */
export function moreBlock(index) {
  const id = (name) => `${name}-${index}`;
  const group = field({ id: id("group"), label: "Rows that belong together", help: "A column such as a person's number: its equal values mark rows that hold one and the same value here. They are moved together.", input: select([["", "every row stands for itself"]], "") });
  const digits = field({ id: id("digits"), label: "Decimals of the released numbers", help: "2 for cents, 0 for whole numbers. Empty: as many as a number has.", input: number({ size: 4 }) });
  const warned = h("div", { "aria-live": "polite" });
  const boxes = h("div", { class: "stack tight" });
  const wrong = h("div", { class: "wrong", id: id("accept-wrong"), "aria-live": "polite" });
  const forced = h(
    "details",
    { class: "deep" },
    h("summary", { id: id("accept") }, "Release in spite of a leak"),
    h("p", { class: "warned" }, "Better mend it: say above what everyone knows, or drop the other column. What you tick here can give the secret away, and the stated risk does not count it."),
    warned,
    boxes,
    wrong,
  );
  const element = h("details", { class: "block deep more-fields" }, h("summary", {}, "More for this column"), h("div", { class: "pair" }, group, digits), forced);
  let seen = "";
  let column = null;

  const put = async (body, at) => {
    at(null);
    try {
      await change("PUT", `/api/columns/${index}`, { action: "hide", ...body });
    } catch (problem) {
      if (problem.status === 409) notice("This study was changed in another tab; what you see is the newest state. Choose again.");
      else at(problem.message);
      if (problem.status === 409) seen = "";
    }
  };
  group.input.addEventListener("change", () => put({ group: group.input.value === "" ? null : Number(group.input.value) }, group.problem));
  digits.input.addEventListener("change", () => put({ digits: digits.input.value.trim() === "" ? null : digits.input.value }, digits.problem));
  const accept = (name, wanted) => {
    const now = (column.choice?.accept ?? []).filter((one) => one !== name);
    put({ accept: wanted ? [...now, name] : now }, (text) => replace(wrong, text && h("p", {}, text)));
  };

  const draw = async (next, frozen) => {
    const chosen = next.choice?.accept ?? [];
    const said = failure(index)?.message ?? "";
    const found = [...said.matchAll(/--accept ([a-z-]+)/g)].map(([, name]) => name);
    let names;
    try {
      names = await leaks();
    } catch (problem) {
      replace(wrong, h("p", {}, problem.message));
      return;
    }
    const one = ({ name, says }) => {
      const box = h("input", { type: "checkbox", id: `${id("accept")}-${name}`, checked: chosen.includes(name), disabled: frozen, "aria-describedby": `${id("accept")}-${name}-help` });
      box.addEventListener("change", () => accept(name, box.checked));
      return h("div", { class: "tick" }, box, h("label", { for: box.id }, name, found.includes(name) && h("strong", { class: "found" }, "found in your table")), h("p", { class: "help", id: `${box.id}-help` }, says));
    };
    const near = ({ name }) => found.includes(name) || chosen.includes(name);
    const open = boxes.querySelector("details")?.open ?? false;
    replace(
      boxes,
      names.filter(near).map(one),
      !names.some(near) && h("p", { class: "help" }, "The release names a leak where it finds one, and refuses; it then stands here."),
      h("details", { open }, h("summary", { id: id("leaks") }, names.some(near) ? "All others that have names" : "All that have names"), names.filter((leak) => !near(leak)).map(one)),
    );
    replace(
      warned,
      chosen.length > 0 &&
        h("p", { class: "warned strong" }, `You accept: ${chosen.join(", ")}. Whoever knows of it may learn the secret more often than the stated risk says. The card names it for everyone who gets the table.`),
    );
    if (found.length || chosen.length) element.open = forced.open = true;
  };

  const update = (next, frozen, study) => {
    column = next;
    const others = study.columns.filter((one) => one.index !== index && ["keep", "drop"].includes(one.choice?.action));
    const state = JSON.stringify([next.choice?.group, next.choice?.digits, next.choice?.accept, frozen, failure(index), others.map((one) => [one.index, one.name]), next.checks]);
    if (state === seen) return;
    seen = state;
    const now = next.choice?.group ?? null;
    const all = study.columns.filter((one) => others.includes(one) || one.index === now);
    replace(group.input, h("option", { value: "" }, "every row stands for itself"), all.map((one) => h("option", { value: String(one.index) }, one.name === "" ? "(no name)" : one.name)));
    group.input.value = now === null ? "" : String(now);
    if (document.activeElement !== digits.input) digits.input.value = next.choice?.digits ?? "";
    const at = (name) => (next.checks ?? []).filter((one) => one.field === name).map(({ message }) => sentence(message)).join(" ") || null;
    group.problem(at("group"));
    digits.problem(at("digits"));
    if (now !== null || (next.choice?.digits ?? null) !== null || at("group") || at("digits")) element.open = true;
    draw(next, frozen);
  };
  return { element, update };
}
