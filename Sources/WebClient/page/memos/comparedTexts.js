import { element } from "../components/element.js";
import { tCount } from "../language/language.js";
import { limits } from "../limits.js";
import { lineDifferences } from "./lineDifferences.js";

/**
 * Shows two texts beside each other, on a narrow screen one below the other. Lines that only one of
 * them has are marked.
 *
 * @param {{title: string, about: string, text: string, action?: Element}[]} sides two
 */
export function comparedTexts(sides) {
  const { left, right } = lineDifferences(...sides.map(({ text }) => text));
  return element("div", { class: "versions" }, sides.map(({ title, about, action }, index) =>
    element("section", { class: "version", "aria-label": title },
      element("h3", { class: "version-title" }, title),
      element("p", { class: "muted small" }, about),
      element("div", { class: "version-text", tabindex: 0, role: "group", "aria-label": title },
        lineElements([left, right][index])),
      action)));
}

function lineElements(lines) {
  const shown = lines.slice(0, limits.comparedLines).map(({ text, isChanged }) =>
    element(isChanged ? "mark" : "span", { class: "version-line" }, text));
  const rest = lines.length - shown.length;
  if (rest <= 0) return shown;
  return [...shown, element("p", { class: "muted" },
    tCount(rest, "And {count} line.", "And {count} lines."))];
}
