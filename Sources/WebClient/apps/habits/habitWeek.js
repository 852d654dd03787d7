import { isDeleted } from "../../model/resolver.js";
import { dateOf } from "../universalTime.js";
import { dayNumber, deviceName, recordsOf } from "../edit.js";
import { HabitContents, habitOf } from "./habitContents.js";

/**
 * Returns the habits with the seven days that end with `today`, and the streak of each: the number
 * of consecutive days on which the goal was reached.
 *
 * @param {string} today as 2026-03-01, in the person's time zone
 */
export function habitWeek(state, today) {
  const last = dayNumber(today);
  const contents = new HabitContents(state);
  return contents.inUse.map((habit) => ({
    ...plain(habit),
    days: [-6, -5, -4, -3, -2, -1, 0].map((offset) => entry(contents, habit, last + offset)),
    streak: contents.statistics(habit, last).streak,
  }));
}

/**
 * Returns the habits in use with their figures until `today`, as `lockstep habits stats --json` has
 * them.
 */
export function habitFigures(state, today) {
  const last = dayNumber(today);
  const contents = new HabitContents(state);
  return contents.inUse.map((habit, place) => ({
    habit: place + 1, ...plain(habit), ...datedFigures(contents.statistics(habit, last)),
  }));
}

/** Returns figures with the first day of the longest streak as a date. */
export const datedFigures = ({ longestSince, ...figures }) =>
  ({ ...figures, longestSince: longestSince === null ? null : dateOf(longestSince) });

const entry = (contents, habit, day) => ({
  day: dateOf(day), done: contents.isReached(habit, day),
  total: Number(contents.day(habit, day).total),
});

const plain = ({ name, title, kind, target }) => ({ name, title, kind, target: Number(target) });

/**
 * Returns the habits with a conflict that a person must decide: both versions of each, with the
 * time of each. A deleted version has no other data, and a version deleted on this device has no
 * time either.
 */
export function habitConflicts(state) {
  const held = new Map(recordsOf(state, "Habit").map((record) => [record.name, record]));
  return (state.asking ?? []).filter((record) => record.type === "Habit").map((cloud) => ({
    name: cloud.name,
    local: side(state, held.get(cloud.name)),
    cloud: side(state, cloud),
  }));
}

function side(state, record) {
  if (!record) return { deleted: true };
  const { modifiedAt, device } = record;
  const who = { modifiedAt, device, deviceName: deviceName(state, device) };
  if (isDeleted(record)) return { deleted: true, ...who };
  return { deleted: false, ...plain(habitOf(record)), ...who };
}
