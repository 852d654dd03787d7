// A script that uses the installed package: two devices of one account on a live relay.
//
//   node todos.mjs RELAY

import assert from "node:assert/strict";
import { counterAdded, counterValue, fileStore, Lockstep, version } from "lockstep";
import manifest from "lockstep/package.json" with { type: "json" };
import { World } from "lockstep/testing";

const relay = process.argv[2];
const rules = { zone: "Todos", types: { Todo: { fields: { done: "or", minutes: "counter" } } } };
assert.equal(manifest.version, version);

const home = () => Lockstep.open({ relay, rules, store: fileStore("home.json") });
const first = await home();
const id = await first.save("Todos", "Todo", { title: "milk", done: false });
await first.createAccount({ deviceName: "script" });
const { code } = await first.issueCode();
await first.close();

const [one, two] = [await home(), await Lockstep.open({ relay, rules })];
await two.join(code, { deviceName: "other" });
const live = two.live("Todos", "Todo", { sortBy: "title" });
await one.update("Todos", id, (todo, { device }) =>
  ({ ...todo, done: true, minutes: counterAdded(todo.minutes, device, 25) }));
for await (const [todo] of live) {
  if (!todo?.done) continue;
  assert.deepEqual([todo.id, todo.title, counterValue(todo.minutes)], [id, "milk", 25]);
  break;
}
for (const lockstep of [one, two]) await lockstep.close();

const world = new World({ rules });
const [phone, laptop] = [world.device("phone"), world.device("laptop")];
phone.save("Todos", "Todo", { title: "tea" }, { id: "1" });
world.settle();
assert.equal(laptop.record("Todos", "1").title, "tea");
console.log(`${version}: two devices agree`);
