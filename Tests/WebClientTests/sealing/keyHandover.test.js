import assert from "node:assert/strict";
import { test } from "node:test";
import { AccountKeys, KeyGeneration } from "../../../Sources/WebClient/sealing/accountKeys.js";
import {
  authorIn, deviceFields, deviceIn, nextFields, nextIn, publicKeyIn,
} from "../../../Sources/WebClient/sealing/keyHandover.js";
import {
  keysInRing, ringFields, sealedZonesIn,
} from "../../../Sources/WebClient/sealing/keyRing.js";
import { SealingKeys } from "../../../Sources/WebClient/sealing/sealingKeys.js";
import { x25519PublicKey } from "../../../Sources/WebClient/sealing/x25519.js";
import { ZoneSet } from "../../../Sources/WebClient/sealing/zoneSet.js";

const bytes = (number) => new Uint8Array(32).fill(number);
const generation = (number) => new KeyGeneration(bytes(number));
const account = (...numbers) => new AccountKeys(bytes(9), numbers.map(generation));
const keys = (...numbers) => SealingKeys.ofAccount(account(...numbers),
  ZoneSet.allBut(["Vault", "Keys"]));
const ids = (accountKeys) => accountKeys.generations.map(({ id }) => id);
const [desk, phone] = ["000000000000000d", "000000000000000e"];
const deskKey = x25519PublicKey(bytes(1));
const phoneKey = x25519PublicKey(bytes(2));

test("keys are added once, and at most 64", () => {
  assert.deepEqual(ids(account(1).adding(generation(2))), ids(account(1, 2)));
  assert.equal(account(1, 2).adding(generation(1)), null);
  const many = account(...Array.from({ length: 63 }, (_, at) => at));
  const full = many.adding(generation(63));
  assert.equal(full.generations.length, 64);
  assert.equal(full.adding(generation(64)), null);
  assert.equal(full.joined(account(64)), null);
  assert.equal(many.joined(account(63)), null, "there is no room for what follows from both");
});

test("keys that include others stay, and replace them", () => {
  const [few, more] = [account(1), account(1, 2)];
  assert.equal(more.joined(few), more);
  assert.equal(few.joined(more), more);
  assert.equal(few.joined(new AccountKeys(bytes(8), [generation(1)])), null);
});

test("of two generations made at once, what follows from both seals on all devices", () => {
  const merged = generation(2).merged(generation(3));
  assert.equal(merged.id, generation(3).merged(generation(2)).id);
  const one = account(1, 2).joined(account(1, 3));
  const other = account(1, 3).joined(account(1, 2));
  assert.deepEqual(ids(one), [...ids(account(1, 2, 3)), merged.id]);
  assert.equal(other.current.id, merged.id);
  assert.equal(one.joined(account(1, 2)), one);
});

test("the record of all keys opens with the generation that seals, and no other", () => {
  const fields = ringFields(keys(1, 2));
  assert.ok(keysInRing(fields, generation(2)).keys.isSame(keys(1, 2)));
  assert.equal(keysInRing(fields, generation(1)).fault, "otherKey");
  const { sealed } = ringFields(keys(2, 1));
  for (const changed of [null, {}, { ...fields, key: 1 }, { ...fields, sealed: "A" },
    { ...fields, sealed }, { ...fields, sealed: `${fields.sealed}AAA` }]) {
    assert.equal(keysInRing(changed, generation(2)).fault, "malformed");
  }
  assert.deepEqual(sealedZonesIn(fields).member, { plain: ["Keys", "Vault"] });
  assert.deepEqual(sealedZonesIn({ plain: "Vault" }).member, { plain: [] });
  const only = SealingKeys.ofAccount(account(1), ZoneSet.only(["Todos"]));
  assert.deepEqual(ringFields(only).only, ["Todos"]);
  assert.ok(keysInRing(ringFields(only), generation(1)).keys.isSame(only));
  assert.equal(ringFields(SealingKeys.ofZones([account(1).zoneKeys("Desk")])), null);
});

test("a public key is its device's, sealed by the generation", () => {
  const fields = deviceFields(deskKey, desk, generation(1));
  assert.deepEqual(publicKeyIn(fields, desk, generation(1)), deskKey);
  assert.equal(publicKeyIn(fields, phone, generation(1)), null);
  assert.equal(publicKeyIn(fields, desk, generation(2)), null);
  const claimed = { ...fields, key: generation(2).id };
  assert.equal(publicKeyIn(claimed, desk, generation(2)), null);
  const short = deviceFields(deskKey.subarray(1), desk, generation(1));
  for (const other of [short, null, {}, { ...fields, sealed: 1 }]) {
    assert.equal(publicKeyIn(other, desk, generation(1)), null);
  }
});

test("new keys are for their addressee, by their author", () => {
  const next = { keys: keys(1, 2), author: desk, without: [phone] };
  const fields = nextFields(next,
    { device: phone, publicKey: phoneKey, privateKey: bytes(1) });
  const parties = { device: phone, author: desk, publicKey: deskKey, privateKey: bytes(2) };
  const read = nextIn(fields, parties);
  assert.ok(read.keys.isSame(next.keys));
  assert.deepEqual([read.author, read.without, authorIn(fields)], [desk, [phone], desk]);
  const others = [{ device: desk }, { author: phone }, { publicKey: phoneKey },
    { privateKey: bytes(3) }, { publicKey: bytes(0) }];
  for (const other of others) assert.equal(nextIn(fields, { ...parties, ...other }), null);
  for (const other of [null, {}, { ...fields, sealed: "AAAA" }]) {
    assert.equal(nextIn(other, parties), null);
  }
  const weak = { device: phone, publicKey: bytes(0), privateKey: bytes(1) };
  assert.equal(nextFields(next, weak), null);
  assert.equal(authorIn({ by: "desk" }), null);
});

test("names of records have the id of a device", () => {
  assert.equal(deviceIn(`device/${desk}`), desk);
  for (const name of [`next/${desk}`, "device/", "device/D", "ring"]) {
    assert.equal(deviceIn(name), null);
  }
});
