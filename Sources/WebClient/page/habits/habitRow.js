import { iconButton } from "../components/controls.js";
import { element } from "../components/element.js";
import { icon } from "../components/icon.js";

/** Returns the row of a habit, with the control for the chosen day and the week's marks. */
export function habitRow(row, { act, edit }) {
  const { title, aim, marks, week, streak } = row;
  return element("li", { class: "card habit" },
    element("div", { class: "habit-body" },
      element("button", { type: "button", class: "habit-title", "data-name": "edit",
        "aria-label": `${title}, ${aim}. Edit`, on: { click: edit } },
      element("span", {}, title)),
      element("p", { class: "muted small" }, [aim, streak].filter(Boolean).join(" · ")),
      element("p", { class: "marks" },
        ...marks.map(({ isDone, isBegun, isChosen }) => element("span", {
          class: "mark", "data-done": isDone, "data-begun": isBegun, "data-chosen": isChosen,
        })),
        element("span", { class: "visually-hidden" }, week))),
    row.kind === "checkbox" ? checkControl(row, act) : countControl(row, act));
}

function checkControl({ key, title, done, day }, act) {
  return element("button", { type: "button", class: "check-in", role: "checkbox",
    "aria-checked": String(done), "aria-label": `${title}, done`, "data-name": "check",
    on: { click: () => act({ do: "check", habit: key, day, done: !done }) } }, icon("check"));
}

function countControl({ key, title, total, target, done, day }, act) {
  const count = (by) => () => act({ do: "count", habit: key, day, by });
  return element("div", { class: "counter", role: "group", "aria-label": title },
    iconButton("minus", `One less, ${title}`, count(-1),
      { "data-name": "less", disabled: total === 0 }),
    element("p", { class: "counter-total", "data-done": done },
      element("strong", {}, String(total)), element("span", {}, ` of ${target}`)),
    iconButton("plus", `One more, ${title}`, count(1), { "data-name": "more" }));
}
