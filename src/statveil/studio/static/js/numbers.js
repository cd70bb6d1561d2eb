// Numbers as people read and write them.

/** A number with at most `digits` significant digits, in groups of three. */
export function shown(value, digits = 4) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "unknown";
  const size = Math.abs(value);
  if (size === 0) return "0"; // and no -0
  if (size >= 1e12 || size < 1e-6) return value.toExponential(digits - 1);
  return value.toLocaleString("en", { maximumSignificantDigits: digits });
}

/** A share as per cent, rounded up: a risk is never shown below the truth. */
export function percent(share) {
  if (share === null || share === undefined) return "unknown";
  const value = share * 100;
  const unit = value >= 10 ? 1 : value >= 1 ? 0.1 : 0.01;
  const up = Math.ceil(value / unit - 1e-9) * unit;
  return `${Number(up.toPrecision(6)).toLocaleString("en", { maximumFractionDigits: 2 })} %`;
}

/** How much space a file takes. */
export function size(bytes) {
  if (bytes === null || bytes === undefined) return "";
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  let i = 0;
  let value = bytes;
  for (; value >= 1000 && i < units.length - 1; i += 1) value /= 1000;
  return `${shown(value, 3)} ${units[i]}`;
}

/** A time in words. */
export function duration(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "";
  if (seconds < 1.5) return "about a second left";
  if (seconds < 90) return `about ${Math.ceil(seconds)} seconds left`;
  return `about ${Math.ceil(seconds / 60)} minutes left`;
}

/** What a person typed, as a number; null where it is none. */
export function typed(text) {
  const value = Number(String(text).trim());
  return String(text).trim() !== "" && Number.isFinite(value) ? value : null;
}

/** The largest of 1, 2, 5 times a power of ten that is not above `value`. */
export function nice(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([5, 2, 1].find((one) => one * power <= value * (1 + 1e-12)) ?? 1) * power;
}

/** A number on a grid of `step`, written as a person would. */
export function onGrid(value, step) {
  const places = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return String(Number((Math.round(value / step) * step).toFixed(Math.min(places, 15))));
}
