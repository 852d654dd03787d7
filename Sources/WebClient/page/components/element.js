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
export function svgElement(tag, properties = {}, ...children) {
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

/** Line drawings on a grid of 24 by 24, as paths. */
const paths = {
  timer: "M12 8v5l3 2M9 2h6M12 5a8 8 0 1 0 0 16 8 8 0 0 0 0-16z",
  clipboard: "M9 4H6a1 1 0 0 0-1 1v15a1 1 0 0 0 1 1h12a1 1 0 0 0 1-1V5a1 1 0 0 0-1-1h-3M9 3h6v4H9z",
  memos: "M6 3h8l5 5v13H6zM14 3v5h5M9 13h6M9 17h6",
  habits: "M4 12.5l4.5 4.5L20 6",
  files: "M3 6h7l2 2.5h9V20H3z",
  download: "M12 4v11M7 10.5l5 5 5-5M5 20h14",
  more: "M6 12h.01M12 12h.01M18 12h.01",
  devices: "M3 5h13v10H3zM1 19h13M18 9h4v11h-4z",
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  back: "M15 5l-7 7 7 7",
  forward: "M9 5l7 7-7 7",
  up: "M5 15l7-7 7 7",
  down: "M5 9l7 7 7-7",
  archive: "M3 4h18v5H3zM5 9v11h14V9M10 13h4",
  copy: "M9 9h11v12H9zM5 15H4V3h11v2",
  pin: "M8 3h8l-1 7 3 4H6l3-4zM12 14v7",
  image: "M3 5h18v14H3zM3 16l5-5 4 4 3-3 6 6M15.5 8.5h.01",
  remove: "M4 7h16M10 4h4M7 7l1 13h8l1-13M10 11v5M14 11v5",
  edit: "M4 20l1-4L16 5l3 3L8 19zM14 7l3 3",
  check: "M5 12.5l4.5 4.5L19 7",
  keyboard: "M3 6h18v12H3zM7 10h.01M11 10h.01M15 10h.01M17.5 10h.01M8 14h8",
  preview: "M2 12s4-7 10-7 10 7 10 7-4 7-10 7-10-7-10-7zM12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6z",
  history: "M4.5 9a8 8 0 1 1-.4 4.5M4 4v5h5M12 8v4.5l3 1.5",
  search: "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM15.5 15.5L21 21",
};

export function icon(name) {
  return svgElement("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" },
    svgElement("path", { d: paths[name] }));
}
