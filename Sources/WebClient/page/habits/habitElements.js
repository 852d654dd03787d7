import { limits } from "../../apps/limits.js";
import { button, field, form, iconButton, newID } from "../components/controls.js";
import { confirmAction, openDialog } from "../components/dialog.js";
import { element, icon, show } from "../components/element.js";
import { swipeable } from "../components/swipe.js";
import { t } from "../language/language.js";
import { errorText } from "../text/errorText.js";

/** Returns the row of a habit, with the control for the chosen day and the week's marks. `isFixed`:
 * this device may not change it. */
export function habitRow(row, { act, open }) {
  const { key, title, aim, marks, week, streak, reminder } = row;
  const node = element("li", { class: "card habit", "data-habit": key },
    element("div", { class: "habit-body" },
      element("button", { type: "button", class: "habit-title", "data-name": "open",
        "aria-label": t("{title}, {aim}. Show its days", { title, aim }), on: { click: open } },
      element("span", {}, title)),
      element("p", { class: "muted small" }, [aim, streak, reminder].filter(Boolean).join(" · ")),
      element("p", { class: "marks" },
        ...marks.map(({ isDone, isBegun, isChosen }) => element("span", {
          class: "mark", "data-done": isDone, "data-begun": isBegun, "data-chosen": isChosen,
        })),
        element("span", { class: "visually-hidden" }, week))),
    dayControl({ ...row, habit: key }, act));
  return swipeable(node, row.kind === "checkbox" ? checkSwipes(row, act) : countSwipes(row, act));
}

function checkSwipes({ key, day }, act) {
  const check = (done) => () => act({ do: "check", habit: key, day, done });
  return {
    right: { icon: "check", words: t("Done"), act: check(true), changes: true },
    left: { icon: "minus", words: t("Not done"), act: check(false), changes: true },
  };
}

function countSwipes({ key, total, day }, act) {
  const count = (by) => () => act({ do: "count", habit: key, day, by });
  return {
    right: { icon: "plus", words: t("One more"), act: count(1), changes: true },
    ...total > 0 && {
      left: { icon: "minus", words: t("One less"), act: count(-1), changes: true },
    },
  };
}

/** Returns the control for one day of a habit. `habit`: its name. */
export const dayControl = (row, act) =>
  (row.kind === "checkbox" ? checkControl(row, act) : countControl(row, act));

function checkControl({ habit, title, done, day, isFixed }, act) {
  return element("button", { type: "button", class: "check-in", role: "checkbox", disabled: isFixed,
    "aria-checked": String(done), "aria-label": t("{title}, done", { title }),
    "data-name": "check",
    on: { click: () => act({ do: "check", habit, day, done: !done }) } }, icon("check"));
}

function countControl({ habit, title, total, target, done, day }, act) {
  const count = (by) => () => act({ do: "count", habit, day, by });
  return element("div", { class: "counter", role: "group", "aria-label": title },
    iconButton("minus", t("One less, {title}", { title }), count(-1),
      { "data-name": "less", "data-changes": true, disabled: total === 0 }),
    element("p", { class: "counter-total", "data-done": done },
      element("strong", {}, String(total)), " ",
      element("span", {}, t("of {target}", { target }))),
    iconButton("plus", t("One more, {title}", { title }), count(1),
      { "data-name": "more", "data-changes": true }));
}

/** Card for a habit with a conflict, which only the person resolves. */
export function conflictCard({ title, words, local, cloud }, keep) {
  const id = newID("conflict");
  return element("section", { class: "card conflict", "aria-labelledby": id },
    element("h2", { id }, t("“{title}” was changed in two places", { title })),
    element("p", { class: "muted" }, words),
    element("div", { class: "versions" },
      version(local, () => keep("local")), version(cloud, () => keep("cloud"))));
}

function version({ place, title, aim, from, keep, canStay }, act) {
  return element("div", { class: "version" },
    element("p", { class: "muted small" }, place),
    element("p", { class: "version-title" }, title),
    element("p", {}, aim),
    element("p", { class: "muted small" }, from),
    canStay && button(t("Keep this"), act, { "aria-label": keep }));
}

/** Asks for the form of an export. */
export function openExportChoice({ csv, json }) {
  const chosen = (save) => () => {
    dialog.close();
    save();
  };
  const dialog = openDialog(t("Export the habits"), [
    element("p", {}, t("A file with all habits and their days, also the archived ones. It is "
      + "not sealed: who has the file can read it.")),
    element("div", { class: "actions" },
      button(t("Cancel"), () => dialog.close()),
      button(t("CSV, for a spreadsheet"), chosen(csv)),
      button(t("JSON, with figures"), chosen(json))),
  ]);
  dialog.addEventListener("close", () => dialog.remove());
}

/** Opens a form for a habit's title and goal per day. `habit` is null for a new one. */
export function openHabitForm(habit, { save, remove }) {
  const title = element("input", { type: "text", value: habit?.title ?? "", autocomplete: "off",
    maxlength: limits.habitTitle });
  const times = element("input", { type: "number", min: 1, max: limits.habitCount, step: 1,
    inputmode: "numeric", value: habit?.kind === "count" ? habit.target : 1 });
  const problem = element("p", { class: "problem", role: "alert", hidden: true });
  const saved = async () => {
    const target = Number(times.value);
    // A counted habit stays counted, also with a goal of one.
    const kind = target === 1 && habit?.kind !== "count" ? "checkbox" : "count";
    try {
      await save({ title: title.value, kind, target });
      dialog.close();
    } catch (error) {
      problem.textContent = errorText(error);
      show(problem, true);
    }
  };
  const removed = async () => {
    dialog.close();
    const isConfirmed = await confirmAction({
      title: t("Delete “{title}”?", { title: habit.title }), yes: t("Delete"),
      words: t("It goes from all of your devices. Its days come back if it does."),
    });
    if (isConfirmed) remove();
  };
  const dialog = openDialog(habit ? t("Edit the habit") : t("New habit"), [
    form({ class: "stack" }, saved,
      field(t("What you want to do"), title), field(t("Times a day"), times), problem,
      element("div", { class: "actions" },
        habit && button(t("Delete"), removed, { kind: "danger", class: "button danger apart" }),
        button(t("Cancel"), () => dialog.close()),
        element("button", { type: "submit", class: "button primary" }, t("Save")))),
  ]);
  dialog.addEventListener("close", () => dialog.remove());
  title.focus();
}
