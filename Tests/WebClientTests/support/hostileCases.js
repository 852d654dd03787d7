import { numberOf } from "../../../Sources/WebClient/json/jsonValue.js";
import { SeededRandom } from "./seededRandom.js";

// Conflicts that no Lockstep program would make: in the right form, with numbers at and beyond
// every limit, malformed texts, and missing or wrong members.

const numbers = [
  "0", "1", "-1", "5000", "5001", "86400000", "86400001", "0.5", "-0.5", "1.5e3", "1e-400", "-0",
  "1772366400000", "8796093022207", "8796093022208", "9007199254740991", "9007199254740993",
  "153722867280912930", "1152921504606846975", "1152921504606846976", "1152921504606846977",
  "-1152921504606846976", "-1152921504606846977", "9223372036854775807", "9223372036854775808",
  "-9223372036854775808", "-9223372036854775809", "1e18", "1e19", "1e20", "1e21", "1e308", "1e309",
  "-1e309", "1e999999999999999999999", "-1e999999999999999999999", "0.1234567890123456789",
  "123456789012345678901234567890",
].map(numberOf);

const texts = [
  "", "a", "focus", "breakTime", "snooze", "idle", "daydream", "checkbox", "count", "é", "e\u0301",
  "\u202ex", "\n", "one\ntwo", "\r\n", "\u001b[2J", "\u0000", "\u0085", "\u2028", "2026-03-01",
  "0000-01-01", "2026-02-30", "..", "/", "~", "a~b-5", "-~", "電", "😀", "\uffee", "__proto__",
  "constructor", "toString", "1", "01", "-1",
];

const shapes = {
  TimerState: { completedPomodoros: "number", edits: "edits" },
  Settings: {
    focusMinutes: "number", shortBreakMinutes: "number", longBreakMinutes: "number",
    longBreakEvery: "number", snoozeMinutes: "number", autoStart: "flag",
  },
  ClipboardItem: { content: "text" },
  Memo: { title: "text", content: "text", date: "number" },
  Habit: { title: "text", kind: "text", target: "number" },
  CheckIn: { habit: "text", day: "text", done: "flag", counts: "counts", undone: "counts" },
  HabitList: { places: "counts", archived: "text" },
};

const edit = {
  deviceID: "text", timestamp: "number", stateType: "text", isPaused: "flag", remaining: "number",
  duration: "number", plan: "plan", act: "act",
};
const act = { timestamp: "number", stateType: "text", remaining: "number", isPaused: "flag" };
const plan = {
  autoStart: "flag", break: "number", longBreak: "number", longBreakEvery: "number",
};

/** Returns the case of a record type for a seed. */
export function hostileCase(type, seed) {
  const random = new SeededRandom(seed);
  const name = text(random);
  const version = () => {
    const fields = random.below(8) === 0 ? null : object(shapes[type], random);
    const modifiedAt = random.pick([0, 1, 2, 1_772_366_400_000, 2 ** 53 - 1]);
    return { name, fields, modifiedAt, device: text(random), deleted: fields === null };
  };
  const base = random.below(4) === 0 ? null : version();
  return { type, base, local: version(), server: version() };
}

function text(random) {
  const word = random.pick(texts);
  if (random.below(8) === 0) return word.repeat(random.below(200));
  return random.below(4) === 0 ? word + random.pick(texts) : word;
}

function object(shape, random) {
  const members = [];
  for (const [name, form] of Object.entries(shape)) {
    const draw = random.below(12);
    if (draw === 0) continue;
    members.push([name, draw === 1 ? anything(random, 0) : value(form, random)]);
  }
  if (random.below(8) === 0) members.push([text(random), anything(random, 0)]);
  return Object.fromEntries(members);
}

function value(form, random) {
  const list = (most, make) => Array.from({ length: random.below(most) }, make);
  switch (form) {
    case "number": return random.pick(numbers);
    case "text": return text(random);
    case "flag": return random.bool();
    case "counts":
      return Object.fromEntries(list(6, () => [text(random), random.pick(numbers)]));
    case "edits": return list(5, () => object(edit, random));
    case "act": return object(act, random);
    case "plan": return object(plan, random);
    default: throw new TypeError(`no member has the form ${form}`);
  }
}

function anything(random, depth) {
  const list = (make) => Array.from({ length: random.below(4) }, make);
  switch (random.below(depth < 4 ? 7 : 5)) {
    case 0: return null;
    case 1: return random.bool();
    case 2: case 3: return random.pick(numbers);
    case 4: return text(random);
    case 5: return list(() => anything(random, depth + 1));
    default: return Object.fromEntries(list(() => [text(random), anything(random, depth + 1)]));
  }
}
