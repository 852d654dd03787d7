/**
 * Makes an element. Text is always inserted as text, never as markup, whatever its source is.
 *
 *     element("button", { class: "quiet", type: "button", on: { click: act } }, "Copy")
 *
 * A property that is `null`, `undefined` or `false` is left out; `true` is an attribute without a
 * value; `on` has the listeners.
 */
export function element(tag, properties = {}, ...children) {
  return filled(document.createElement(tag), properties, children);
}

const vectorNamespace = "http://www.w3.org/2000/svg";

/** The same for SVG elements. */
export function drawing(tag, properties = {}, ...children) {
  return filled(document.createElementNS(vectorNamespace, tag), properties, children);
}

function filled(node, { on = {}, ...attributes }, children) {
  for (const [name, value] of Object.entries(attributes)) setAttribute(node, name, value);
  for (const [name, listener] of Object.entries(on)) node.addEventListener(name, listener);
  node.append(...children.flat().filter((it) => it !== null && it !== undefined && it !== false));
  return node;
}

/** Writes only a changed value, so that screen readers do not announce it twice. */
export function setAttribute(node, name, value) {
  if (value === null || value === undefined || value === false) {
    if (node.hasAttribute(name)) node.removeAttribute(name);
    return;
  }
  const text = value === true ? "" : String(value);
  if (node.getAttribute(name) !== text) node.setAttribute(name, text);
}

export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function show(node, isShown) {
  if (node.hidden === isShown) node.hidden = !isShown;
}
