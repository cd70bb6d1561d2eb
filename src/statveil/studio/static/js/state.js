// The study as the server holds it, and the only way to change it. Another tab may change it too: then nothing is
// overwritten, the newer state is shown and said.

import { Refused, get, send } from "./api.js";

let study = null;
let line = Promise.resolve();
const listeners = new Set();

/** The study, or null before the first answer. */
export const current = () => study;

/** Calls back at every new state. */
export const subscribe = (heard) => listeners.add(heard);

/** Takes a newer state. */
export function accept(next) {
  if (!next || typeof next.revision !== "number") return;
  if (study && next.revision < study.revision) return;
  study = next;
  for (const heard of listeners) heard(study);
}

/** Asks for the state. */
export async function refresh() {
  accept(await get("/api/study"));
}

/** A changing request, one after another, with the revision that this page has seen. */
export function change(method, path, body = {}) {
  const next = line.then(() => attempt(() => send(method, path, { ...body, revision: study?.revision ?? 0 })));
  line = next.catch(() => undefined);
  return next;
}

/** A changing request of any kind; `does` gets the revision. */
export function changing(does) {
  const next = line.then(() => attempt(() => does(study?.revision ?? 0)));
  line = next.catch(() => undefined);
  return next;
}

async function attempt(does) {
  try {
    const answer = await does();
    accept(answer);
    return answer;
  } catch (problem) {
    if (problem instanceof Refused && problem.status === 409) {
      if (problem.study) accept(problem.study);
      else await refresh();
    }
    throw problem;
  }
}

/** Columns that are hidden, in the order of the table. */
export const hidden = () => (study?.columns ?? []).filter((column) => column.choice?.action === "hide");
