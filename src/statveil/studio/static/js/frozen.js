// What a frozen plan rests on cannot be changed; this says so where one would try.

import { h } from "./dom.js";

/** A sentence, and the way to plan again. */
export function frozenNote() {
  return h("p", { class: "frozen-note" }, "The plan is frozen, so nothing here can be changed. ", h("a", { href: "#tradeoff" }, "Plan again"), " if it must be.");
}
