// Step 1: which table, what is in it, and what becomes of each column.

import { Refused, get, upload } from "./api.js";
import { columnCard } from "./column_card.js";
import { h, renew, replace } from "./dom.js";
import { forget } from "./drafts.js";
import { field, text } from "./field.js";
import { frozenNote } from "./frozen.js";
import { progress, running, start } from "./jobs.js";
import { clear, notice, say } from "./notice.js";
import { shown, size } from "./numbers.js";
import { change, changing, current } from "./state.js";

/** The step, made once and told of every new state. */
export function tableStep() {
  const facts = h("div", {});
  const preview = h("div", {});
  const looking = progress("inspect");
  const columns = h("div", { class: "stack" });
  const next = h("div", { class: "onward" });
  const frozen = h("div", {});
  let previewed = null;
  const chooser = chooseTable(() => {
    previewed = null; // a file of the same name and size may hold other rows
    update(current());
  });
  const element = h(
    "section",
    { "aria-labelledby": "title" },
    h("h1", { id: "title" }, "Which table will you share?"),
    h("p", { class: "lead" }, "Choose a file. The studio looks at every column, says in words what it sees, and proposes what becomes of it. You decide."),
    chooser.element,
    facts,
    preview,
    looking,
    frozen,
    columns,
    next,
  );
  const cards = new Map();

  const update = (study) => {
    looking.update();
    chooser.update(study);
    renew(facts, study.table, () => study.table && tableFacts(study.table));
    const seen = study.table ? `${study.table.name}:${study.table.rows}:${study.table.size}` : null;
    if (seen !== previewed) {
      previewed = seen;
      cards.clear();
      replace(columns);
      replace(preview);
      if (seen) showPreview(preview);
    }
    if (!study.table) {
      renew(frozen, false, () => null);
      renew(next, null, () => null);
      return;
    }
    const list = study.columns ?? [];
    if (cards.size !== list.length) {
      cards.clear();
      for (const column of list) cards.set(column.index, columnCard(column.index));
      replace(
        columns,
        list.length > 0 && [
          h("h2", {}, "What becomes of each column"),
          h("ul", { class: "meaning" }, MEANING.map(([word, says]) => h("li", {}, h("strong", {}, word), h("span", {}, says)))),
          h("div", { class: "stack tight" }, [...cards.values()].map((card) => card.element)),
          shuffleBox(),
        ],
      );
    }
    for (const column of list) cards.get(column.index)?.update(column, study);
    const box = document.getElementById("shuffle");
    if (box) {
      box.checked = Boolean(study.options?.shuffle);
      box.disabled = Boolean(study.plan);
    }
    renew(frozen, Boolean(study.plan), () => study.plan && frozenNote());
    const unseen = !study.inspected && !running("inspect");
    renew(next, [unseen], () => [
      unseen && h("button", { type: "button", id: "inspect", on: { click: () => inspect() } }, "Look at the columns"),
      h("a", { class: "button primary", href: "#secret", id: "to-secret" }, "On to the secret"),
    ]);
  };
  return { element, update };
}

const MEANING = [
  ["Hide", "protects one number about the column, such as its mean."],
  ["Keep", "publishes it as it is."],
  ["Drop", "leaves it out."],
  ["Derive", "works it out again from released columns."],
  ["Link", "moves it along with a hidden column."],
];

async function inspect() {
  try {
    await start("inspect");
  } catch (problem) {
    notice(problem.message);
  }
}

function chooseTable(opened) {
  const file = h("input", { type: "file", class: "unseen", id: "file", tabindex: "-1", "aria-label": "Table file", accept: ".csv,.tsv,.gz,.parquet,.pq,.arrow,.feather,.ipc,.xlsx" });
  const pick = h("button", { type: "button", class: "primary", id: "pick", on: { click: () => file.click() } }, "Choose a file");
  const sending = h("div", { class: "progress-place", "aria-live": "polite" });
  const wrong = h("div", { class: "wrong", id: "upload-wrong", role: "alert" });
  const zone = h(
    "div",
    { class: "drop" },
    h("p", { class: "drop-title" }, "Drop a table here"),
    h("p", { class: "help" }, "CSV, Parquet, Arrow or Excel. It goes to this machine's own disk and nowhere else."),
    pick,
    file,
    sending,
    wrong,
  );
  const path = field({
    id: "path",
    label: "Or a path on this machine",
    help: "For large files: they are read where they lie, piece by piece.",
    input: text({ placeholder: "data/salaries.parquet" }),
  });
  const open = h("button", { type: "submit", id: "open" }, "Open");
  const form = h("form", { class: "path-form" }, path, open);

  const taken = async () => {
    clear();
    forget();
    opened();
    say("The table was taken.");
    await inspect();
  };
  const give = async (chosen) => {
    if (!chosen) return;
    const stop = new AbortController();
    const bar = h("progress", { max: 1, value: 0, "aria-label": "Upload" });
    replace(wrong);
    path.problem(null);
    replace(sending, h("p", {}, `Reading ${chosen.name} (${size(chosen.size)})`), bar, h("button", { type: "button", id: "stop-upload", on: { click: () => stop.abort() } }, "Cancel"));
    try {
      await changing((revision) =>
        upload(`/api/table/upload?name=${encodeURIComponent(chosen.name)}&revision=${revision}`, chosen, (share) => (bar.value = share), stop.signal),
      );
      await taken();
    } catch (problem) {
      replace(wrong, h("p", {}, problem instanceof Refused ? problem.message : String(problem)));
    } finally {
      replace(sending);
      file.value = "";
    }
  };
  file.addEventListener("change", () => give(file.files[0]));
  for (const name of ["dragenter", "dragover"]) {
    zone.addEventListener(name, (event) => {
      event.preventDefault();
      zone.classList.add("over");
    });
  }
  for (const name of ["dragleave", "drop"]) zone.addEventListener(name, () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    give(event.dataTransfer.files[0]);
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    path.problem(null);
    replace(wrong);
    try {
      await change("POST", "/api/table/path", { path: path.input.value });
      await taken();
    } catch (problem) {
      path.problem(problem.message);
      path.input.focus();
    }
  });

  const heading = h("summary", {}, "Choose another table");
  const body = h("div", { class: "choose" }, zone, form);
  const element = h("div", {}, body);
  let folded = false;
  const update = (study) => {
    const inside = study.folder ? ` Inside ${study.folder}.` : "";
    path.querySelector(".help").textContent = `For large files: they are read where they lie, piece by piece.${inside}`;
    if (Boolean(study.table) === folded) return;
    folded = Boolean(study.table);
    element.replaceChildren(folded ? h("details", { class: "another" }, heading, body) : body);
  };
  return { element, update };
}

function tableFacts(table) {
  const facts = [
    ["File", table.name],
    ["Rows", table.rows === null || table.rows === undefined ? "not counted yet" : shown(table.rows, 15)],
    ["Columns", table.columns],
    ["Size", size(table.size)],
  ].filter(([, value]) => value !== null && value !== undefined && value !== "");
  return h("dl", { class: "facts" }, facts.map(([label, value]) => h("div", {}, h("dt", {}, label), h("dd", {}, value))));
}

const isNumber = (cell) => Boolean(cell) && Number.isFinite(Number(cell));

async function showPreview(place) {
  let found;
  try {
    found = await get("/api/table/preview?rows=8");
  } catch (problem) {
    replace(place, h("p", { class: "wrong" }, problem.message));
    return;
  }
  replace(
    place,
    h(
      "div",
      { class: "private" },
      h("p", { class: "private-mark" }, "Private"),
      h("h2", {}, "The first rows"),
      h(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": "The first rows of the table" },
        h(
          "table",
          {},
          h("thead", {}, h("tr", {}, found.names.map((name, i) => h("th", { scope: "col", class: isNumber(found.rows.find((row) => row[i])?.[i]) ? "figure" : null }, name === "" ? "(no name)" : name)))),
          h("tbody", {}, found.rows.map((row) => h("tr", {}, row.map((cell) => h("td", { class: isNumber(cell) ? "figure" : null }, cell ?? ""))))),
        ),
      ),
    ),
  );
}

function shuffleBox() {
  const box = h("input", { type: "checkbox", id: "shuffle", "aria-describedby": "shuffle-help", checked: Boolean(current()?.options?.shuffle) });
  box.addEventListener("change", async () => {
    try {
      await change("PUT", "/api/table/options", { shuffle: box.checked });
    } catch (problem) {
      notice(problem.message);
    }
  });
  return h(
    "div",
    { class: "tick" },
    box,
    h("label", { for: "shuffle" }, "Put the rows in a random order"),
    h("p", { class: "help", id: "shuffle-help" }, "Where the order of the rows could tell something: a sorted table, a log."),
  );
}
