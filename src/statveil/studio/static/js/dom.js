// Elements made of names, attributes and texts. Texts become text nodes only: a column called <script> is shown, never run.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, heard] of Object.entries(value)) element.addEventListener(event, heard);
    else if (name === "value" || name === "checked" || name === "selected") element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  add(element, children);
  return element;
}

function add(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/** An HTML element. */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function s(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** Sets attributes anew; null takes one away. */
export function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === false) element.removeAttribute(name);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

/** Puts children in the place of what an element held; focus and selection stay where they were, by id. */
export function replace(element, ...children) {
  const held = element.contains(document.activeElement) ? document.activeElement : null;
  const kept = held && held.id ? { id: held.id, from: caret(held, "selectionStart"), to: caret(held, "selectionEnd") } : null;
  element.replaceChildren();
  add(element, children);
  if (!kept) return;
  const found = document.getElementById(kept.id);
  if (!found || found === document.activeElement) return;
  found.focus({ preventScroll: true });
  if (kept.from !== null && typeof found.setSelectionRange === "function") {
    try {
      found.setSelectionRange(kept.from, kept.to);
    } catch {
      // a box that is ticked has no selection
    }
  }
}

const drawnOf = new WeakMap();

/** Replaces what an element holds only where `state` is another than before: a button is not taken away under a click. */
export function renew(element, state, make) {
  const text = JSON.stringify(state ?? null);
  if (drawnOf.get(element) === text) return;
  drawnOf.set(element, text);
  replace(element, make());
}

function caret(element, name) {
  try {
    return element[name] ?? null;
  } catch {
    return null;
  }
}

/** A sentence from the server with a capital letter; on the command line it follows the program's name. */
export const sentence = (text) => (text ? text.charAt(0).toUpperCase() + text.slice(1) : text);

/** Paragraphs, one for each sentence of a list or for a single text. */
export function paragraphs(words, attributes = {}) {
  const list = Array.isArray(words) ? words : words ? [words] : [];
  return list.map((text) => h("p", attributes, sentence(text)));
}

/** A function that waits until nobody has called it for a while. */
export function later(milliseconds, does) {
  let timer = 0;
  const call = (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => does(...given), milliseconds);
  };
  call.cancel = () => clearTimeout(timer);
  return call;
}
