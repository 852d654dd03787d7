import { datedFigures, habitConflicts, habitWeek } from "../../apps/habits/habitWeek.js";
import { dateOf, dayOf } from "../../apps/universalTime.js";
import { t, tCount } from "../language/language.js";
import { ago, columnWeekday, longDate, longDay } from "../text/time.js";
import { deviceLabel } from "../text/deviceText.js";
import { isReadOnly } from "../text/scopeText.js";

/** Returns the seven days that end with today, for a person to choose one. */
export function weekDays(today, chosen) {
  const last = dayOf(today);
  return habitDays(last).map((date) => ({
    date, name: columnWeekday(date), number: String(Number(date.slice(8))),
    label: date === today ? t("Today, {date}", { date: longDate(date) }) : longDay(date),
    isChosen: date === chosen, isToday: date === today,
  }));
}

const habitDays = (last) =>
  [-6, -5, -4, -3, -2, -1, 0].map((offset) =>
    dateOf(last + offset));

/** Returns the habits as rows, each with the state of the chosen day. `reminderTime`: returns a
 * habit's time of reminder, or null. */
export function habitRows(state, today, chosen, reminderTime = () => null) {
  return habitWeek(state, today).map((habit) => {
    const day = habit.days.find((it) => it.day === chosen);
    return {
      key: habit.name, title: habit.title, kind: habit.kind, target: habit.target,
      done: day.done, total: day.total, day: chosen,
      aim: aimText(habit),
      marks: habit.days.map((it) => ({
        isDone: it.done, isBegun: it.total > 0, isChosen: it.day === chosen,
      })),
      week: t("{done} of 7 days", { done: habit.days.filter((it) => it.done).length }),
      streak: habit.streak > 1 ? t("{count} days in a row", { count: habit.streak }) : "",
      reminder: reminderNote(reminderTime(habit.name)),
    };
  });
}

const reminderNote = (time) => (time === null ? "" : t("reminder {time}", { time }));

/** Returns the habits in use as rows to arrange, and the archived ones.
 * @param {import("../../apps/habits/habitContents.js").HabitContents} contents */
export function arrangement(contents) {
  const rows = (habits) => habits.map((habit, index) => ({
    key: habit.name, title: habit.title, aim: aimText(plain(habit)), place: index + 1,
    count: habits.length,
  }));
  return { inUse: rows(contents.inUse), archived: rows(contents.archived) };
}

/** Returns a habit for the view of its days; null if it is gone. */
export function habitDetail(contents, name, today) {
  const entry = contents.habits.find((habit) => habit.name === name);
  if (!entry) return null;
  const { title, kind, isArchived } = entry;
  return {
    key: name, title, kind, target: Number(entry.target), isArchived, aim: aimText(plain(entry)),
    entry, figures: datedFigures(contents.statistics(entry, dayOf(today))),
    dayState: (date) => ({
      done: contents.isReached(entry, dayOf(date)),
      total: Number(contents.day(entry, dayOf(date)).total),
    }),
  };
}

/**
 * Returns the sentence about an action, and the action that takes it back; null if there is none.
 *
 * @param {{title: string, target: number, fields: object, total: number, place: number}} habit as
 *   it was before
 */
export function undoOffer(action, habit, today) {
  const { title, target, fields } = habit;
  switch (action.do) {
    case "check": return {
      words: checkText(action, title, today), action: { ...action, done: !action.done },
    };
    case "count": return {
      words: countText(action, { title, target, total: habit.total + action.by }, today),
      action: { ...action, by: -action.by },
    };
    case "remove": return {
      words: t("“{title}” was deleted.", { title }),
      action: { do: "restore", habit: action.habit, fields },
    };
    case "archive": return {
      words: action.archived ? t("“{title}” is archived.", { title })
        : t("“{title}” is back.", { title }),
      action: { ...action, archived: !action.archived },
    };
    case "move": return {
      words: t("“{title}” is number {place} now.", { title, place: action.place }),
      action: { ...action, place: habit.place },
    };
    default: return null;
  }
}

function checkText({ day, done }, title, today) {
  if (day === today) {
    return done ? t("“{title}”: done today.", { title })
      : t("“{title}”: not done today.", { title });
  }
  const values = { title, date: longDate(day ?? today) };
  return done ? t("“{title}”: done on {date}.", values)
    : t("“{title}”: not done on {date}.", values);
}

function countText({ day }, { title, target, total }, today) {
  return day === today ? t("“{title}”: {total} of {target} today.", { title, total, target })
    : t("“{title}”: {total} of {target} on {date}.",
      { title, total, target, date: longDate(day ?? today) });
}

const plain = ({ kind, target }) => ({ kind, target: Number(target) });

const aimText = ({ kind, target }) =>
  (kind === "checkbox" ? t("Once a day")
    : tCount(target, "{count} time a day", "{count} times a day"));

/** Returns the conflicts that a person must decide: both versions of each habit. `scope`: this
 * browser's; where it may only read, its own version cannot go out. */
export function conflictCards(state, now, minutesAhead, scope = null) {
  const isFixed = isReadOnly(scope);
  return habitConflicts(state).map(({ name, local, cloud }) => ({
    key: name,
    title: (local.deleted ? cloud : local).title ?? t("A habit"),
    words: isFixed
      ? t("This browser may only read now, so its own version cannot go out. Take the other one, "
        + "or pair this browser again.")
      : t("Which version shall stay, on all devices?"),
    local: {
      ...versionText(local, now, minutesAhead), canStay: !isFixed, place: t("On this browser"),
      keep: t("Keep “{title}”, on this browser", { title: versionTitle(local) }),
    },
    cloud: {
      ...versionText(cloud, now, minutesAhead), canStay: true, place: t("On the other devices"),
      keep: t("Keep “{title}”, on the other devices", { title: versionTitle(cloud) }),
    },
  }));
}

const versionTitle = ({ deleted, title }) => (deleted ? t("Deleted") : title);

function versionText(version, now, minutesAhead) {
  const device = version.device ? deviceLabel(version.device, version.deviceName) : "";
  const when = version.modifiedAt === undefined || version.modifiedAt === 0
    ? "" : ago(version.modifiedAt, now, minutesAhead);
  return {
    title: versionTitle(version), aim: version.deleted ? "" : aimText(version),
    from: device === "" ? when : when === "" ? t("by {device}", { device })
      : t("by {device}, {when}", { device, when }),
  };
}
