import { member } from "../../changes/json.js";
import { uuid } from "../../changes/uuid.js";
import { goodDay, whole, word } from "../actionWords.js";
import { chosen } from "../edit.js";
import { EditRefusal } from "../editRefusal.js";
import { checkInResolver } from "./checkInResolver.js";
import { HabitContents } from "./habitContents.js";
import { added, changed, checked, counted, removed } from "./habitEdits.js";
import { habitResolver } from "./habitResolver.js";
import { habitConflicts } from "./habitWeek.js";

const zone = "Habits";

/**
 * Habits and their days: zone `Habits`, one record per habit, and one record per habit and day on
 * which something was done. Actions; `day` is written as `2026-03-01`, in the person's time zone:
 *
 *     {do: "add", title, kind, target} · {do: "edit", habit, title?, kind?, target?} ·
 *     {do: "remove", habit} · {do: "check", habit, day, done} · {do: "count", habit, day, by} ·
 *     {do: "keep", habit, version: "local" or "cloud"}
 */
export const habitsApp = Object.freeze({
  name: "habits",
  zone,
  types: Object.freeze(["CheckIn", "Habit"]),
  /**
   * Types that need consent: if a new device has none of them and finds some in the account, it
   * asks the person first whether to use them. Only habits: a person is not asked about days
   * without their habit.
   */
  asksToRestore: Object.freeze(["Habit"]),

  resolvers: Object.freeze({ CheckIn: checkInResolver, Habit: habitResolver }),

  outcome(state, action, random) {
    switch (member(action, "do")) {
      case "add": return added(uuid(random), action);
      case "edit": return changed(habit(new HabitContents(state), action), action);
      case "remove": return removed(habit(new HabitContents(state), action));
      case "check": return checked(habit(new HabitContents(state), action), day(action), action);
      case "count": {
        const book = new HabitContents(state);
        const [it, date] = [habit(book, action), day(action)];
        return counted(it, date, whole(action, "by"), book.day(it, date));
      }
      case "keep": return kept(state, action);
      default: throw new EditRefusal("habits do not know that order");
    }
  },
});

function kept(state, action) {
  const { name } = chosen(habitConflicts(state), word(action, "habit"), "conflict");
  const version = word(action, "version");
  if (version !== "local" && version !== "cloud") {
    throw new EditRefusal("keep local or cloud, and nothing else");
  }
  return { edits: [], decisions: [{ zone, name, keepLocal: version === "local" }] };
}

const habit = (book, action) => chosen(book.habits, word(action, "habit"), "habit");

const day = (action) => goodDay(word(action, "day"));
