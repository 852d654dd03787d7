import { integer, member, setting } from "../../json/jsonValue.js";
import { limits } from "../limits.js";
import { dateOf } from "../universalTime.js";
import { scalarCount } from "../../json/utf8.js";
import { EditRefusal, isBlank, textMember, wholeMember } from "../edit.js";
import { wholeNumber } from "../../model/mergeParts.js";
import { checkInDay, checkInName, habitKinds } from "./habitContents.js";
import { archivedNames, listName, placesAfterMove } from "./habitList.js";

// Edits that a person's actions make to habits and their days.

const zone = "Habits";

export function added(name, action) {
  const fields = { title: title(action), kind: kind(action), target: target(action) };
  return { edits: [writeEdit(name, () => fields)] };
}

/** Keeps fields that this version does not know. */
export function changed(habit, action) {
  const readers = { title, kind, target };
  const changes = {};
  for (const [name, read] of Object.entries(readers)) {
    if (member(action, name) !== undefined) changes[name] = read(action);
  }
  if (Object.keys(changes).length === 0) {
    throw new EditRefusal("say what is to change: its title, kind or target");
  }
  return { edits: [writeEdit(habit.name, ({ current }) => setting(current?.fields, changes))] };
}

/** Keeps the records of its days: if the habit is restored, they are shown again. */
export function removed(habit) {
  return { edits: [writeEdit(habit.name, () => null)] };
}

/** Writes a removed habit again, with all of its fields. Its days are there still. */
export function restored(name, action) {
  const fields = member(action, "fields");
  for (const read of [title, kind, target]) read(fields);
  return { edits: [writeEdit(name, ({ current }) => current?.fields ?? fields)] };
}

export function archived({ name }, action) {
  const isArchived = member(action, "archived");
  if (typeof isArchived !== "boolean") throw new EditRefusal("archived must be true or false");
  return { edits: [listEdit((fields) => {
    const others = archivedNames(fields).filter((it) => it !== name);
    return setting(fields, { archived: isArchived ? [...others, name] : others });
  })] };
}

/** `place`: 1 for the first of the habits in use; beyond the last one, it is the last. */
export function moved(habit, place, inUse) {
  if (place < 1n) throw new EditRefusal("a place is 1 or more");
  if (habit.isArchived) {
    throw new EditRefusal(`“${habit.title}” is archived; unarchive it first`);
  }
  const others = inUse.filter(({ name }) => name !== habit.name);
  const last = BigInt(others.length);
  const index = Number(place - 1n < last ? place - 1n : last);
  const places = placesAfterMove(habit, index, others);
  return { edits: [listEdit((fields) =>
    setting(fields, { places: setting(member(fields, "places"), places) }))] };
}

export function checked(habit, day, action) {
  const done = member(action, "done");
  if (typeof done !== "boolean") throw new EditRefusal("done must be true or false");
  if (habit.kind !== "checkbox") {
    throw new EditRefusal(`“${habit.title}” is counted; use count`);
  }
  return { edits: [checkIn(habit, day, (fields) => setting(fields, { done }))] };
}

/** Adds to the device's own counter in `counts`, or to its own counter in `undone`. */
export function counted(habit, day, amount, before) {
  if (habit.kind !== "count") throw new EditRefusal(`“${habit.title}” is checked; use check`);
  const magnitude = amount < 0n ? -amount : amount;
  if (amount === 0n || magnitude > BigInt(limits.habitCount)) {
    throw new EditRefusal(`count by 1 to ${limits.habitCount}, or take as much back`);
  }
  if (before.total + amount < 0n) {
    throw new EditRefusal(`only ${before.total} can be taken back on ${dateOf(day)}`);
  }
  return {
    edits: [checkIn(habit, day, (fields, device) => {
      const list = amount > 0n ? "counts" : "undone";
      const own = wholeNumber(member(member(fields, list), device)) ?? 0n;
      const counts = setting(member(fields, list), { [device]: integer(own + magnitude) });
      const next = setting(fields, { [list]: counts });
      return setting(next, { done: checkInDay(next).total >= habit.target });
    })],
  };
}

const writeEdit = (name, make) => ({ zone, name, type: "Habit", make });

const listEdit = (make) => ({
  zone, name: listName, type: "HabitList", make: ({ current }) => make(current?.fields ?? {}),
});

function checkIn(habit, day, make) {
  const fresh = { habit: habit.name, day: dateOf(day), done: false, counts: {} };
  return {
    zone, name: checkInName(habit.name, day), type: "CheckIn",
    make: ({ current, device }) => make(current?.fields ?? fresh, device),
  };
}

function title(action) {
  const text = textMember(action, "title");
  if (isBlank(text) || scalarCount(text, limits.habitTitle + 1) > limits.habitTitle) {
    throw new EditRefusal(`a habit's title has 1 to ${limits.habitTitle} characters`);
  }
  return text;
}

function kind(action) {
  const text = textMember(action, "kind");
  if (!habitKinds.includes(text)) throw new EditRefusal("a habit is a checkbox or a count");
  return text;
}

function target(action) {
  const number = wholeMember(action, "target");
  if (number < 1n || number > BigInt(limits.habitCount)) {
    throw new EditRefusal(`a target is 1 to ${limits.habitCount}`);
  }
  return integer(number);
}
