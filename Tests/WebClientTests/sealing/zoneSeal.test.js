import assert from "node:assert/strict";
import test from "node:test";
import { equal, serialize } from "../../../Sources/WebClient/json/jsonValue.js";
import { parse } from "../../../Sources/WebClient/json/jsonParser.js";
import { readRecord } from "../../../Sources/WebClient/client/record.js";
import { AccountKeys, derived } from "../../../Sources/WebClient/sealing/accountKeys.js";
import { base64url, base64urlBytes } from "../../../Sources/WebClient/sealing/base64url.js";
import {
  decodeContent, encodeContent, paddedLength,
} from "../../../Sources/WebClient/sealing/recordContent.js";
import { hex } from "../../../Sources/WebClient/sealing/hex.js";
import { RecordVersion } from "../../../Sources/WebClient/sealing/recordVersion.js";
import { sha256 } from "../../../Sources/WebClient/sealing/sha256.js";
import { SIV } from "../../../Sources/WebClient/sealing/siv.js";
import { VersionVector } from "../../../Sources/WebClient/sealing/versionVector.js";
import { SealFault, ZoneSeal } from "../../../Sources/WebClient/sealing/zoneSeal.js";
import { SeededRandom } from "../support/seededRandom.js";

const random = new SeededRandom(1);
const randomBytes = (count) => Uint8Array.from({ length: count }, () => random.below(256));
const utf8 = new TextEncoder();

const account = AccountKeys.make(randomBytes);
const sealOf = (keys = account, zone = "Todos", shown = []) =>
  new ZoneSeal(keys.zoneKeys(zone), shown);
const todos = sealOf();

const own = "00a1b2c3d4e5f607";
const other = "ffffffffffffffff";
const writer = "5eed0123456789ab";
const alone = new RecordVersion({ writer, number: 1_790_000_000_000 });
const later = new RecordVersion({ writer: other, number: 1_790_000_000_001 }, alone.vector);

const milk = Object.freeze({
  zone: "Todos", name: "milk", type: "Todo", fields: { done: false, title: "milk" },
  modifiedAt: 1_790_000_000_000, device: own, tag: 7, deleted: false,
  chunks: ["ab".repeat(32), "cd".repeat(32)], version: alone,
});

function faultOf(seal, record) {
  const { record: opened, fault } = seal.open(record);
  assert.equal(opened, undefined, "it was opened");
  assert.ok(fault instanceof SealFault);
  return fault.kind;
}

/** Another seal of the record, of this plaintext, made with the right key. */
function withPlaintext(record, plaintext) {
  const [{ id, key }] = account.zoneKeys("Todos").generations;
  const siv = new SIV(derived(key, "record", 64));
  const texts = [record.zone, record.name, record.type, record.device].flatMap((text) => {
    const bytes = utf8.encode(text);
    return [bytes.length >> 8, bytes.length & 255, ...bytes];
  });
  const stamp = new DataView(new ArrayBuffer(8));
  stamp.setBigInt64(0, BigInt(record.modifiedAt));
  const chunks = sha256(Buffer.from((record.chunks ?? []).join(""), "hex"));
  const data = Uint8Array.of(...utf8.encode("lockstep record 1"), ...texts,
    ...new Uint8Array(stamp.buffer), ...chunks);
  return { ...record, fields: { key: id, sealed: base64url(siv.seal(plaintext, data)) } };
}

const plaintextOf = ({ name, type, device: author, fields, version }) => encodeContent(
  { name, type, author, version, fields: fields && utf8.encode(serialize(fields)) });

test("a record is sealed, and opens as it was; the relay sees no name, type or field", () => {
  const sealed = todos.seal(milk);
  assert.equal(sealed.type, "Sealed");
  assert.match(sealed.name, /^[0-9a-f]{64}$/u);
  assert.deepEqual(Object.keys(sealed.fields), ["key", "sealed"]);
  assert.equal(sealed.fields.key, account.current.id);
  assert.doesNotMatch(serialize(sealed), /milk|Todo"|title/u);
  const { zone, modifiedAt, device, tag, chunks } = sealed;
  assert.deepEqual({ zone, modifiedAt, device, tag, chunks }, {
    zone: milk.zone, modifiedAt: milk.modifiedAt, device: milk.device, tag: 7,
    chunks: milk.chunks });
  assert.deepEqual(todos.open(sealed), { record: milk });
  // On another device, after the way over the relay.
  const received = readRecord(parse(serialize(sealed)));
  assert.deepEqual(sealOf().open(received), { record: milk });
});

test("two devices seal equal content alike, in whichever order its members were set", () => {
  const turned = { ...milk, fields: { title: "milk", done: false } };
  assert.deepEqual(sealOf().seal(turned), todos.seal(milk));
});

test("a deleted record looks like a live one, and opens as deleted", () => {
  const { chunks, ...deleted } = { ...milk, fields: null, deleted: true };
  const sealed = todos.seal(deleted);
  assert.equal(sealed.deleted, false);
  assert.notEqual(sealed.fields, null);
  assert.deepEqual(todos.open(sealed), { record: deleted });
});

test("the version is sealed; versions that the relay adds do not count", () => {
  const made = new VersionVector([{ writer: other, number: 12 }], 5);
  const version = new RecordVersion({ writer, number: 9 }, made);
  const sealed = todos.seal({ ...milk, version, includes: ["0123456789abcdef"] });
  assert.equal("version" in sealed || "includes" in sealed, false);
  assert.deepEqual(todos.open(sealed).record.version, version);
  const added = { ...sealed, includes: ["1111111111111111"], version: later };
  assert.deepEqual(todos.open(added), { record: { ...milk, version } });
});

test("another device saves the same version again: its author and content stay", () => {
  const [sealed, again] = [own, other].map((saver) => todos.seal(milk, saver));
  assert.deepEqual([sealed.device, again.device], [own, other]);
  assert.notDeepEqual(again.fields, sealed.fields);
  assert.deepEqual(todos.open(again), { record: milk });
  assert.equal(faultOf(todos, { ...again, device: own }), "altered");
  assert.equal(faultOf(todos, { ...sealed, device: other }), "altered");
  const theirs = todos.open(withPlaintext(sealed, plaintextOf({ ...milk, device: other }))).record;
  assert.equal(theirs.device, other);
});

test("a version whose number is not after its writer's is malformed", () => {
  const sealed = todos.seal(milk);
  const version = new RecordVersion({ writer, number: 9 },
    new VersionVector([{ writer, number: 8 }], 7));
  const right = plaintextOf({ ...milk, version });
  const numberEnd = 24;
  assert.deepEqual(todos.open(withPlaintext(sealed, right)), { record: { ...milk, version } });
  for (const number of [0, 7, 8]) {
    const plaintext = right.map((byte, at) => (at === numberEnd ? number : byte));
    assert.equal(faultOf(todos, withPlaintext(sealed, plaintext)), "malformed");
  }
});

test("a record that no relay can have stored does not open", () => {
  const { tag, ...untagged } = todos.seal(milk);
  for (const change of [{ tag: 0 }, { tag: -1 }, { tag: undefined }, {}]) {
    assert.equal(faultOf(todos, { ...untagged, ...change }), "altered");
  }
  assert.deepEqual(todos.open({ ...untagged, tag: 1 }), { record: { ...milk, tag: 1 } });
});

test("a type that the zone shows stands in the clear; a relay cannot show or hide it", () => {
  const shown = sealOf(account, "Todos", ["Todo"]);
  const sealed = shown.seal(milk);
  assert.equal(sealed.type, "Todo");
  assert.deepEqual(todos.open(sealed), { record: milk });
  assert.deepEqual(shown.open(todos.seal(milk)), { record: milk });
  assert.equal(faultOf(shown, { ...sealed, type: "Sealed" }), "altered");
  assert.equal(faultOf(shown, { ...todos.seal(milk), type: "Todo" }), "altered");
});

test("seals of two records, exchanged by the relay, do not open", () => {
  const bread = { ...milk, name: "bread", fields: { title: "bread" } };
  const [one, two] = [milk, bread].map((record) => todos.seal(record));
  assert.equal(faultOf(todos, { ...one, fields: two.fields }), "altered");
  assert.equal(faultOf(todos, { ...two, fields: one.fields }), "altered");
  assert.equal(faultOf(todos, { ...one, name: two.name }), "altered");
});

test("a record that the relay moves into another zone does not open", () => {
  const habits = sealOf(account, "Habits");
  const sealed = todos.seal(milk);
  assert.equal(faultOf(habits, { ...sealed, zone: "Habits" }), "altered");
  assert.equal(faultOf(habits, sealed), "altered");
  assert.notEqual(habits.name("milk"), todos.name("milk"));
});

test("the relay cannot change who wrote a record, when, or with which chunks", () => {
  const sealed = todos.seal(milk);
  const [first, second] = milk.chunks;
  for (const change of [
    { device: "00a1b2c3d4e5f608" }, { device: "" }, { device: "x".repeat(70_000) },
    { modifiedAt: milk.modifiedAt + 1 }, { modifiedAt: milk.modifiedAt - 2 ** 32 },
    { modifiedAt: -milk.modifiedAt }, { modifiedAt: 0.5 }, { chunks: [second, first] },
    { chunks: [first] }, { chunks: [] }, { chunks: undefined }, { chunks: [first, second, first] },
    { chunks: [first + second] }, { chunks: ["x"] }, { chunks: [1, 2] },
    { chunks: milk.chunks.map((chunk) => chunk.toUpperCase()) },
  ]) {
    assert.equal(faultOf(todos, { ...sealed, ...change }), "altered", serialize(
      Object.keys(change)));
  }
  // What the relay decides itself.
  assert.deepEqual(todos.open({ ...sealed, tag: 8 }), { record: { ...milk, tag: 8 } });
});

test("a seal with one bit changed, or cut off anywhere, does not open", () => {
  const sealed = todos.seal(milk);
  const bytes = base64urlBytes(sealed.fields.sealed);
  const opened = (changed) =>
    faultOf(todos, { ...sealed, fields: { ...sealed.fields, sealed: base64url(changed) } });
  for (let bit = 0; bit < 8 * bytes.length; bit += 1) {
    const changed = bytes.slice();
    changed[bit >> 3] ^= 1 << (bit & 7);
    assert.equal(opened(changed), "altered", `bit ${bit}`);
  }
  for (let length = 0; length < bytes.length; length += 1) {
    assert.equal(opened(bytes.subarray(0, length)), "altered", `${length} bytes`);
  }
  for (const length of sealed.fields.sealed.split("").keys()) {
    const text = sealed.fields.sealed.slice(0, length);
    assert.equal(faultOf(todos, { ...sealed, fields: { ...sealed.fields, sealed: text } }),
      "altered", `${length} digits`);
  }
});

test("a plain record in a sealed zone is not taken for a sealed one", () => {
  const { key, sealed } = todos.seal(milk).fields;
  for (const fields of [
    milk.fields, {}, null, { key }, { sealed }, { key, sealed, more: 1 }, { key, sealed: 1 },
    { key: null, sealed }, { key: [key], sealed }, { key, sealed: { text: sealed, exact: 1n } },
    { key: "", sealed }, { key: "constructor", sealed }, { key: "__proto__", sealed },
    { key: key.toUpperCase(), sealed }, { key: `${key}0`, sealed }, { key: `${key}\n`, sealed },
    [key, sealed], Object.create({ key, sealed }), parse('{"__proto__":1,"sealed":"a"}'),
  ]) {
    assert.equal(faultOf(todos, { ...milk, name: todos.name("milk"), fields }), "notSealed");
  }
  assert.equal(faultOf(todos, { ...todos.seal(milk), fields: null, deleted: true }), "notSealed");
});

test("a generation that a device does not have is named; a false name of one is found", () => {
  const rotated = account.rotated(randomBytes);
  const sealed = sealOf(rotated).seal(milk);
  const { fault } = todos.open(sealed);
  assert.deepEqual([fault.kind, fault.keyId], ["unknownKey", rotated.current.id]);
  const claimed = { ...sealed, fields: { ...sealed.fields, key: account.current.id } };
  assert.equal(faultOf(todos, claimed), "altered");
});

test("after a rotation old records open, and new ones have the new key and the same names", () => {
  const rotated = account.rotated(randomBytes);
  const seal = sealOf(rotated);
  assert.deepEqual(seal.open(todos.seal(milk)), { record: milk });
  const again = seal.seal(milk);
  assert.equal(again.name, todos.name("milk"));
  assert.equal(again.fields.key, rotated.current.id);
  assert.equal(seal.keyId, rotated.current.id);
  assert.notEqual(seal.chunkSeed, todos.chunkSeed);
});

test("a record of another account's names is malformed, though it has the right key", () => {
  const other = new AccountKeys(randomBytes(32), account.generations);
  const sealed = sealOf(other).seal(milk);
  assert.equal(faultOf(todos, sealed), "malformed");
});

test("a plaintext is padded as prescribed, or it is malformed, even with the right key", () => {
  const sealed = todos.seal(milk);
  const right = plaintextOf(milk);
  assert.deepEqual(withPlaintext(sealed, right), sealed);
  const end = right.lastIndexOf(0x80);
  assert.equal(right.length, 96);
  for (const plaintext of [
    Uint8Array.of(...right, ...new Uint8Array(32)), right.subarray(0, end + 1),
    right.subarray(0, 95), right.subarray(0, end), new Uint8Array(96), Uint8Array.of(0x80),
    right.with?.(end, 0x81) ?? right.map((byte, at) => (at === end ? 0x81 : byte)),
    right.map((byte, at) => (at === 95 ? 1 : byte)),
  ]) {
    assert.equal(faultOf(todos, withPlaintext(sealed, plaintext)), "malformed");
  }
});

test("a content that is not that of the record is malformed, even with the right key", () => {
  const sealed = todos.seal(milk);
  for (const change of [
    { name: "bread" }, { name: "Milk" }, { fields: [] }, { fields: "milk" }, { fields: 1 },
  ]) {
    const plaintext = plaintextOf({ ...milk, ...change });
    assert.equal(faultOf(todos, withPlaintext(sealed, plaintext)), "malformed");
  }
  const typed = withPlaintext({ ...sealed, type: "Memo" }, plaintextOf(milk));
  assert.equal(faultOf(todos, typed), "malformed");
  assert.deepEqual(todos.open(withPlaintext({ ...sealed, type: "Todo" }, plaintextOf(milk))),
    { record: milk });
});

test("any bytes, sealed with the right key, end as a record or as malformed", () => {
  const sealed = todos.seal(milk);
  const right = plaintextOf({ ...milk, version: later });
  let opened = 0;
  for (let count = 0; count < 2_000; count += 1) {
    const plaintext = random.bool() ? randomBytes(1 + random.below(100)) : right.slice();
    for (let change = random.below(3); change > 0; change -= 1) {
      plaintext[random.below(plaintext.length)] = random.below(256);
    }
    const { record, fault } = todos.open(withPlaintext(sealed, plaintext));
    if (record) opened += 1;
    else assert.equal(fault.kind, "malformed");
  }
  assert.ok(opened > 100 && opened < 1_900, `${opened} were opened`);
});

test("lengths are padded in steps of 32, then so that they waste at most an eighth", () => {
  assert.deepEqual([1, 31, 32, 33, 1_023, 1_024].map(paddedLength),
    [32, 32, 32, 64, 1_024, 1_024]);
  assert.deepEqual([1_025, 1_088, 1_089, 2_048, 2_049, 65_537, 1_048_577].map(paddedLength),
    [1_088, 1_088, 1_152, 2_048, 2_176, 67_584, 1_081_344]);
  for (let length = 1; length < 70_000; length += 1) {
    const padded = paddedLength(length);
    if (padded < length || paddedLength(padded) !== padded) assert.fail(`${length}`);
    if (length > 1_024 && padded > 1.125 * length) assert.fail(`${length} is much padded`);
  }
});

test("contents of every size around the steps have one form", () => {
  for (let count = 0; count < 2_300; count += 1) {
    const fields = utf8.encode("x".repeat(count));
    const content = { name: "n", type: "T", author: own, version: alone, fields };
    const bytes = encodeContent(content);
    assert.equal(bytes.length, paddedLength(39 + count));
    assert.deepEqual(decodeContent(bytes), content);
  }
});

test("the length of a sealed record is known before it is sealed", () => {
  for (const record of [
    milk, { ...milk, fields: null }, { ...milk, version: later },
    { ...milk, name: "Grüße \u{1f600}", fields: { text: "☃".repeat(5_000) } },
    { ...milk, fields: { text: "x".repeat(770_000) } },
  ]) {
    const { fields } = todos.seal(record);
    assert.equal(todos.sealedLength(record), utf8.encode(serialize(fields)).length);
  }
});

test("numbers keep their digits, and names like __proto__ are names", () => {
  const fields = parse('{"__proto__":{"a":9007199254740993},"b":1e400,"c":[0.1]}');
  const { record } = todos.open(todos.seal({ ...milk, fields }));
  assert.ok(equal(record.fields, fields));
  assert.equal(serialize(record.fields), serialize(fields));
});

test("a record that cannot be sealed is refused at once", () => {
  for (const change of [
    { zone: "Habits" }, { name: "" }, { name: "a\n" }, { name: "n".repeat(256) }, { type: "" },
    { modifiedAt: 0.5 }, { chunks: ["ab"] }, { fields: { a: undefined } },
    { version: undefined }, { version: null }, { version: alone.vector }, { version: { ...alone } },
    { device: undefined }, { device: "" }, { device: own.toUpperCase() }, { device: `${own}0` },
  ]) {
    assert.throws(() => todos.seal({ ...milk, ...change }), TypeError, Object.keys(change)[0]);
  }
  assert.throws(() => todos.seal(milk, "x".repeat(70_000)), TypeError);
  const [{ id }] = account.generations;
  assert.throws(() => new ZoneSeal({ zone: "Todos", nameKey: randomBytes(32), generations: [] }),
    RangeError);
  assert.equal(todos.keyId, id);
});

test("a chunk opens with the keys of its zone alone, and is the same on all devices", () => {
  const bytes = randomBytes(1_000);
  const vault = sealOf(account, "Vault");
  const sealed = vault.sealChunk(bytes);
  assert.equal(sealed.length, 1_016);
  assert.equal(hex(sealOf(account, "Vault").sealChunk(bytes)), hex(sealed));
  assert.deepEqual(vault.openChunk(sealed), { bytes });
  const rotated = sealOf(account.rotated(randomBytes), "Vault");
  assert.deepEqual(rotated.openChunk(sealed), { bytes });
  assert.notDeepEqual(rotated.sealChunk(bytes), sealed);
  assert.equal(todos.openChunk(sealed).fault.kind, "altered");
  for (const changed of [
    sealed.subarray(1), sealed.subarray(0, 1_015), sealed.subarray(0, 16), new Uint8Array(0),
    Uint8Array.of(...sealed, 0), sealed.map((byte, at) => (at === 500 ? byte ^ 1 : byte)),
  ]) {
    assert.equal(vault.openChunk(changed).fault.kind, "altered");
  }
  assert.throws(() => vault.sealChunk(new Uint8Array(0)), RangeError);
});
