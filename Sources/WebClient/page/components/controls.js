import { limits } from "../limits.js";
import { element, icon } from "./element.js";

let count = 0;

/** Returns an id that is unique on this page. */
export const newID = (stem) => `${stem}-${count += 1}`;

/** `kind`: `primary`, `secondary`, `quiet` or `danger` */
export function button(words, act, { kind = "secondary", ...properties } = {}) {
  return element("button", { type: "button", class: `button ${kind}`, on: { click: act },
    ...properties }, words);
}

/** Returns a button that shows only an icon; `words` are its label for screen readers. */
export function iconButton(name, words, act, properties = {}) {
  return element("button", { type: "button", class: "icon-button", "aria-label": words,
    title: words, on: { click: act }, ...properties }, icon(name));
}

/** Returns a labelled input; `hint` is shown below it. */
export function field(label, input, hint = null) {
  input.id ||= newID("field");
  const note = hint && element("p", { class: "hint", id: `${input.id}-hint` }, hint);
  if (note) input.setAttribute("aria-describedby", note.id);
  return element("div", { class: "field" }, element("label", { for: input.id }, label), input,
    note);
}

/** Returns a form that never leaves the page. */
export function form(properties, act, ...children) {
  const submitted = (event) => {
    event.preventDefault();
    act(event);
  };
  return element("form", { novalidate: true, ...properties, on: { submit: submitted } },
    ...children);
}

/** Returns a search field; `act` receives its text after each change. */
export function searchField(label, act) {
  const input = element("input", { type: "search", placeholder: label, "aria-label": label,
    autocomplete: "off", maxlength: limits.searchLength,
    on: { input: () => act(input.value) } });
  return element("div", { class: "search" }, icon("search"), input);
}

/** Returns the note for an empty list. `properties`: of its words, such as `data-changes` for words
 * that ask for a change. */
export function emptyNote(title, words, properties = {}) {
  return element("div", { class: "empty" },
    element("p", { class: "empty-title" }, title), element("p", properties, words));
}
