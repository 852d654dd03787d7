import assert from "node:assert/strict";
import test from "node:test";
import { AccountKeys, KeyGeneration } from "../../../Sources/WebClient/sealing/accountKeys.js";
import { SealingKeys } from "../../../Sources/WebClient/sealing/sealingKeys.js";
import { unwrap, wrap } from "../../../Sources/WebClient/sealing/wrappedKeys.js";
import { ZoneSet } from "../../../Sources/WebClient/sealing/zoneSet.js";

const bytes = (number) => new Uint8Array(32).fill(number);
const accountKeys = (names, ...numbers) =>
  new AccountKeys(bytes(names), numbers.map((number) => new KeyGeneration(bytes(number))));
const ofAccount = (names, numbers, plain = []) =>
  SealingKeys.ofAccount(accountKeys(names, ...numbers), ZoneSet.allBut(plain));
const ofZones = (zones, names, ...numbers) =>
  SealingKeys.ofZones(zones.map((zone) => accountKeys(names, ...numbers).zoneKeys(zone)));

test("an account's keys seal all zones but the plain ones, a zone's its own alone", () => {
  const account = ofAccount(9, [1], ["Vault"]);
  assert.deepEqual(account.zoneKeys("Todos"), accountKeys(9, 1).zoneKeys("Todos"));
  assert.equal(account.zoneKeys("Vault"), null);
  const zones = ofZones(["Todos"], 9, 1);
  assert.deepEqual(zones.zoneKeys("Todos"), account.zoneKeys("Todos"));
  assert.equal(zones.zoneKeys("Memos"), null);
  assert.equal(zones.account, null);
  assert.throws(() => ofZones(["Todos", "Todos"], 9, 1), RangeError);
});

test("keys for some zones are those of the sealed ones among them", () => {
  const account = ofAccount(9, [1, 2], ["Vault"]);
  const limited = account.limitedTo(["Memos", "Vault", "Memos"]);
  assert.deepEqual(limited.storedValue, ofZones(["Memos"], 9, 1, 2).storedValue);
  assert.equal(account.limitedTo(["Vault"]), null);
  assert.equal(limited.limitedTo(["Todos"]), null);
});

test("keys include others if they open and seal all that these do", () => {
  const account = ofAccount(9, [1, 2], ["Vault"]);
  const [included, others] = [[
    account, ofAccount(9, [1], ["Vault"]), ofAccount(9, [2], ["Vault", "Notes"]),
    ofZones(["Memos", "Todos"], 9, 1),
  ], [
    ofAccount(8, [1, 2], ["Vault"]), ofAccount(9, [3], ["Vault"]), ofAccount(9, [1]),
    ofZones(["Vault"], 9, 1), ofZones(["Memos"], 8, 1), ofZones(["Memos"], 9, 3),
  ]];
  for (const keys of included) assert.ok(account.includes(keys));
  for (const keys of others) assert.ok(!account.includes(keys));
  assert.ok(!ofZones(["Memos"], 9, 1, 2).includes(account));
  assert.ok(ofZones(["Memos", "Todos"], 9, 1, 2).includes(ofZones(["Memos"], 9, 1)));
});

test("keys of further zones are added to those of others, all else replaces them", () => {
  const [memos, todos] = [ofZones(["Memos"], 9, 1), ofZones(["Todos"], 9, 1)];
  assert.ok(memos.replacedBy(todos).isSame(ofZones(["Todos", "Memos"], 9, 1)));
  const newer = ofZones(["Memos"], 9, 1, 2);
  assert.ok(memos.replacedBy(newer).isSame(newer));
  const account = ofAccount(9, [1]);
  assert.equal(memos.replacedBy(account), account);
  assert.equal(account.replacedBy(memos), memos);
});

test("keys that two devices of an account have made apart are joined", () => {
  const [one, other] = [ofAccount(9, [1, 2]), ofAccount(9, [1, 3])];
  const all = one.replacedBy(other);
  for (const keys of [one, other]) assert.ok(all.includes(keys));
  assert.ok(all.replacedBy(one).isSame(all) && one.replacedBy(all).isSame(all));
  assert.ok(other.replacedBy(one).includes(all));
  const foreign = ofAccount(8, [1]);
  assert.equal(one.replacedBy(foreign), foreign);
});

test("keys that a code cannot carry are not wrapped", () => {
  const context = { account: "account", salt: bytes(1).slice(16), key: new Uint8Array(64) };
  const generations = Array.from({ length: 64 }, (_, number) => number);
  const whole = wrap(ofAccount(9, generations, ["Vault"]), context);
  assert.ok(whole.length <= 8_192);
  assert.equal(unwrap(whole, context).keys.account.generations.length, 64);
  assert.equal(wrap(ofZones(["Memos", "Todos"], 9, ...generations), context), null);
  const names = Array.from({ length: 16 }, (_, number) => `zone ${number}`);
  assert.ok(wrap(ofZones(names, 9, 1), context).length < 4_096);
});
