import assert from "node:assert/strict";
import test from "node:test";
import { parse } from "../../../Sources/WebClient/json/jsonParser.js";
import { serialize } from "../../../Sources/WebClient/json/jsonValue.js";
import { limits } from "../../../Sources/WebClient/model/limits.js";
import { MergeRules, RuleFault, ruleTable } from "../../../Sources/WebClient/model/mergeRules.js";
import { ruleResolver } from "../../../Sources/WebClient/model/ruleResolver.js";
import { version } from "../support/conflicts.js";

const rules = MergeRules.of({ fields: {
  due: "least", tags: "set", minutes: "counter", body: "keepBoth", place: "map", "*": "newest",
} });
const stamp = (time, device = "mac") => ({ time: BigInt(time), device });
const at = (fields, time, by = "mac") => version(fields, { at: time, by });

test("a new record has no stamps, and what each value's rule cannot read is left out", () => {
  const fields = { title: "milk", due: 5, tags: ["b", "a", "a"], minutes: { mac: [1] }, place: 7 };
  assert.deepEqual(rules.stamped(fields, null, stamp(10)),
    { title: "milk", due: 5, tags: ["a", "b"] });
});

test("each rule takes values of its kind", () => {
  const all = MergeRules.of({ fields: { least: "least", or: "or", count: "counter", set: "set",
    map: "map", each: "greatestEach", text: "keepBoth" } });
  const good = { free: [1], least: "a", or: false, count: { a: [1, 2] }, set: [1, "a", true, null],
    map: { a: [1] }, each: { a: 1 }, text: "a", "~": 1, "": 1 };
  assert.equal(all.kindFault(good, null, "T"), null);
  const wrong = { least: [true, null], or: [1], count: [5, { a: [1] }, { a: ["1", 2] }],
    set: ["a", { a: 1 }, [["a"]]], map: ["a", [1]], each: [{ a: "1" }], text: [1, null] };
  for (const [name, values] of Object.entries(wrong)) {
    for (const value of values) {
      assert.match(all.kindFault({ ...good, [name]: value }, null, "T"), new RegExp(name, "u"));
      assert.equal(all.kindFault({ [name]: value }, { [name]: value }, "T"), null);
    }
  }
});

test("stamps and counts of one device become those of another, and no others", () => {
  const fields = { title: "a", minutes: { old: [1, 0], mac: [2, 0] }, tags: ["a"], place: { x: 1 },
    "~": { "": [5, "old"], title: [4, "mac"], tags: { '"b"': [3, "old", 0] } } };
  assert.deepEqual(rules.renamed("old", "phone", fields), { title: "a",
    minutes: { phone: [1, 0], mac: [2, 0] }, tags: ["a"], place: { x: 1 },
    "~": { "": [5, "phone"], title: [4, "mac"], tags: { '"b"': [3, "phone", 0] } } });
  assert.deepEqual(rules.renamed("old", "phone", { minutes: { old: [1, 0] } }),
    { minutes: { phone: [1, 0] } });
});

test("a record that is made again has stamps", () => {
  const tombstone = at(null, 9);
  assert.deepEqual(rules.stamped({ title: "a" }, tombstone, stamp(10)),
    { title: "a", "~": { "": [10, "mac"] } });
});

test("an edit stamps what it changed, and nothing else", () => {
  const first = at({ title: "milk", due: 5, tags: ["a", "b"] }, 10);
  const edited = rules.stamped(
    { title: "tea", tags: ["b", "c"], "~": { "": [99, "liar"] } }, first, stamp(20, "é"));
  assert.deepEqual(edited, { title: "tea", tags: ["b", "c"], "~": {
    "": [20, "é"], due: [20, "é"], tags: { '"a"': [20, "é", 0], '"b"': [10, "mac"] },
  } });
  assert.equal(rules.newestStamp(at(edited, 15)).time, 20n);
  assert.equal(rules.newestStamp(at(edited, 30)).time, 30n);
});

test("no edit takes back what a device has counted", () => {
  const first = at({ minutes: { mac: [5, 0], phone: [2, 1] } }, 10);
  const edited = rules.stamped({ minutes: { mac: [6, 0], phone: [1, 1] } }, first, stamp(20));
  assert.deepEqual(edited, { minutes: { mac: [6, 0], phone: [2, 1] } });
});

test("the stamps of what is gone are dropped by an edit ninety days later, and by no merge", () => {
  const late = 10 + limits.removalStampMilliseconds;
  const removed = rules.stamped({ body: "x" }, at({ body: "x", title: "a" }, 5), stamp(10));
  assert.deepEqual(removed["~"].title, [10, "mac"]);
  const kept = rules.stamped({ body: "y" }, at(removed, 10), stamp(late));
  assert.deepEqual(kept["~"].title, [10, "mac"]);
  const dropped = rules.stamped({ body: "y" }, at(removed, 10), stamp(late + 1));
  assert.equal(dropped["~"].title, undefined);
  const there = at({ ...kept, "~": { ...kept["~"], "": [late + 2, "mac"] } }, late + 2);
  const { merged } = ruleResolver(rules).resolve(
    { base: null, local: at(removed, 10), server: there });
  assert.deepEqual(merged["~"].title, [10, "mac"]);
});

test("a version of another program gets the stamps that it lacks from what it replaces", () => {
  const stamps = { "": [10, "mac"], tags: { 7: [9, "a", 0] } };
  const held = at({ title: "milk", due: 5, "~": stamps }, 10);
  const written = at({ title: "milk", due: 4 }, 20, "curl");
  assert.deepEqual(rules.completed(written, held), { title: "milk", due: 4, tags: [], "~": {
    "": [10, "mac"], due: [20, "curl"], tags: { 7: [9, "a", 0] } } });
  // A change is newer than what it changed, however wrong its clock was.
  const early = at({ title: "tea", due: 5 }, 3, "curl");
  assert.deepEqual(rules.completed(early, held)["~"].title, [11, "curl"]);
  assert.equal(rules.completed(held, written), held.fields);
  assert.equal(rules.completed(written, null), written.fields);
  assert.equal(rules.completed(written, at(null, 1)), written.fields);
});

test("a corrected clock moves the stamps that the change brought, and no others", () => {
  const base = at({ title: "milk", place: { k: 1 } }, 100, "phone");
  const change = rules.stamped({ title: "tea", place: { k: 1, l: 2 } }, base, stamp(900));
  const moved = rules.restamped(change, base, 900, 500);
  assert.deepEqual(moved["~"],
    { "": [500, "mac"], place: { k: [100, "phone"] } });
  // Not before what the change was made on.
  assert.deepEqual(rules.restamped(change, base, 900, 50)["~"][""], [101, "mac"]);
  assert.equal(rules.restamped(base.fields, null, 900, 500), base.fields);
});

test("names that objects have of their own are names like any other", () => {
  const odd = parse('{"__proto__": 1, "constructor": 2, "tags": ["__proto__"], "": 3}');
  const base = at(odd, 10);
  const edited = rules.stamped(
    parse('{"__proto__": 2, "constructor": 2, "tags": [], "": 3}'), base, stamp(20));
  assert.equal(serialize(edited), '{"":3,"__proto__":2,"constructor":2,"tags":[],'
    + '"~":{"":[10,"mac"],"__proto__":[20,"mac"],"tags":{"\\"__proto__\\"":[20,"mac",0]}}}');
  const other = at(rules.stamped(
    parse('{"__proto__": 1, "constructor": 5, "tags": ["__proto__"], "": 3}'), base,
    stamp(15, "phone")), 15, "phone");
  const { merged } = ruleResolver(rules).resolve({ base, local: at(edited, 20), server: other });
  assert.equal(merged.constructor, 5);
  assert.equal(Object.entries(merged).find(([name]) => name === "__proto__")[1], 2);
});

test("a table is refused as a whole if any of it is not known", () => {
  const table = { zone: "Todos", types: { Todo: { delete: "newest", fields: { "*": "or" } } } };
  const { zone, types } = ruleTable(table);
  assert.equal(zone, "Todos");
  assert.equal(types.get("Todo").of("anything"), "or");
  assert.equal(types.get("Todo").delete, "newest");
  const faults = [
    [[], "must be an object"], [{ ...table, version: 2 }, '"version"'], [{ types: {} }, "zone"],
    [{ zone: "Z", types: {} }, "record type"], [{ zone: "Z", types: { "": {} } }, "type name"],
    [{ zone: "Z", types: { T: [] } }, "object of rules"],
    [{ zone: "Z", types: { T: { merge: 1 } } }, '"merge"'],
    [{ zone: "Z", types: { T: { delete: "never" } } }, "changeWins, deleteWins, newest"],
    [{ zone: "Z", types: { T: { conflict: "tell" } } }, 'can only be "ask"'],
    [{ zone: "Z", types: { T: { fields: [] } } }, "rules by field"],
    [{ zone: "Z", types: { T: { fields: { a: "greatst" } } } }, "greatest"],
    [{ zone: "Z", types: { T: { fields: { "~": "newest" } } } }, "no field"],
    [{ zone: "Z", types: { T: { fields: { "": "newest" } } } }, "no field"],
    [{ zone: "Z", types: { T: { fields: { a: "__proto__" } } } }, "none of"],
  ];
  for (const [value, words] of faults) {
    assert.throws(() => ruleTable(value),
      (error) => error instanceof RuleFault && error.message.includes(words), words);
  }
  const many = Object.fromEntries(
    Array.from({ length: limits.mergeRuleFields + 1 }, (_, index) => [`f${index}`, "or"]));
  assert.throws(() => MergeRules.of({ fields: many }), RuleFault);
});
