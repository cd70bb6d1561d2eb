// The page: four steps, one study. Which step is shown stands in the address, so the browser's own buttons work.

import { h, renew, replace } from "./dom.js";
import { jobsMove } from "./jobs.js";
import { clear } from "./notice.js";
import { accept, current, refresh, subscribe } from "./state.js";
import { releaseStep } from "./step_release.js";
import { secretStep } from "./step_secret.js";
import { tableStep } from "./step_table.js";
import { tradeoffStep } from "./step_tradeoff.js";
import { showStrip } from "./strip.js";

const STEPS = [
  { name: "table", title: "Table", make: tableStep },
  { name: "secret", title: "Secret", make: secretStep },
  { name: "tradeoff", title: "Trade-off", make: tradeoffStep },
  { name: "release", title: "Release", make: releaseStep },
];
const place = document.getElementById("step");
const main = document.getElementById("content");
const nav = document.getElementById("steps");
let shownStep = null;
let shown = null;

function wanted() {
  const named = STEPS.find(({ name }) => `#${name}` === location.hash);
  if (named) return named;
  const first = STEPS[(current().step ?? 1) - 1] ?? STEPS[0];
  history.replaceState(null, "", `#${first.name}`); // from here on only a person goes to another step
  return first;
}

function show(moved) {
  const study = current();
  if (!study) return;
  const step = wanted();
  if (step !== shownStep) {
    shownStep = step;
    shown = step.make();
    replace(place, shown.element);
    document.title = `${step.title} · statveil studio`;
    if (moved) {
      clear();
      window.scrollTo(0, 0);
      main.focus({ preventScroll: true });
    }
  }
  shown.update(study);
  showStrip(study);
  const done = [Boolean(study.table), (study.step ?? 1) > 2, Boolean(study.plan), Boolean(study.release)];
  renew(nav, [step.name, done], () =>
    STEPS.map(({ name, title }, i) =>
      h(
        "li",
        {},
        h(
          "a",
          { href: `#${name}`, id: `go-${name}`, "aria-current": name === step.name ? "step" : null, class: done[i] ? "done" : null },
          h("span", { class: "step-number", "aria-hidden": "true" }, i + 1),
          h("span", { class: "step-title" }, title),
          done[i] && h("span", { class: "unseen" }, " (done)"),
        ),
      ),
    ),
  );
}

document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
subscribe(() => show(false));
jobsMove(() => show(false));
window.addEventListener("hashchange", () => show(true));
for (const name of ["dragover", "drop"]) window.addEventListener(name, (event) => event.preventDefault()); // a file beside the drop zone is not opened
window.addEventListener("focus", () => refresh().catch(() => undefined)); // another tab may have gone on
accept(JSON.parse(document.getElementById("study").textContent)); // as it was when the page was asked for
