import { HabitContents } from "../../apps/habits/habitContents.js";
import { habitsApp } from "../../apps/habits/habitsApp.js";
import { dayOf } from "../../apps/universalTime.js";
import { button, emptyNote } from "../components/controls.js";
import { download } from "../components/download.js";
import { element, icon, setAttribute, setText, show } from "../components/element.js";
import { KeyedList } from "../components/keyedList.js";
import { listKeys } from "../components/listKeys.js";
import { t } from "../language/language.js";
import { limits } from "../limits.js";
import { isReadOnly } from "../text/scopeText.js";
import { errorText } from "../text/errorText.js";
import { dayAt } from "../text/time.js";
import { archivedRow, arrangeRow } from "./habitArrange.js";
import { HabitDetail } from "./habitDetail.js";
import { conflictCard, habitRow, openExportChoice, openHabitForm } from "./habitElements.js";
import { habitsAsCSV, habitsAsJSON } from "./habitExport.js";
import { arrangement, conflictCards, habitDetail, habitRows, undoOffer, weekDays }
  from "./habitsModel.js";

/**
 * View of the habits: a day is chosen at the top, and each habit shows and edits its state on that
 * day. A habit opens with a calendar of its days; the list can be arranged.
 *
 * An opened habit is an entry of the browser's history, so that its Back button closes it.
 */
export class HabitsView {
  title = t("Habits");
  zone = habitsApp.zone;
  #controller;
  #notify;
  #reminders;
  /** null: today, also after midnight. */
  #day = null;
  #isArranging = false;
  /** Number of changes since the page was opened. Between them, and within half a minute, there is
   * nothing to draw. */
  #turn = 0;
  #drawn = "";
  #days = element("div", { class: "days", role: "group", "aria-label": t("Day") });
  #dayButtons = new KeyedList(this.#days, (day) => this.#dayButton(day));
  #conflicts = element("div", { class: "stack" });
  #conflictCards = new KeyedList(this.#conflicts, (card) => conflictCard(card,
    (version) => this.#act({ do: "keep", habit: card.key, version })));
  #list = element("ul", { class: "habit-rows" });
  #rows = new KeyedList(this.#list, (row) => habitRow(row, {
    act: (action) => this.#act(action), open: () => this.#open(row.key),
  }));
  #arranged = element("ul", { class: "habit-rows" });
  #arrangeRows = new KeyedList(this.#arranged, (row) => arrangeRow(row, {
    move: (from, place) => this.#move(from, place),
    archive: () => this.#act({ do: "archive", habit: row.key, archived: true }),
  }));
  #archived = element("ul", { class: "habit-rows" });
  #archivedRows = new KeyedList(this.#archived, (row) => archivedRow(row, {
    open: () => this.#open(row.key),
    bringBack: () => this.#act({ do: "archive", habit: row.key, archived: false }),
  }));
  #archive = element("details", { class: "archive" },
    element("summary", {}, t("Archived habits")), this.#archived);
  #arrange = button(t("Arrange"), () => this.#setArranging(!this.#isArranging),
    { kind: "quiet", "data-changes": true, "aria-pressed": "false" });
  #empty = emptyNote(t("No habits yet"),
    t("Add one, and check in each day from whatever is at hand."), { "data-changes": true });
  #tools = element("div", { class: "actions start" }, this.#arrange,
    button(t("Export"), () => this.#export(), { kind: "quiet" }));
  #overview;
  #detail;

  shortcuts = [
    { keys: ["n"], words: t("New habit"), act: () => this.#edit(null), changes: true },
    ...listKeys(this.#list),
  ];

  constructor(controller, notify, { reminders }) {
    this.#controller = controller;
    this.#notify = notify;
    this.#reminders = reminders;
    this.#detail = new HabitDetail({
      reminders: this.#reminders, act: (action) => this.#act(action),
      close: () => this.#close(), edit: (habit) => this.#edit(habit),
      archive: ({ key, isArchived }) =>
        this.#act({ do: "archive", habit: key, archived: !isArchived }),
      refresh: () => this.#refresh(),
    });
    this.#overview = element("div", {}, this.#days, this.#list, this.#arranged, this.#empty,
      this.#archive, this.#tools);
    this.node = element("section", { class: "view habits", "aria-labelledby": "habits-title" },
      element("div", { class: "view-head" },
        element("h1", { id: "habits-title" }, t("Habits")),
        button([icon("plus"), t("New habit")], () => this.#edit(null),
          { kind: "primary", "data-changes": true })),
      this.#conflicts, this.#overview, this.#detail.node);
    controller.subscribe(() => { this.#turn += 1; });
    addEventListener("popstate", () => this.#handleHistory());
  }

  enter() {
    this.#day = null;
    this.#isArranging = false;
    this.#turn += 1;
  }

  show() {
    const { now, minutesAhead, status } = this.#controller;
    const drawn = [this.#turn, Math.floor(now / limits.drawMilliseconds), minutesAhead,
      status.state, status.accountID].join(" ");
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    const state = this.#controller.state(habitsApp);
    const today = dayAt(now, minutesAhead);
    this.#conflictCards.show(conflictCards(state, now, minutesAhead, status.scope));
    show(this.#conflicts, this.#conflicts.childElementCount > 0);
    const contents = new HabitContents(state);
    const detail = this.#openName && habitDetail(contents, this.#openName, today);
    show(this.#overview, !detail);
    show(this.#detail.node, Boolean(detail));
    if (detail) {
      this.#detail.show({ ...detail, isFixed: this.#isFixed }, contents, today);
    } else {
      this.#showOverview(state, contents, today);
    }
  }

  get #isFixed() { return isReadOnly(this.#controller.status.scope); }

  #showOverview(state, contents, today) {
    const days = weekDays(today, this.#day ?? today);
    // The week has moved on, and no longer includes the chosen day.
    if (!days.some((it) => it.isChosen)) return this.#choose(null);
    const isFixed = this.#isFixed;
    const { inUse, archived } = arrangement(contents);
    const isArranging = this.#isArranging && !isFixed && inUse.length > 0;
    const rows = habitRows(state, today, this.#day ?? today,
      (habit) => this.#reminders.time(habit));
    this.#dayButtons.show(days.map((day) => ({ key: day.date, ...day })));
    this.#rows.show(rows.map((row) => ({ ...row, isFixed })));
    this.#arrangeRows.show(isArranging ? inUse : []);
    this.#archivedRows.show(archived.map((row) => ({ ...row, isFixed })));
    setText(this.#arrange, isArranging ? t("Done") : t("Arrange"));
    setAttribute(this.#arrange, "aria-pressed", String(isArranging));
    show(this.#list, !isArranging);
    show(this.#arranged, isArranging);
    show(this.#days, rows.length > 0 && !isArranging);
    show(this.#arrange, inUse.length > 0);
    show(this.#archive, archived.length > 0);
    show(this.#tools, contents.habits.length > 0);
    show(this.#empty, contents.habits.length === 0 && this.#conflicts.childElementCount === 0);
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
    this.#refresh();
  }

  #refresh() {
    this.#turn += 1;
    this.show();
  }

  #setArranging(isArranging) {
    this.#isArranging = isArranging;
    this.#refresh();
  }

  // The opened habit.

  /** Name of the habit that the browser's history has opened; null if there is none. */
  get #openName() {
    const name = history.state?.habit;
    return typeof name === "string" ? name : null;
  }

  #open(name) {
    history.pushState({ habit: name }, "");
    this.#refresh();
    this.#detail.enter();
    this.#refresh();
    scrollTo(0, 0);
  }

  #close() { history.back(); }

  #handleHistory() {
    if (!this.node.isConnected) return;
    const former = this.#detail.key;
    const hadFocus = this.#detail.node.contains(document.activeElement);
    this.#refresh();
    if (this.#openName) this.#detail.enter();
    else if (hadFocus || document.activeElement === document.body) this.#focus(former, "open");
  }

  /** Moves the focus to a control in the row of a habit. */
  #focus(habit, ...names) {
    const rows = [...this.#overview.querySelectorAll("[data-habit]")];
    const row = rows.find((it) => it.dataset.habit === habit && it.checkVisibility());
    const found = names.map((name) => row?.querySelector(`[data-name="${name}"]:enabled`));
    found.find(Boolean)?.focus();
  }

  // What a person does.

  #edit(habit) {
    openHabitForm(habit, {
      save: (fields) => this.#controller.act(habitsApp,
        habit ? { do: "edit", habit: habit.key, ...fields } : { do: "add", ...fields }),
      remove: () => this.#remove(habit.key),
    });
  }

  async #remove(habit) {
    const isOpen = this.#openName === habit;
    if (await this.#act({ do: "remove", habit }) && isOpen) this.#close();
  }

  async #move({ key, place, name }, target) {
    if (!await this.#act({ do: "move", habit: key, place: target }, { place })) return;
    this.#refresh();
    this.#focus(key, name, name === "up" ? "down" : "up");
  }

  /** Performs an action, and offers to take it back. `before`: what the records do not tell. */
  async #act(action, before = {}) {
    const offer = this.#offer(action, before);
    try {
      await this.#controller.act(habitsApp, action);
    } catch (error) {
      this.#notify(errorText(error));
      return false;
    }
    if (offer) {
      this.#notify(offer.words, { words: t("Undo"), act: () => this.#takeBack(offer.action) });
    }
    return true;
  }

  #offer(action, before) {
    const { now, minutesAhead, lockstep } = this.#controller;
    const contents = new HabitContents(this.#controller.state(habitsApp));
    const habit = contents.habits.find(({ name }) => name === action.habit);
    if (!habit) return null;
    const day = dayOf(action.day);
    return undoOffer(action, {
      title: habit.title, target: habit.target, ...before,
      fields: lockstep.record(habitsApp.zone, habit.name)?.fields,
      total: day === undefined ? 0 : Number(contents.day(habit, day).total),
    }, dayAt(now, minutesAhead));
  }

  async #takeBack(action) {
    try {
      await this.#controller.act(habitsApp, action);
      this.#notify(t("Taken back."));
    } catch (error) {
      this.#notify(errorText(error));
    }
  }

  #export() {
    const { now, minutesAhead, browser } = this.#controller;
    const state = this.#controller.state(habitsApp);
    const today = dayAt(now, minutesAhead);
    const save = (ending, type, text) =>
      download(browser, `lockstep-habits-${today}.${ending}`, type, text);
    openExportChoice({
      csv: () => save("csv", "text/csv", habitsAsCSV(state)),
      json: () => save("json", "application/json", habitsAsJSON(state, today)),
    });
  }
}
