// What was typed but not taken by the server (yet): kept over a reload, in this tab only.

const key = (column, field) => `statveil:${column}:${field}`;

/** What was typed, or null. */
export function draft(column, field) {
  return sessionStorage.getItem(key(column, field));
}

/** Keeps what was typed; null forgets it. */
export function keep(column, field, text) {
  if (text === null) sessionStorage.removeItem(key(column, field));
  else sessionStorage.setItem(key(column, field), text);
}

/** Forgets everything, as another table has other columns. */
export function forget() {
  for (const name of Object.keys(sessionStorage)) if (name.startsWith("statveil:")) sessionStorage.removeItem(name);
}
