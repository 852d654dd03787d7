import assert from "node:assert/strict";
import { test } from "node:test";
import { ZoneSet } from "../../../Sources/WebClient/sealing/zoneSet.js";

const { allBut, only } = ZoneSet;
const names = ["A", "B", "C", "D"];
const sets = [[], ["A"], ["A", "B"], ["C"], ["B", "C"]]
  .flatMap((zones) => [allBut(zones), only(zones)]);

test("a set has its zones, and a union those of both", () => {
  assert.deepEqual(names.map((zone) => allBut(["A"]).has(zone)), [false, true, true, true]);
  assert.deepEqual(names.map((zone) => only(["A"]).has(zone)), [true, false, false, false]);
  for (const one of sets) {
    for (const other of sets) {
      const union = one.union(other);
      for (const zone of names) assert.equal(union.has(zone), one.has(zone) || other.has(zone));
      assert.ok(union.includes(one) && union.includes(other));
      assert.equal(one.includes(other), equal(one.union(other), one));
    }
  }
});

const equal = (one, other) => JSON.stringify(one.member) === JSON.stringify(other.member);

test("only a set without zones is empty, and some alone never include all but some", () => {
  assert.deepEqual(sets.filter(({ isEmpty }) => isEmpty), [only([])]);
  assert.deepEqual(sets.filter(({ isOnly }) => isOnly).length, 5);
  assert.equal(only(names).includes(allBut([])), false);
});

test("a set is read as it is written, and any other form is none", () => {
  for (const set of sets) assert.ok(equal(ZoneSet.ofMember(set.member), set));
  assert.deepEqual(only(["B", "A"]).member, { only: ["A", "B"] });
  for (const other of [null, undefined, "x", {}, { plain: "A" }, { only: [1] }, { plain: [""] },
    { plain: [], only: [] }]) {
    assert.equal(ZoneSet.ofMember(other), null);
  }
});
