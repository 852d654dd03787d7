// Types of the package, as an app uses them. Only checked, never run.

import {
  counterAdded, EditError, equal, type ExactNumber, fileStore, Lockstep, numberOf, numberText,
  type RuleTable, serialize, type SyncState,
} from "lockstep";
import { type TestDevice, World } from "lockstep/testing";

interface Todo {
  title: string;
  done: boolean;
  order?: number;
  minutes?: { [device: string]: [up: number, down: number] };
}
interface Note {
  text: string;
}
type Zones = { Todos: { Todo: Todo }; Notes: { Note: Note } };

const rules: RuleTable<Zones>[] = [
  { zone: "Todos", types: { Todo: { delete: "newest", fields: { done: "or", "*": "newest" } } } },
  { zone: "Notes", types: { Note: { fields: { text: "keepBoth" } } } },
];
const lockstep = await Lockstep.open<Zones>({
  relay: "http://127.0.0.1:5625", rules, store: fileStore("home.json"),
});

const id: string = await lockstep.save("Todos", "Todo", { title: "milk", done: false });
await lockstep.update("Todos", id, (todo, { device }) => ({
  ...todo, done: true, minutes: counterAdded(todo.minutes, device, 5),
}));
for await (const todos of lockstep.live("Todos", "Todo", {
  where: (todo) => !todo.done, sortBy: "order",
})) {
  const titles: string[] = todos.map((todo) => todo.title + todo.id);
  console.log(titles);
}
for await (const change of lockstep.changes("Notes", "Note")) {
  const text: string = change.kind === "saved" ? change.item.text : change.id;
  console.log(text);
}
for await (const { state, waiting } of lockstep.statusUpdates) console.log(state, waiting + 1);
const record = lockstep.record("Notes", "n");
const text: string | undefined = record?.fields.text;
console.log(text, lockstep.records("Todos", "Todo")[0].fields.done);

const applicationServerKey: string | null = await lockstep.wakeKey();
const subscription = { endpoint: "https://push.example/1", expirationTime: null, keys: {} };
await lockstep.registerWake({ toJSON: () => subscription });
await lockstep.registerWake(subscription, "other");
for (const { state, verifiedAt } of await lockstep.wakes()) {
  console.log(applicationServerKey, state === "verified", verifiedAt ?? 0);
}
// @ts-expect-error: an address is no subscription
await lockstep.registerWake("https://push.example/1");

const exact: number | ExactNumber = numberOf("9007199254740993");
console.log(numberText(exact), serialize({ exact }), equal(exact, 1));
try {
  await lockstep.join("code", { deviceName: "script" });
} catch (error) {
  if (error instanceof EditError) console.log(error.code);
}

// @ts-expect-error: a state that there is not
const state: SyncState = "starting";
// @ts-expect-error: `join` is its only name
await lockstep.pair("code", { deviceName: "script" });
console.log(state);
// @ts-expect-error: a zone that the app does not have
await lockstep.save("Todo", "Todo", { title: "milk", done: false });
// @ts-expect-error: a field is missing
await lockstep.save("Todos", "Todo", { title: "milk" });
// @ts-expect-error: a field of another type
await lockstep.update("Todos", id, (todo) => ({ ...todo, done: 1 }));
// @ts-expect-error: a rule that does not exist
const wrong: RuleTable<Zones> = { zone: "Notes", types: { Note: { fields: { text: "newst" } } } };
// @ts-expect-error: a field that the type does not have
const odd: RuleTable<Zones> = { zone: "Notes", types: { Note: { fields: { titel: "newest" } } } };
// @ts-expect-error: an item is frozen
for await (const [first] of lockstep.live("Notes", "Note")) first.text = "x";
console.log(wrong, odd);

const untyped = await Lockstep.open({ relay: "http://127.0.0.1:5625" });
await untyped.update("Any", "thing", (item) => ({ ...item, n: item.n + 1 }));

const world = new World<Zones>({ rules });
const phone: TestDevice<Zones> = world.device("phone");
phone.save("Notes", "Note", { text: "a" }, { id: "1" });
world.settle();
const found: string | undefined = phone.record("Notes", "1")?.text;
console.log(found);
