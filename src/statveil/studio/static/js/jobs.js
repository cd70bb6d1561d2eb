// Work that takes a while: started, watched until it ends, stopped. A reload goes on watching.

import { Refused, get, send } from "./api.js";
import { h, sentence } from "./dom.js";
import { notice, say } from "./notice.js";
import { duration } from "./numbers.js";
import { change, current, refresh, subscribe } from "./state.js";

const watched = new Map();
const listeners = new Set();

/** Where on the page a field stands. */
export const STEP_OF = {
  ...Object.fromEntries(["action", "expression", "linked_to", "factor", "path", "upload"].map((name) => [name, ["#table", "Go to the column"]])),
  ...Object.fromEntries(["secret", "prior", "tolerance", "known", "shape", "labels", "also", "also_prior", "also_tolerance", "group", "digits", "accept"].map((name) => [name, ["#secret", "Go to the field"]])),
  ...Object.fromEntries(["max_risk", "joint_risk"].map((name) => [name, ["#tradeoff", "Go to the limit"]])),
};

/** What the last job that failed said of a column: the field and a sentence. */
export function failure(column) {
  const found = (current()?.jobs ?? []).find((job) => job.state === "failed" && job.column === column && job.field);
  return found ? { field: found.field, message: found.message } : null;
}

const NAMES = {
  inspect: "Looking at the columns",
  plan: "Making the plan",
  release: "Releasing the table",
  audit: "Playing the attackers",
};

subscribe((study) => {
  for (const job of study.jobs ?? []) if (job.state === "running" && !watched.has(job.id)) watch(job.id, job.kind, job);
});

/** The running job of one kind, or null. */
export function running(kind) {
  for (const job of watched.values()) if (job.kind === kind && job.state === "running") return job;
  return null;
}

/** Starts a job and watches it; what is refused is said by whoever asked. */
export async function start(kind, body = {}) {
  const answer = await change("POST", `/api/${kind}`, body);
  if (answer.job !== undefined && !watched.has(answer.job)) watch(answer.job, kind, { state: "running", done: null });
}

async function watch(id, kind, first) {
  const job = { ...first, id, kind };
  const before = current()?.revision ?? 0;
  watched.set(id, job);
  tell();
  say(`${NAMES[kind] ?? "Working"}.`);
  let missed = 0;
  while (job.state === "running") {
    await new Promise((done) => setTimeout(done, 250));
    try {
      Object.assign(job, await get(`/api/jobs/${id}`));
      missed = 0;
    } catch (problem) {
      missed += 1;
      if ((problem instanceof Refused && problem.status === 404) || missed > 20) {
        job.state = "failed";
        job.message = problem.message;
      }
    }
    tell();
  }
  // every end is a new revision; the study may learn of it a moment after the job says so
  for (let i = 0; i < 20; i += 1) {
    await refresh().catch(() => undefined);
    if ((current()?.revision ?? 0) > before) break;
    await new Promise((done) => setTimeout(done, 100));
  }
  if (job.state === "failed") notice(sentence(job.message) ?? "This did not work; look at the terminal in which the studio runs.", STEP_OF[job.field]);
  say(job.state === "done" ? `${NAMES[kind]}: done.` : `${NAMES[kind]}: ${job.state === "cancelled" ? "stopped" : "failed"}.`);
  tell();
}

function tell() {
  for (const heard of listeners) heard();
}

/** Calls back whenever a job moves on. */
export const jobsMove = (heard) => listeners.add(heard);

/** The progress of one kind of job, with a button that stops it; empty where none runs. */
export function progress(kind) {
  const words = h("p", { class: "progress-words" });
  const bar = h("progress", { max: 1, "aria-label": NAMES[kind] });
  const cancel = h("button", { type: "button", id: `stop-${kind}`, on: { click: () => stop(running(kind)?.id) } }, "Cancel");
  const place = h("div", { class: "progress-place" });
  let said = -1;
  place.update = () => {
    const job = running(kind);
    if (!job) {
      said = -1;
      if (place.firstChild) place.replaceChildren();
      return;
    }
    if (!place.firstChild) place.append(words, bar, cancel);
    const part = typeof job.done === "number" ? Math.min(1, job.done) : null;
    if (part === null) bar.removeAttribute("value");
    else bar.value = part;
    const left = duration(job.seconds_left);
    const doing = sentence(job.words) || NAMES[kind];
    words.textContent = [doing, part === null ? "" : `${Math.floor(part * 100)} %`, left].filter(Boolean).join(" · ");
    const quarter = part === null ? -1 : Math.floor(part * 4);
    if (quarter > said) {
      said = quarter;
      say(`${doing}: ${quarter * 25} per cent. ${left}`);
    }
  };
  place.update();
  return place;
}

async function stop(id) {
  if (id === undefined) return;
  try {
    await send("POST", `/api/jobs/${id}/cancel`, { revision: current()?.revision ?? 0 });
  } catch (problem) {
    notice(problem.message);
  }
}
