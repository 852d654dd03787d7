import { numberOf, setting } from "../../../Sources/WebClient/json/jsonValue.js";
import { act } from "./conflicts.js";
import { SeededRandom } from "./seededRandom.js";

// Random conflicts, close enough together that every rule applies. Some versions are incomplete or
// malformed, as another program might have written them.

const devices = ["Mac", "mac", "iphone", "电脑", "watch", "é", "e\u0301", "\uffee", "😀"];
const oddNumbers = [
  "9007199254740993", "-9007199254740993", "9223372036854775807", "9223372036854775808",
  "1e300", "-1e300", "1e400", "1e999999999999999999999", "0.1234567890123456789", "2.5", "-0.5",
  "1e-7", "123456789012345678901234567890", "9007199254740992.5", "1152921504606846977",
].map(numberOf);

const fieldsOf = {
  TimerState: timerFields, Settings: settings, ClipboardItem: clipboardItem, Memo: memo,
  Habit: habit, CheckIn: checkIn, HabitList: habitList,
};

export const types = Object.keys(fieldsOf);

/** Returns the case of a record type for a seed. */
export function randomCase(type, seed) {
  const random = new SeededRandom(seed);
  const version = () => {
    const fields = random.below(8) === 0 ? null : fieldsOf[type](random);
    return {
      name: "current", fields, modifiedAt: random.below(4), device: random.pick(devices),
      deleted: fields === null,
    };
  };
  const base = random.below(4) === 0 ? null : version();
  return { type, base, local: version(), server: version() };
}

export function randomEdit(deviceID, timestamp, random) {
  const stateType = random.pick(["idle", "focus", "breakTime", "snooze"]);
  const left = random.pick([1_000, 4_000, 60_000, 61_000, 1_500_000]);
  const isIdle = stateType === "idle";
  return {
    deviceID, timestamp, stateType, isPaused: !isIdle && random.bool(),
    remaining: isIdle ? 0 : left,
  };
}

function timerFields(random) {
  const edits = Array.from({ length: random.below(4) }, () => oddEdit(random));
  const fields = { completedPomodoros: random.below(4), edits };
  switch (random.below(10)) {
    case 0: return setting(fields, { completedPomodoros: undefined });
    case 1: return setting(fields, { edits: "none" });
    case 2: return setting(fields, { theme: random.pick(["dark", 5, null]) });
    case 3: return setting(fields, { completedPomodoros: random.pick(oddNumbers) });
    default: return fields;
  }
}

function oddEdit(random) {
  const stamp = random.pick([0, 1, 4_000, 5_001, 9_000]);
  const edit = randomEdit(random.pick(devices), stamp, random);
  switch (random.below(18)) {
    case 0: return setting(edit, { stateType: "daydream" });
    case 1: return setting(edit, { sessionID: random.pick(devices) });
    case 2: return setting(edit, { remaining: random.bool() ? undefined : "x" });
    case 3: return setting(edit, { timestamp: random.pick(oddNumbers) });
    case 4: return setting(edit, { isPaused: null });
    case 5: return setting(edit, { deviceID: stamp });
    case 6: return [edit];
    case 7: return setting(edit, { remaining: random.pick(oddNumbers) });
    case 8: case 9: case 10:
      return setting(edit, { act: act(random.pick([0, 1, 4_000]), "focus", { left: 9 }) });
    case 11: return setting(edit, {
      act: random.pick([null, {}, { timestamp: random.pick(oddNumbers) }]),
    });
    default: return edit;
  }
}

function settings(random) {
  const fields = {};
  for (const name of ["focusMinutes", "longBreakEvery", "autoStart", "é", "e\u0301", "toString"]) {
    const values = [1, 2, true, null, { b: [1, 2], a: 1 }, random.pick(oddNumbers)];
    if (random.below(3) > 0) fields[name] = random.pick(values);
  }
  const named = random.below(5) === 0 ? { ["__proto__"]: random.below(3) } : {};
  return setting(fields, named);
}

function clipboardItem(random) {
  const content = random.pick(["", "a", "é", "e\u0301", "\u2028\u007f\u0001\"\\/", null, 5]);
  return setting({ content }, random.below(3) === 0
    ? { pinned: random.pick([true, true, "yes"]), copiedAt: random.pick([4, 6, "never"]) } : {});
}

function memo(random) {
  const content = random.pick([
    "", "one", "two\nlines", "two\r\nlines", "é", "😀".repeat(120), null,
  ]);
  return setting({ title: "old", content, date: 5 }, {
    ...(random.bool() ? { date: random.pick([4, 6, "never", null, random.pick(oddNumbers)]) } : {}),
    ...(random.below(6) === 0 ? { content: undefined } : {}),
    ...(random.bool() ? { colour: random.pick([1, 2]) } : {}),
  });
}

function habit(random) {
  return { title: random.pick(["Run", "水"]), kind: "count", target: random.pick([1, 2]) };
}

function habitList(random) {
  if (random.below(10) === 0) return { places: 5, archived: "all" };
  const habits = () => ["run", "é", "e\u0301", "__proto__", "7"].filter(() => random.bool());
  const place = () => random.pick([1, 2, null, "x", random.pick(oddNumbers)]);
  return {
    places: Object.fromEntries(habits().map((habit) => [habit, place()])), archived: habits(),
  };
}

function checkIn(random) {
  const fields = { habit: "h", day: "2026-03-01" };
  if (random.bool()) fields.done = random.bool();
  for (const name of ["counts", "undone"]) {
    if (random.below(4) > 0) fields[name] = counts(random);
  }
  return fields;
}

function counts(random) {
  if (random.below(10) === 0) return "many";
  const values = [0, 1, 2, null, "x", random.pick(oddNumbers)];
  const entries = ["Mac", "é", "e\u0301", "__proto__", "7"].filter(() => random.bool());
  return Object.fromEntries(entries.map((device) => [device, random.pick(values)]));
}
