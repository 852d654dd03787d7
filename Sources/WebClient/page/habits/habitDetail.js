import { button, iconButton } from "../components/controls.js";
import { element, setAttribute, setText, show } from "../components/element.js";
import { KeyedList } from "../components/keyedList.js";
import { t } from "../language/language.js";
import { longDate, longDay } from "../text/time.js";
import { HabitCalendar } from "./habitCalendar.js";
import { figureTexts, habitMonth, habitYear, monthOf } from "./habitCalendarModel.js";
import { dayControl } from "./habitElements.js";
import { ReminderField } from "./reminderField.js";

/** One habit: its figures, a calendar of its days, and what a person may do with it. */
export class HabitDetail {
  #handlers;
  /** Chosen day; null: today, also after midnight. */
  #date = null;
  /** Shown month or year; null: the month of the chosen day. */
  #period = null;
  #habit = null;
  #today = "";
  #back = iconButton("back", t("All habits"), () => this.#handlers.close());
  #title = element("h2", { class: "detail-title" });
  #aim = element("p", { class: "muted small" });
  #figures = element("dl", { class: "figures" });
  #figureRows = new KeyedList(this.#figures, ({ name, text, note }) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, text),
      note !== "" && element("dd", { class: "figure-note" }, note)));
  #calendar = new HabitCalendar((date) => this.#choose(date), (period) => this.#open(period));
  #month = this.#unitButton(t("Month"), () => ({ month: monthOf(this.#date ?? this.#today) }));
  #year = this.#unitButton(t("Year"), () => ({ year: (this.#date ?? this.#today).slice(0, 4) }));
  #day = element("div", { class: "detail-day" });
  #control = new KeyedList(this.#day, (row) => element("div", { class: "detail-row" },
    element("p", {}, row.words), dayControl(row, this.#handlers.act)));
  #reminder;
  #archive = button(t("Archive"), () => this.#handlers.archive(this.#habit),
    { "data-changes": true });
  node;

  /** @param {{close, act, edit, archive, refresh}} handlers called when the person does something,
   * and `reminders` */
  constructor({ reminders, ...handlers }) {
    this.#handlers = handlers;
    this.#reminder = new ReminderField(reminders);
    this.node = element("div", { class: "habit-detail", hidden: true },
      element("div", { class: "detail-head" }, this.#back,
        element("div", {}, this.#title, this.#aim)),
      this.#figures,
      element("section", { class: "card", "aria-label": t("Days") },
        element("div", { class: "units", role: "group", "aria-label": t("Calendar of") },
          this.#month, this.#year),
        this.#calendar.node, this.#day),
      this.#reminder.node,
      element("div", { class: "actions start" },
        button(t("Edit"), () => this.#handlers.edit(this.#habit), { "data-changes": true }),
        this.#archive));
  }

  /** Name of the shown habit. */
  get key() { return this.#habit?.key ?? null; }

  /** Begins with today, and moves the focus here. */
  enter() {
    this.#date = null;
    this.#period = null;
    this.#back.focus();
  }

  /** @param {object} habit with `name`, `title`, `aim`, `isFixed`; `entry` as the app has it */
  show(habit, contents, today) {
    this.#habit = habit;
    this.#today = today;
    const { entry } = habit;
    const date = this.#date ?? today;
    const figures = figureTexts(habit.figures);
    setText(this.#title, habit.title);
    setText(this.#aim,
      habit.isArchived ? t("{aim} · archived", { aim: habit.aim }) : habit.aim);
    this.#figureRows.show(figures.map(([name, text, note]) =>
      ({ key: name, name, text, note })));
    const { year, month = monthOf(date) } = this.#period ?? {};
    this.#calendar.show({ today, ...year ? { year: habitYear(contents, entry, year, today) }
      : { month: habitMonth(contents, entry, month, today, date) } });
    setAttribute(this.#month, "aria-pressed", String(!year));
    setAttribute(this.#year, "aria-pressed", String(Boolean(year)));
    show(this.#day, !year);
    const { done, total } = habit.dayState(date);
    this.#control.show([{
      key: "day", title: habit.title, kind: habit.kind, target: habit.target, done, total,
      day: date, habit: habit.key, isFixed: habit.isFixed,
      words: date === today ? t("Today, {date}", { date: longDate(date) }) : longDay(date),
    }]);
    setText(this.#archive, habit.isArchived ? t("Bring back") : t("Archive"));
    show(this.#reminder.node, !habit.isArchived);
    this.#reminder.show(habit.key);
  }

  /** Shows what this device holds anew. */
  #refresh() { this.#handlers.refresh(); }

  #choose(date) {
    this.#date = date === this.#today ? null : date;
    this.#period = null;
    this.#refresh();
  }

  #open(period) {
    this.#period = period;
    this.#refresh();
  }

  #unitButton(words, period) {
    return element("button", { type: "button", class: "unit", "aria-pressed": "false",
      on: { click: () => this.#open(period()) } }, words);
  }
}
