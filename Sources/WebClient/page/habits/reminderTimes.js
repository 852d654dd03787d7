import { t } from "../language/language.js";
import { limits } from "../limits.js";

const key = "lockstep habit reminders";
const timeForm = /^([01]\d|2[0-3]):[0-5]\d$/;

/**
 * Times at which this browser reminds of habits, and the day of each habit's last reminder. They
 * stay in this browser, and belong to one account.
 */
export class ReminderTimes {
  #storage;
  /** Used where the browser stores nothing for the page. */
  #unstored = null;

  /** @param {Storage | null} storage */
  constructor(storage) { this.#storage = storage; }

  /** Returns `{habit: {time, shown}}`; `shown` is null before the first reminder. */
  of(account) {
    const { account: owner, habits } = this.#read();
    return owner === account ? habits : {};
  }

  /** @param {string | null} time `20:00`; null: no reminder */
  set(account, habit, time) {
    const habits = { ...this.of(account) };
    delete habits[habit];
    if (time !== null && timeForm.test(time)
      && Object.keys(habits).length < limits.habitReminders) {
      habits[habit] = { time, shown: null };
    }
    this.#write({ account, habits });
  }

  /** Marks habits as reminded of on a day. */
  setShown(account, names, day) {
    const habits = Object.entries(this.of(account)).map(([habit, reminder]) =>
      [habit, names.includes(habit) ? { ...reminder, shown: day } : reminder]);
    this.#write({ account, habits: Object.fromEntries(habits) });
  }

  clear() {
    this.#unstored = null;
    try {
      this.#storage?.removeItem(key);
    } catch {
      // A browser that stores nothing has nothing to erase.
    }
  }

  #read() {
    const nothing = { account: null, habits: {} };
    if (this.#unstored) return this.#unstored;
    try {
      const { account, habits } = JSON.parse(this.#storage?.getItem(key) ?? "{}");
      return typeof account === "string" ? { account, habits: checked(habits) } : nothing;
    } catch {
      return nothing;
    }
  }

  #write(value) {
    try {
      this.#storage.setItem(key, JSON.stringify(value));
      this.#unstored = null;
    } catch {
      this.#unstored = value;
    }
  }
}

/** Returns what has the right form, at most as many as there may be. */
function checked(habits) {
  return Object.fromEntries(Object.entries(habits ?? {})
    .filter(([, it]) => timeForm.test(it?.time))
    .slice(0, limits.habitReminders)
    .map(([habit, { time, shown }]) =>
      [habit, { time, shown: typeof shown === "string" ? shown : null }]));
}

/**
 * Returns the habits of which a person is to be reminded now: those in use whose time has come,
 * that are not done today, and that this browser has not reminded of today.
 *
 * @param {ReturnType<ReminderTimes["of"]>} reminders
 * @param {import("../../apps/habits/habitContents.js").HabitContents} contents
 * @param {{date: string, day: number, time: string}} now today's date and number, and `14:05`
 */
export function dueReminders(reminders, contents, { date, day, time }) {
  return contents.inUse.filter((habit) => {
    const reminder = Object.hasOwn(reminders, habit.name) ? reminders[habit.name] : null;
    return reminder !== null && reminder.time <= time && reminder.shown !== date
      && !contents.isReached(habit, day);
  });
}

/** Returns the sentence of a reminder. */
export function reminderText(habits) {
  const titles = habits.slice(0, limits.remindedTitles).map(({ title }) =>
    t("“{title}”", { title }));
  const named = titles.reduce((first, second) => t("{first}, {second}", { first, second }));
  const rest = habits.length - titles.length;
  return rest > 0
    ? t("Not done yet today: {habits}, and {count} more.", { habits: named, count: rest })
    : t("Not done yet today: {habits}.", { habits: named });
}
