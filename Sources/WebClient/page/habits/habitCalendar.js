import { element, icon, setText, show } from "../components/element.js";
import { iconButton } from "../components/controls.js";
import { KeyedList } from "../components/keyedList.js";
import { t } from "../language/language.js";
import { columnWeekday, shortMonth, weekday, yearName } from "../text/time.js";
import { dateAfter, dateInMonth, monthAfter } from "./habitCalendarModel.js";

/** A week from Monday to Sunday, for the names of the columns. */
const anyWeek = ["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04", "2024-01-05",
  "2024-01-06", "2024-01-07"];

/** Keys that move the chosen day, each with the day that it leads to. */
const moves = {
  ArrowLeft: (date, today) => dateAfter(date, -1, today),
  ArrowRight: (date, today) => dateAfter(date, 1, today),
  ArrowUp: (date, today) => dateAfter(date, -7, today),
  ArrowDown: (date, today) => dateAfter(date, 7, today),
  Home: (date, today) => dateAfter(date, -weekdayIndex(date), today),
  End: (date, today) => dateAfter(date, 6 - weekdayIndex(date), today),
  PageUp: (date, today) => dateInMonth(date, -1, today),
  PageDown: (date, today) => dateInMonth(date, 1, today),
};

/** 0 for Monday to 6 for Sunday. */
const weekdayIndex = (date) => (new Date(`${date}T00:00:00Z`).getUTCDay() + 6) % 7;

/** Calendar of a month or of a year of one habit. */
export class HabitCalendar {
  #choose;
  #open;
  #today = "";
  #title = element("p", { class: "calendar-title", "aria-live": "polite" });
  #sum = element("p", { class: "muted small" });
  #previous = iconButton("back", t("Earlier"), () => this.#turn(-1), { "data-name": "previous" });
  #next = iconButton("forward", t("Later"), () => this.#turn(1), { "data-name": "next" });
  #body = element("div", {});
  #months = new KeyedList(this.#body, (month) => this.#monthTable(month));
  #years = new KeyedList(this.#body, (year) => this.#yearGrid(year));
  #shown = null;
  node = element("div", { class: "calendar" },
    element("div", { class: "calendar-head" }, this.#previous,
      element("div", {}, this.#title, this.#sum), this.#next),
    this.#body);

  /**
   * @param {(date: string) => void} choose called with a day, which may be in another month
   * @param {(period: {month?: string, year?: string}) => void} open called with a month or a year
   */
  constructor(choose, open) {
    this.#choose = choose;
    this.#open = open;
  }

  /** @param {{month?: object, year?: object, today: string}} model one of the two */
  show({ month, year, today }) {
    this.#today = today;
    const shown = month ?? year;
    this.#shown = shown;
    this.#months.show(month ? [month] : []);
    this.#years.show(year ? [year] : []);
    setText(this.#title, month ? month.name : yearName(year.year));
    setText(this.#sum, shown.sum);
    show(this.#sum, shown.sum !== "");
    this.#limit(this.#previous, shown.hasPrevious,
      month ? t("Previous month") : t("Previous year"));
    this.#limit(this.#next, shown.hasNext, month ? t("Next month") : t("Next year"));
  }

  /** Moves the focus to the chosen day. */
  focusDay() { this.#body.querySelector('[tabindex="0"]')?.focus(); }

  #limit(button, isPossible, words) {
    button.disabled = !isPossible;
    button.setAttribute("aria-label", words);
    button.title = words;
  }

  #turn(count) {
    const { month, year } = this.#shown;
    this.#open(month ? { month: monthAfter(month, count) }
      : { year: monthAfter(`${year}-01`, 12 * count).slice(0, 4) });
  }

  #monthTable({ name, weeks }) {
    const days = weeks.flat().filter((day) => day !== null && !day.isFuture);
    // One day is in the order of the Tab key; the arrow keys lead to the others.
    const entry = days.find(({ isChosen }) => isChosen) ?? days.at(-1);
    return element("table", { class: "month", role: "grid", "aria-label": name,
      on: { keydown: (event) => this.#handleKey(event) } },
    element("thead", {}, element("tr", {}, anyWeek.map((date) =>
      element("th", { scope: "col", abbr: weekday(date) }, columnWeekday(date))))),
    element("tbody", {}, weeks.map((week) => element("tr", {}, week.map((day) =>
      element("td", {}, day && this.#dayButton(day, day === entry)))))));
  }

  #dayButton({ date, number, label, isDone, isBegun, isFuture, isToday, isChosen }, isEntry) {
    return element("button", { type: "button", class: "month-day", "data-name": date,
      "aria-label": label, "aria-pressed": String(isChosen), disabled: isFuture,
      "aria-current": isToday && "date", tabindex: isEntry ? 0 : -1, "data-done": isDone,
      "data-begun": isBegun, on: { click: () => this.#choose(date) } },
    element("span", {}, number), isDone && icon("check"));
  }

  #handleKey(event) {
    const date = event.target.dataset?.name;
    const isOther = event.altKey || event.ctrlKey || event.metaKey || event.shiftKey;
    if (!date || isOther || !Object.hasOwn(moves, event.key)) return;
    event.preventDefault();
    this.#choose(moves[event.key](date, this.#today));
    this.focusDay();
  }

  #yearGrid({ months }) {
    return element("ul", { class: "year" }, months.map((month) => {
      const isFuture = month.past === 0;
      const { name, sum } = month;
      const words = isFuture ? t("{month}. Show the month", { month: name })
        : t("{month}: {sum}. Show the month", { month: name, sum });
      return element("li", {}, element("button", { type: "button", class: "year-month",
        "aria-label": words, disabled: isFuture, "data-name": month.month,
        on: { click: () => this.#open({ month: month.month }) } },
      element("span", { class: "year-name", "aria-hidden": "true" }, shortMonth(month.month)),
      element("span", { class: "year-days", "aria-hidden": "true" }, month.weeks.flat().map((day) =>
        element("span", { class: "year-day", "data-none": day === null,
          "data-done": day?.isDone, "data-begun": day?.isBegun })))));
    }));
  }
}
