// One labelled field with its help and its checks beside it.

import { h, replace } from "./dom.js";

/**
 * A label, an input, a sentence of help, and a place for problems that screen readers hear. The element has
 * `problem(text)`, which shows one or takes it away.
 */
export function field({ id, label, help = null, input, after = null, hideLabel = false }) {
  const helped = help ? h("p", { class: "help", id: `${id}-help` }, help) : null;
  const wrong = h("div", { class: "wrong", id: `${id}-wrong`, "aria-live": "polite" });
  input.id = id;
  const described = [helped && `${id}-help`, `${id}-wrong`].filter(Boolean).join(" ");
  input.setAttribute("aria-describedby", described);
  const element = h(
    "div",
    { class: "field" },
    h("label", { for: id, class: hideLabel ? "unseen" : null }, label),
    after ? h("div", { class: "with-unit" }, input, after) : input,
    helped,
    wrong,
  );
  element.input = input;
  element.problem = (text) => {
    if ((text ?? "") === wrong.textContent) return;
    replace(wrong, text ? h("p", {}, text) : null);
    if (text) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
  };
  return element;
}

/** A field for text; numbers are texts too, so that nothing that was typed is lost. */
export function text(attributes = {}) {
  return h("input", { type: "text", autocomplete: "off", spellcheck: "false", ...attributes });
}

/** A field for numbers. */
export function number(attributes = {}) {
  return text({ inputmode: "decimal", class: "number", ...attributes });
}

/** A choice among few; options are [value, label]. */
export function select(options, chosen, attributes = {}) {
  return h("select", attributes, options.map(([value, label]) => h("option", { value, selected: value === chosen }, label)));
}

/** Buttons of which one is pressed; `picked` hears its value. */
export function choices({ name, legend, options, chosen, picked, plain = false }) {
  return h(
    "fieldset",
    { class: "choices" },
    h("legend", { class: plain ? null : "unseen" }, legend),
    h(
      "div",
      { class: "choice-row" },
      options.map(([value, label]) =>
        h(
          "label",
          { class: "choice" },
          h("input", { type: "radio", id: `${name}-${value}`, name, value, checked: value === chosen, on: { change: () => picked(value) } }),
          h("span", {}, label),
        ),
      ),
    ),
  );
}
