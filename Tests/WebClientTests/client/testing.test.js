import assert from "node:assert/strict";
import { test } from "node:test";
import { EditError, World } from "../../../Sources/WebClient/testing.js";

// What an app's own tests are written with.

const rules = { zone: "Todos", types: {
  Todo: { fields: { done: "or", tags: "set" } }, Choice: { conflict: "ask" } } };

function worldOfTwo(options = { rules }) {
  const world = new World(options);
  return { world, phone: world.device("phone"), laptop: world.device("laptop") };
}

test("two devices that were apart agree", () => {
  const { world, phone, laptop } = worldOfTwo();
  assert.equal(phone.save("Todos", "Todo", { title: "milk", done: false }, { id: "1" }), "1");
  world.settle();
  world.cut(phone);
  phone.update("Todos", "1", (todo) => ({ ...todo, title: "tea" }));
  laptop.update("Todos", "1", (todo) => ({ ...todo, done: true }));
  world.settle();
  assert.equal(phone.record("Todos", "1").done, false);
  world.heal(phone);
  world.settle();
  const expected = [{ id: "1", title: "tea", done: true }];
  assert.deepEqual(phone.records("Todos", "Todo"), expected);
  assert.deepEqual(laptop.records("Todos", "Todo"), expected);
  laptop.delete("Todos", "1");
  world.settle();
  assert.equal(phone.record("Todos", "1"), null);
  assert.throws(() => phone.update("Todos", "1", (it) => it), EditError);
  const late = world.device("late");
  world.settle();
  assert.deepEqual(late.records("Todos", "Todo"), []);
});

test("a conflict that a person decides waits for the decision", () => {
  const { world, phone, laptop } = worldOfTwo();
  const id = phone.save("Todos", "Choice", { title: "a" });
  world.settle();
  phone.update("Todos", id, () => ({ title: "b" }));
  laptop.update("Todos", id, () => ({ title: "c" }));
  world.settle();
  const [device] = [phone, laptop].filter(({ asking }) => asking.length > 0);
  device.decide({ zone: "Todos", name: id, keepLocal: true });
  world.settle();
  assert.deepEqual(phone.record("Todos", id), laptop.record("Todos", id));
});

test("a rule in code that gives each side another outcome is found", () => {
  const resolve = ({ local }) => ({ merged: local.fields, copies: [] });
  const { world, phone, laptop } = worldOfTwo(
    { apps: [{ zone: "Todos", resolvers: { Todo: { resolve } } }] });
  phone.save("Todos", "Todo", { n: 0 }, { id: "1" });
  world.settle();
  phone.update("Todos", "1", () => ({ n: 1 }));
  laptop.update("Todos", "1", () => ({ n: 2 }));
  world.settle();
  // The last to save wins, whatever was newer.
  assert.deepEqual(phone.record("Todos", "1"), laptop.record("Todos", "1"));
});
