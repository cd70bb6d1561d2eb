// Step 4: release under the frozen plan, look at what it did, play the attackers, take the files.

import { get } from "./api.js";
import { comparison } from "./comparison.js";
import { h, paragraphs, replace } from "./dom.js";
import { commands, downloads, ledger } from "./elsewhere.js";
import { field, number } from "./field.js";
import { findings } from "./findings.js";
import { progress, running, start } from "./jobs.js";
import { notice } from "./notice.js";
import { typed } from "./numbers.js";
import { current } from "./state.js";

/** The step, made once and told of every new state. */
export function releaseStep() {
  const doing = h("div", {});
  const releasing = progress("release");
  const auditing = progress("audit");
  const pictures = h("div", {});
  const attackers = h("div", {});
  const files = h("div", {});
  const code = h("div", { class: "commands" });
  const book = h("div", {});
  const element = h(
    "section",
    { "aria-labelledby": "title" },
    h("h1", { id: "title" }, "Release, and try to break it"),
    h("p", { class: "lead" }, "The table is released under the frozen plan. Then attackers who see only what is public try to guess what you hid."),
    book,
    doing,
    releasing,
    pictures,
    attackers,
    auditing,
    files,
    code,
  );
  const seen = {};
  const anew = (name, state, does) => {
    const text = JSON.stringify(state);
    if (seen[name] === text) return;
    seen[name] = text;
    does();
  };

  const update = (study) => {
    releasing.update();
    auditing.update();
    const busy = Boolean(running("release"));
    const attacking = Boolean(running("audit"));
    anew("doing", [study.plan, study.release, busy, study.ready, study.replanned], () => replace(doing, releaseBox(study, busy)));
    anew("pictures", [study.release, study.plan?.columns?.map(({ index }) => index)], () => showPictures(pictures, study));
    anew("attackers", [study.audit, study.release, attacking], () => showAttackers(attackers, study, attacking));
    anew("files", [study.release, study.audit, Boolean(study.plan), Boolean(study.table)], () => replace(files, study.table && downloads(study)));
    anew("code", [study.revision], () => showOther(code, "/api/commands", commands, study.table));
    anew("book", [study.ledger, study.release], () => showOther(book, "/api/ledger", ledger, study.ledger));
  };
  return { element, update };
}

function releaseBox(study, busy) {
  if (!study.plan) {
    return h("div", { class: "empty" }, h("p", {}, "There is no frozen plan yet."), h("a", { class: "button", href: "#tradeoff" }, "Go to the trade-off"));
  }
  const forced = study.columns.filter((one) => one.choice?.action === "hide" && one.choice.accept?.length > 0).map((one) => `${one.choice.accept.join(", ")} (${one.name})`);
  return [
    study.replanned && h("p", { class: "warned" }, "Planning was repeated after the data had been seen; the card will say so."),
    study.release && h("div", { class: "panel public" }, h("p", { class: "public-mark" }, "Released"), paragraphs(study.release.words)),
    forced.length > 0 && h("p", { class: "warned" }, `${study.release ? "Released" : "To be released"} in spite of ${forced.join("; ")}. The stated risk does not count this, and the card names it.`),
    !busy &&
      h(
        "div",
        { class: "onward" },
        h("button", { type: "button", class: study.release ? null : "primary", id: "release", on: { click: () => begin("release") } }, study.release ? "Release again" : "Release the table"),
      ),
  ];
}

async function begin(kind) {
  try {
    await start(kind);
  } catch (problem) {
    notice(problem.message);
  }
}

async function showPictures(place, study) {
  if (!study.release) {
    replace(place);
    return;
  }
  const columns = (study.plan?.columns ?? []).map(({ index }) => index).filter((index, i, all) => all.indexOf(index) === i);
  const shown = [];
  for (const index of columns) {
    try {
      shown.push(comparison(study.columns[index].name, await get(`/api/comparison/${index}`)));
    } catch (problem) {
      shown.push(h("p", { class: "wrong" }, problem.message));
    }
  }
  if (current().release === null) return;
  replace(place, h("section", { class: "panel private", "aria-labelledby": "compare-title" }, h("p", { class: "private-mark" }, "Private"), h("h2", { id: "compare-title" }, "Before and after"), h("p", { class: "help" }, "These pictures show the original. Do not share them."), shown));
}

async function showAttackers(place, study, attacking) {
  if (!study.release) {
    replace(place);
    return;
  }
  let found = null;
  if (study.audit) {
    try {
      found = await get("/api/findings");
    } catch (problem) {
      notice(problem.message);
    }
  }
  replace(
    place,
    h(
      "section",
      { class: "panel private", "aria-labelledby": "attack-title" },
      h("p", { class: "private-mark" }, "Private"),
      h("h2", { id: "attack-title" }, "Attackers"),
      found ? findings(found, study) : h("p", { class: "help" }, "Each attacker plays many times on tables like yours. What is counted is how often it is right."),
      !attacking && attackForm(study),
    ),
  );
}

function attackForm(study) {
  const plays = field({ id: "trials", label: "Plays of each attacker", help: "More plays tell more surely, and take longer.", input: number({ value: "2000", size: 7 }) });
  const form = h("form", { class: "attack" }, plays, h("button", { type: "submit", id: "audit", class: study.audit ? null : "primary" }, study.audit ? "Attack again" : "Let them try"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    plays.problem(null);
    try {
      await start("audit", { trials: typed(plays.input.value) ?? plays.input.value });
    } catch (problem) {
      if (problem.field === "trials") plays.problem(problem.message);
      else notice(problem.message);
    }
  });
  return form;
}

async function showOther(place, path, show, wanted) {
  if (!wanted) {
    replace(place);
    return;
  }
  try {
    const found = await get(path);
    replace(place, found && show(found));
  } catch (problem) {
    replace(place, h("p", { class: "help" }, problem.message));
  }
}
