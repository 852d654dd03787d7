import { member } from "../../json/jsonValue.js";
import { MergeRules } from "../../model/mergeRules.js";
import { uuid } from "../../model/name.js";
import { dayNumber, EditRefusal, findEntry, textMember, wholeMember } from "../edit.js";
import { checkInResolver } from "./checkInResolver.js";
import { HabitContents } from "./habitContents.js";
import { added, archived, changed, checked, counted, moved, removed, restored }
  from "./habitEdits.js";
import { listRules } from "./habitList.js";
import { habitConflicts } from "./habitWeek.js";

const zone = "Habits";

/**
 * Habits and their days: zone `Habits`, one record per habit, one record per habit and day on
 * which something was done, and one record with their order. Actions; `day` is written as
 * `2026-03-01`, in the person's time zone:
 *
 *     {do: "add", title, kind, target} · {do: "edit", habit, title?, kind?, target?} ·
 *     {do: "remove", habit} · {do: "restore", habit, fields} ·
 *     {do: "archive", habit, archived} · {do: "move", habit, place} ·
 *     {do: "check", habit, day, done} · {do: "count", habit, day, by} ·
 *     {do: "keep", habit, version: "local" or "cloud"}
 */
export const habitsApp = Object.freeze({
  name: "habits",
  zone,
  isOwn: true,
  types: Object.freeze(["CheckIn", "Habit", "HabitList"]),
  /**
   * Types that need consent: if a new device has none of them and finds some in the account, it
   * asks the person first whether to use them. Only habits: a person is not asked about days
   * without their habit.
   */
  asksToRestore: Object.freeze(["Habit"]),

  resolvers: Object.freeze({ CheckIn: checkInResolver }),

  /** A habit's text is a personal decision, so a conflict is never resolved automatically: the
   * person chooses a version. */
  rules: Object.freeze({ Habit: MergeRules.of({ conflict: "ask" }), HabitList: listRules }),

  outcome(state, action, random) {
    switch (member(action, "do")) {
      case "add": return added(uuid(random), action);
      case "edit": return changed(habit(new HabitContents(state), action), action);
      case "remove": return removed(habit(new HabitContents(state), action));
      case "restore": return restored(textMember(action, "habit"), action);
      case "archive": return archived(habit(new HabitContents(state), action), action);
      case "move": {
        const contents = new HabitContents(state);
        return moved(habit(contents, action), wholeMember(action, "place"), contents.inUse);
      }
      case "check": return checked(habit(new HabitContents(state), action), day(action), action);
      case "count": {
        const contents = new HabitContents(state);
        const [it, date] = [habit(contents, action), day(action)];
        return counted(it, date, wholeMember(action, "by"), contents.day(it, date));
      }
      case "keep": return kept(state, action);
      default: throw new EditRefusal("habits do not know that order");
    }
  },
});

function kept(state, action) {
  const { name } = findEntry(habitConflicts(state), textMember(action, "habit"), "conflict");
  const version = textMember(action, "version");
  if (version !== "local" && version !== "cloud") {
    throw new EditRefusal("keep local or cloud, and nothing else");
  }
  return { edits: [], decisions: [{ zone, name, keepLocal: version === "local" }] };
}

const habit = (contents, action) =>
  findEntry(contents.habits, textMember(action, "habit"), "habit");

const day = (action) => dayNumber(textMember(action, "day"));
