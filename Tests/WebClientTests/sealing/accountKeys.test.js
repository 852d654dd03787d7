import assert from "node:assert/strict";
import test from "node:test";
import {
  AccountKeys, KeyGeneration, PhraseFault,
} from "../../../Sources/WebClient/sealing/accountKeys.js";
import { hex } from "../../../Sources/WebClient/sealing/hex.js";
import { SeededRandom } from "../support/seededRandom.js";

const random = new SeededRandom(1);
const randomBytes = (count) => Uint8Array.from({ length: count }, () => random.below(256));

test("a phrase that was written down gives the generation again, however it is typed", () => {
  const generation = KeyGeneration.make(randomBytes);
  const phrase = generation.phrase();
  assert.match(phrase, /^(?:[a-z]{5} ){16}[a-z]{5}$/u);
  const typed = [phrase, ` ${phrase.toUpperCase()}\n`, phrase.replaceAll(" ", "-"),
    phrase.replaceAll(" ", ""), phrase.replaceAll(" ", ", ")];
  for (const text of typed) {
    const { generation: read } = KeyGeneration.ofPhrase(text);
    assert.equal(read.id, generation.id);
    assert.deepEqual(read.secret(), generation.secret());
    assert.equal(read.checkWords(), generation.checkWords());
  }
});

test("a phrase that is typed wrong says where", () => {
  const words = KeyGeneration.make(randomBytes).phrase().split(" ");
  const faultOf = (parts) => {
    const { fault } = KeyGeneration.ofPhrase(parts.join(" "));
    assert.ok(fault instanceof PhraseFault);
    assert.ok(fault.message.length > 20);
    return [fault.kind, fault.number];
  };
  assert.deepEqual(faultOf([]), ["letters", 0]);
  assert.deepEqual(faultOf(words.slice(1)), ["letters", 80]);
  assert.deepEqual(faultOf([...words, "ba"]), ["letters", 87]);
  assert.deepEqual(faultOf(["bébab".repeat(30_000)]), ["letters", 120_000]);
  words.forEach((word, index) => {
    const wrong = [word.slice(0, 1) + "e" + word.slice(2), "a" + word.slice(1)];
    for (const text of wrong) {
      assert.deepEqual(faultOf(words.with?.(index, text)
        ?? [...words.slice(0, index), text, ...words.slice(index + 1)]), ["word", index + 1]);
    }
  });
  const other = words[3] === "babab" ? "babad" : "babab";
  assert.deepEqual(faultOf([...words.slice(0, 3), other, ...words.slice(4)]),
    ["checksum", undefined]);
  assert.deepEqual(faultOf([words[1], words[0], ...words.slice(2)]), ["checksum", undefined]);
});

test("check words are six, and others for another secret", () => {
  const [one, other] = [KeyGeneration.make(randomBytes), KeyGeneration.make(randomBytes)];
  assert.match(one.checkWords(), /^(?:[a-z]{5} ){5}[a-z]{5}$/u);
  assert.notEqual(one.checkWords(), other.checkWords());
  assert.notEqual(one.id, other.id);
});

test("a rotation adds a generation that seals, and keeps the names", () => {
  const first = AccountKeys.make(randomBytes);
  const second = first.rotated(randomBytes);
  assert.equal(first.generations.length, 1);
  assert.deepEqual(second.generations.map(({ id }) => id), [first.current.id, second.current.id]);
  assert.deepEqual(second.nameSecret(), first.nameSecret());
  const [before, after] = [first, second].map((keys) => keys.zoneKeys("Todos"));
  assert.deepEqual(after.nameKey, before.nameKey);
  assert.deepEqual(after.generations[0], before.generations[0]);
});

test("a zone's keys say nothing of another zone's", () => {
  const keys = AccountKeys.make(randomBytes);
  const [todos, habits] = ["Todos", "Habits"].map((zone) => keys.zoneKeys(zone));
  assert.notDeepEqual(todos.nameKey, habits.nameKey);
  assert.notDeepEqual(todos.generations[0].key, habits.generations[0].key);
  assert.equal(todos.generations[0].id, habits.generations[0].id);
});

test("secrets have 32 bytes, are copied, and do not change from outside", () => {
  for (const bytes of [new Uint8Array(31), new Uint8Array(33), undefined]) {
    assert.throws(() => new KeyGeneration(bytes), RangeError);
    assert.throws(() => new AccountKeys(bytes, [KeyGeneration.make(randomBytes)]), RangeError);
  }
  assert.throws(() => new AccountKeys(new Uint8Array(32), []), RangeError);
  const bytes = randomBytes(32);
  const generation = new KeyGeneration(bytes);
  const before = hex(bytes);
  bytes.fill(0);
  generation.secret().fill(0);
  assert.equal(hex(generation.secret()), before);
});
