import { HabitContents } from "../../apps/habits/habitContents.js";
import { habitsApp } from "../../apps/habits/habitsApp.js";
import { dayOf } from "../../apps/universalTime.js";
import { t } from "../language/language.js";
import { limits } from "../limits.js";
import { clockTime, dayAt } from "../text/time.js";
import { dueReminders, reminderText } from "./reminderTimes.js";

/** States in which the page knows what the other devices have done, or cannot learn it. */
const knownStates = ["inSync", "needsPerson", "offline", "plan", "failed"];

/** Reminds of habits while the page is open, in any view, by a notice and by a notification where
 * the browser allows it. */
export class HabitReminders {
  #controller;
  #times;
  #notices;
  #notify;
  #timer = null;

  /**
   * @param {import("./reminderTimes.js").ReminderTimes} times
   * @param {ReturnType<import("./reminderNotices.js").systemReminderNotices>} notices
   * @param {(words: string, offer?: object) => void} notify
   */
  constructor(controller, times, notices, notify) {
    this.#controller = controller;
    this.#times = times;
    this.#notices = notices;
    this.#notify = notify;
    controller.subscribe(({ kind }) => { if (kind === "status") this.#handleStatus(); });
    this.#handleStatus();
  }

  /** `blocked`, `leftOpen`, `insecure` or `unsupported`: why the browser shows no notifications;
   * null if it does, or if the person has not been asked. */
  get obstacle() { return this.#notices.obstacle; }

  /** Returns the time of a habit's reminder: `20:00`; null if it has none. */
  time(habit) {
    const times = this.#times.of(this.#controller.status.accountID);
    return Object.hasOwn(times, habit) ? times[habit].time : null;
  }

  /** Call it in the handler of a click: browsers ask the person only then. Resolves after the
   * person's answer. */
  async set(habit, time) {
    this.#times.set(this.#controller.status.accountID, habit, time);
    this.#schedule();
    if (time !== null) await this.#notices.request();
  }

  #handleStatus() {
    const { accountID, state } = this.#controller.status;
    if (accountID === null && state === "needsPairing") this.#times.clear();
    this.#check();
  }

  /** Checks again each minute, and not at the time itself: a timer of a page that sleeps is late,
   * and the person may travel. */
  #schedule() {
    const { browser, now, status } = this.#controller;
    browser.clearTimer(this.#timer);
    if (Object.keys(this.#times.of(status.accountID)).length === 0) return;
    const rest = limits.reminderMilliseconds - now % limits.reminderMilliseconds;
    this.#timer = browser.setTimer(() => this.#check(), rest);
  }

  #check() {
    this.#schedule();
    const { status, now, minutesAhead } = this.#controller;
    const { accountID, state } = status;
    const reminders = this.#times.of(accountID);
    if (Object.keys(reminders).length === 0 || !knownStates.includes(state)) return;
    const date = dayAt(now, minutesAhead);
    const contents = new HabitContents(this.#controller.state(habitsApp));
    const due = dueReminders(reminders, contents,
      { date, day: dayOf(date), time: clockTime(now, minutesAhead) });
    if (due.length === 0) return;
    this.#times.setShown(accountID, due.map(({ name }) => name), date);
    const words = reminderText(due);
    this.#notify(words, { words: t("Show"), act: () => { location.hash = "habits"; } });
    this.#notices.show(words).catch(() => {});
  }
}
