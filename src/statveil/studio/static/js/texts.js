// The texts of a specification (prior, secret, tolerance, known) taken apart into fields, and put together again.

const NUMBER = "[-+]?(?:\\d+\\.?\\d*|\\.\\d+)(?:[eE][-+]?\\d+)?";
const RANGE = new RegExp(`^\\s*(${NUMBER})\\s*:\\s*(${NUMBER})\\s*(~\\s*log)?\\s*$`);
const BETWEEN = new RegExp(`^\\s*~?\\s*between\\(\\s*(${NUMBER})\\s*,\\s*(${NUMBER})\\s*,\\s*(${NUMBER})\\s*\\)\\s*$`);

/** What outsiders believe: `kind` is range, sure or text. */
export function readPrior(text) {
  const given = text ?? "";
  const range = RANGE.exec(given);
  if (range) return { kind: "range", low: range[1], high: range[2], log: Boolean(range[3]), sure: "90" };
  const sure = BETWEEN.exec(given);
  if (sure) return { kind: "sure", low: sure[1], high: sure[2], log: false, sure: String(Number((Number(sure[3]) * 100).toPrecision(12))) };
  return given.trim() === "" ? { kind: "range", low: "", high: "", log: false, sure: "90" } : { kind: "text", text: given, low: "", high: "", log: false, sure: "90" };
}

/** The text of a belief; empty while an end is missing. */
export function writePrior({ kind, low, high, log, sure, text }) {
  if (kind === "text") return text ?? "";
  if (low.trim() === "" || high.trim() === "") return "";
  if (kind === "range") return `${low.trim()}:${high.trim()}${log ? "~log" : ""}`;
  const share = Number(sure) / 100;
  return `between(${low.trim()},${high.trim()},${Number.isFinite(share) ? Number(share.toPrecision(12)) : sure})`;
}

/** A statistic and its argument. */
export function readSecret(text) {
  const [name, ...rest] = (text || "mean").split(":");
  return { name, argument: rest.join(":") };
}

/** The text of a statistic. */
export const writeSecret = ({ name, argument }) => (argument.trim() === "" ? name : `${name}:${argument.trim()}`);

/** How close a guess counts: a number, and whether it is per cent. */
export function readTolerance(text) {
  const given = (text ?? "").trim();
  return given.endsWith("%") ? { value: given.slice(0, -1).trim(), share: true } : { value: given, share: given === "" };
}

const moved = (text, power) => (text.trim() !== "" && Number.isFinite(Number(text)) ? String(Number((Number(text) * 10 ** power).toPrecision(12))) : text);

/** Percentage points as a share, and back; what is no number stays as it was typed. */
export const hundredth = (text) => moved(text, -2);
export const hundredfold = (text) => moved(text, 2);

/** The text of a tolerance. */
export const writeTolerance = ({ value, share }) => (value.trim() === "" ? "" : `${value.trim()}${share ? "%" : ""}`);

const KNOWN = ["min", "max", "step", "heaps", "atoms"];

/** What everyone knows, by name; what has no field of its own is kept under `rest`. */
export function readKnown(text) {
  const found = { min: "", max: "", step: "", heaps: "", atoms: "", rest: "" };
  const rest = [];
  for (const part of (text ?? "").split(",").map((one) => one.trim())) {
    if (part === "") continue;
    const [name, ...value] = part.split("=");
    if (KNOWN.includes(name.trim()) && found[name.trim()] === "") found[name.trim()] = value.join("=").trim();
    else rest.push(part);
  }
  found.rest = rest.join(",");
  return found;
}

/** The text of what everyone knows. */
export function writeKnown(known) {
  const parts = KNOWN.filter((name) => known[name].trim() !== "").map((name) => {
    const value = known[name].trim();
    return `${name}=${name === "heaps" || name === "atoms" ? value.split(/[\s,;/]+/).filter(Boolean).join("/") : value}`;
  });
  return [...parts, known.rest].filter(Boolean).join(",");
}
