// What the page says beside the fields: a notice that stays until it is closed, and words for screen readers.

import { h } from "./dom.js";

const place = document.getElementById("notice");
const live = document.getElementById("live");

/** Said to screen readers when they have time. */
export function say(text) {
  if (live.textContent !== text) live.textContent = text;
}

/** A sentence on top of the step; `link` is an address and its words. */
export function notice(text, link = null) {
  const close = h("button", { type: "button", class: "quiet", on: { click: () => clear() } }, "Close");
  place.replaceChildren(h("div", { class: "notice" }, h("p", {}, text), link && h("a", { href: link[0] }, link[1]), close));
  if (place.getBoundingClientRect().top < 0) place.scrollIntoView({ block: "center" });
}

/** Takes the notice away. */
export function clear() {
  place.replaceChildren();
}
