import { habitsApp } from "../../apps/habits/habitsApp.js";
import { button, emptyNote } from "../components/controls.js";
import { element, icon, setAttribute, show } from "../components/element.js";
import { KeyedList } from "../components/keyedList.js";
import { listKeys } from "../components/listKeys.js";
import { isReadOnly } from "../text/scopeText.js";
import { errorText } from "../text/syncText.js";
import { dayAt } from "../text/time.js";
import { conflictCard, habitRow, openHabitForm } from "./habitElements.js";
import { conflictCards, habitRows, weekDays } from "./habitsModel.js";

/** View of the habits: a day is chosen at the top, and each habit shows and edits its state on that
 * day. */
export class HabitsView {
  title = "Habits";
  zone = habitsApp.zone;
  #controller;
  #notify;
  /** null: today, also after midnight. */
  #day = null;
  #days = element("div", { class: "days", role: "group", "aria-label": "Day" });
  #dayButtons = new KeyedList(this.#days, (day) => this.#dayButton(day));
  #conflicts = element("div", { class: "stack" });
  #conflictCards = new KeyedList(this.#conflicts, (card) => conflictCard(card,
    (version) => this.#act({ do: "keep", habit: card.key, version })));
  #list = element("ul", { class: "habit-rows" });
  #rows = new KeyedList(this.#list, (row) => habitRow(row, {
    act: (action) => this.#act(action), edit: () => this.#edit(row),
  }));
  #empty = emptyNote("No habits yet", "Add one, and check in each day from whatever is at hand.",
    { "data-changes": true });

  shortcuts = [
    { keys: ["n"], words: "New habit", act: () => this.#edit(null), changes: true },
    ...listKeys(this.#list),
  ];

  constructor(controller, notify) {
    this.#controller = controller;
    this.#notify = notify;
    this.node = element("section", { class: "view habits", "aria-labelledby": "habits-title" },
      element("div", { class: "view-head" },
        element("h1", { id: "habits-title" }, "Habits"),
        button([icon("plus"), "New habit"], () => this.#edit(null),
          { kind: "primary", "data-changes": true })),
      this.#conflicts, this.#days, this.#list, this.#empty);
  }

  enter() { this.#day = null; }

  show() {
    const { now, minutesAhead } = this.#controller;
    const state = this.#controller.state(habitsApp);
    const today = dayAt(now, minutesAhead);
    const days = weekDays(today, this.#day ?? today);
    // The week has moved on, and no longer includes the chosen day.
    if (!days.some((it) => it.isChosen)) return this.#choose(null);
    const rows = habitRows(state, today, this.#day ?? today);
    this.#dayButtons.show(days.map((day) => ({ key: day.date, ...day })));
    const { scope } = this.#controller.status;
    this.#conflictCards.show(conflictCards(state, now, minutesAhead, scope));
    const isFixed = isReadOnly(scope);
    this.#rows.show(rows.map((row) => ({ ...row, isFixed })));
    show(this.#conflicts, this.#conflicts.childElementCount > 0);
    show(this.#days, rows.length > 0);
    show(this.#empty, rows.length === 0 && this.#conflicts.childElementCount === 0);
  }

  #dayButton({ date, name, number, label, isChosen, isToday }) {
    const node = element("button", { type: "button", class: "day", "aria-label": label,
      "aria-pressed": String(isChosen), "data-name": "day",
      on: { click: () => this.#choose(isToday ? null : date) } },
    element("span", { class: "day-name" }, name), element("span", { class: "day-number" }, number));
    setAttribute(node, "data-today", isToday);
    return node;
  }

  #choose(date) {
    this.#day = date;
    this.show();
  }

  #edit(habit) {
    openHabitForm(habit, {
      save: (fields) => this.#controller.act(habitsApp,
        habit ? { do: "edit", habit: habit.key, ...fields } : { do: "add", ...fields }),
      remove: () => this.#act({ do: "remove", habit: habit.key }),
    });
  }

  async #act(action) {
    try {
      await this.#controller.act(habitsApp, action);
    } catch (error) {
      this.#notify(errorText(error));
    }
  }
}
