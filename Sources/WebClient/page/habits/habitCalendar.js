import { element, icon, setText, show } from "../components/element.js";
import { iconButton } from "../components/controls.js";
import { KeyedList } from "../components/keyedList.js";
import { dateAfter, dateInMonth, monthAfter } from "./habitCalendarModel.js";

const weekdays = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

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
  #previous = iconButton("back", "Earlier", () => this.#turn(-1), { "data-name": "previous" });
  #next = iconButton("forward", "Later", () => this.#turn(1), { "data-name": "next" });
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
    setText(this.#title, month ? month.name : year.year);
    setText(this.#sum, shown.sum);
    show(this.#sum, shown.sum !== "");
    const unit = month ? "month" : "year";
    this.#limit(this.#previous, shown.hasPrevious, `Previous ${unit}`);
    this.#limit(this.#next, shown.hasNext, `Next ${unit}`);
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
    element("thead", {}, element("tr", {}, weekdays.map((day) =>
      element("th", { scope: "col", abbr: day }, day.slice(0, 2))))),
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
      const words = isFuture ? month.name : `${month.name}: ${month.sum}`;
      return element("li", {}, element("button", { type: "button", class: "year-month",
        "aria-label": `${words}. Show the month`, disabled: isFuture, "data-name": month.month,
        on: { click: () => this.#open({ month: month.month }) } },
      element("span", { class: "year-name", "aria-hidden": "true" }, month.name.slice(0, 3)),
      element("span", { class: "year-days", "aria-hidden": "true" }, month.weeks.flat().map((day) =>
        element("span", { class: "year-day", "data-none": day === null,
          "data-done": day?.isDone, "data-begun": day?.isBegun })))));
    }));
  }
}
