import { datedFigures, habitConflicts, habitWeek } from "../../apps/habits/habitWeek.js";
import { dateOf, dayOf } from "../../apps/universalTime.js";
import { ago, longDate, plural, weekday } from "../text/time.js";
import { deviceLabel } from "../text/deviceText.js";
import { isReadOnly } from "../text/scopeText.js";

/** Returns the seven days that end with today, for a person to choose one. */
export function weekDays(today, chosen) {
  const last = dayOf(today);
  return habitDays(last).map((date) => ({
    date, name: weekday(date).slice(0, 2), number: String(Number(date.slice(8))),
    label: date === today ? `Today, ${longDate(date)}` : `${weekday(date)}, ${longDate(date)}`,
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
      week: `${habit.days.filter((it) => it.done).length} of 7 days`,
      streak: habit.streak > 1 ? `${habit.streak} days in a row` : "",
      reminder: reminderTime(habit.name) === null ? "" : `reminder ${reminderTime(habit.name)}`,
    };
  });
}

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
  const name = `“${title}”`;
  const when = action.day === today ? "today" : `on ${longDate(action.day ?? today)}`;
  switch (action.do) {
    case "check": return {
      words: `${name}: ${action.done ? "done" : "not done"} ${when}.`,
      action: { ...action, done: !action.done },
    };
    case "count": return {
      words: `${name}: ${habit.total + action.by} of ${target} ${when}.`,
      action: { ...action, by: -action.by },
    };
    case "remove": return {
      words: `${name} was deleted.`, action: { do: "restore", habit: action.habit, fields },
    };
    case "archive": return {
      words: `${name} ${action.archived ? "is archived" : "is back"}.`,
      action: { ...action, archived: !action.archived },
    };
    case "move": return {
      words: `${name} is number ${action.place} now.`, action: { ...action, place: habit.place },
    };
    default: return null;
  }
}

const plain = ({ kind, target }) => ({ kind, target: Number(target) });

const aimText = ({ kind, target }) =>
  kind === "checkbox" ? "Once a day" : `${plural(target, "time")} a day`;

/** Returns the conflicts that a person must decide: both versions of each habit. `scope`: this
 * browser's; where it may only read, its own version cannot go out. */
export function conflictCards(state, now, minutesAhead, scope = null) {
  const isFixed = isReadOnly(scope);
  return habitConflicts(state).map(({ name, local, cloud }) => ({
    key: name,
    title: (local.deleted ? cloud : local).title ?? "A habit",
    words: isFixed
      ? "This browser may only read now, so its own version cannot go out. Take the other one, or "
        + "pair this browser again."
      : "Which version shall stay, on all devices?",
    local: { ...versionText(local, "On this browser", now, minutesAhead), canStay: !isFixed },
    cloud: { ...versionText(cloud, "On the other devices", now, minutesAhead), canStay: true },
  }));
}

function versionText(version, place, now, minutesAhead) {
  const when = version.modifiedAt === undefined || version.modifiedAt === 0
    ? "" : `, ${ago(version.modifiedAt, now, minutesAhead)}`;
  const by = version.device ? `, by ${deviceLabel(version.device, version.deviceName)}` : "";
  return {
    place,
    title: version.deleted ? "Deleted" : version.title,
    aim: version.deleted ? "" : aimText(version),
    from: (by + when).replace(/^, /, ""),
  };
}
