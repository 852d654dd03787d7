import { button, iconButton } from "../components/controls.js";
import { element } from "../components/element.js";
import { t } from "../language/language.js";

/** Returns the row of a habit that is being arranged. `count`: number of habits in use. */
export function arrangeRow({ key, title, place, count }, { move, archive }) {
  const to = (target, name) => () => move({ key, title, place, name }, target);
  return element("li", { class: "card arrange", "data-habit": key },
    element("p", { class: "arrange-title" }, title),
    element("div", { class: "row-actions" },
      iconButton("up", t("Move {title} up", { title }), to(place - 1, "up"),
        { "data-name": "up", disabled: place === 1 }),
      iconButton("down", t("Move {title} down", { title }), to(place + 1, "down"),
        { "data-name": "down", disabled: place === count }),
      iconButton("archive", t("Archive {title}", { title }), archive, { "data-name": "archive" })));
}

/** Returns the row of an archived habit. `isFixed`: this device may not change it. */
export function archivedRow({ title, aim, isFixed }, { open, bringBack }) {
  return element("li", { class: "card arrange" },
    element("div", { class: "arrange-title" },
      element("button", { type: "button", class: "habit-title", "data-name": "open",
        "aria-label": t("{title}, {aim}, archived. Show its days", { title, aim }),
        on: { click: open } },
      element("span", {}, title)),
      element("p", { class: "muted small" }, aim)),
    !isFixed && button(t("Bring back"), bringBack,
      { "aria-label": t("Bring {title} back", { title }), "data-name": "back" }));
}
