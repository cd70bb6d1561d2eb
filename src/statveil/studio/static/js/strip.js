// The strip: every choice that was made, in every step.

import { h, renew } from "./dom.js";

const strip = document.getElementById("strip");
const list = document.getElementById("strip-list");
const line = document.getElementById("strip-line");
const wide = window.matchMedia("(min-width: 62rem)");

const fit = () => {
  strip.open = wide.matches; // beside the step where there is room, else one line that unfolds
};
wide.addEventListener("change", fit);
fit();

/** Shows the choices. */
export function showStrip(study) {
  const entries = study.strip ?? [];
  renew(list, entries, () => (entries.length ? entries.map(({ label, value }) => h("div", {}, h("dt", {}, label), h("dd", {}, value))) : h("div", {}, h("dt", {}, "Table"), h("dd", {}, "none yet"))));
  line.textContent = entries.length ? entries.map(({ value }) => value).join(" · ") : "none yet";
}
