import { habitConflicts, habitWeek } from "../../apps/habits/habitWeek.js";
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

/** Returns the habits as rows, each with the state of the chosen day. */
export function habitRows(state, today, chosen) {
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
    };
  });
}

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
