import { serialize } from "../../../Sources/WebClient/json/jsonValue.js";
import { parse } from "../../../Sources/WebClient/json/jsonParser.js";
import {
  AccountKeys, derived, KeyGeneration,
} from "../../../Sources/WebClient/sealing/accountKeys.js";
import { hex, hexBytes } from "../../../Sources/WebClient/sealing/hex.js";
import {
  deviceFields, nextFields, nextIn, publicKeyIn,
} from "../../../Sources/WebClient/sealing/keyHandover.js";
import { keysInRing, ringFields } from "../../../Sources/WebClient/sealing/keyRing.js";
import { RecordVersion } from "../../../Sources/WebClient/sealing/recordVersion.js";
import { scrypt } from "../../../Sources/WebClient/sealing/scrypt.js";
import { SealingKeys } from "../../../Sources/WebClient/sealing/sealingKeys.js";
import { sha256 } from "../../../Sources/WebClient/sealing/sha256.js";
import { VersionVector } from "../../../Sources/WebClient/sealing/versionVector.js";
import {
  unwrap, wrap, wrapSaltOf, wrapStretching,
} from "../../../Sources/WebClient/sealing/wrappedKeys.js";
import { x25519PublicKey, x25519Secret } from "../../../Sources/WebClient/sealing/x25519.js";
import { ZoneSeal } from "../../../Sources/WebClient/sealing/zoneSeal.js";

// Checks of the vectors of sealing, for Node and for a browser.

const utf8 = new TextEncoder();

const same = (value, other) => {
  const [text, expected] = [value, other].map(serialize);
  if (text !== expected) throw new Error(`${text} is not ${expected}`);
};

/** The record in a form that can be compared. */
const formOf = (record) => ({ ...record, version: hex(record.version.bytes()) });

/** A text, or one that is given by a rule. */
const textOf = (rule) => (typeof rule === "object" && rule !== null
  ? rule.head + rule.unit.repeat(rule.count) + rule.tail : rule);

function keysOf({ nameSecret, secret }) {
  return new AccountKeys(hexBytes(nameSecret), [new KeyGeneration(hexBytes(secret))]);
}

const sealOf = (vector, shownTypes) =>
  new ZoneSeal(keysOf(vector).zoneKeys(vector.zone), shownTypes);

function recordOf({ zone, name, type, fields, modifiedAt, device, chunks, tag = 1 }) {
  return {
    zone, name, type, fields: fields === null ? null : parse(textOf(fields)), modifiedAt, device,
    tag, deleted: fields === null, chunks,
  };
}

const versionOf = ({ writer, number, floor, made }) =>
  new RecordVersion({ writer, number }, new VersionVector(made, floor));

const wrappingKeys = new Map();

/** Many cases have the same key, which takes a part of a second. */
function wrappingKey(letters, salt) {
  const name = letters + hex(salt);
  if (!wrappingKeys.has(name)) {
    const { password, parameters } = wrapStretching(letters, salt);
    wrappingKeys.set(name, scrypt(password, parameters));
  }
  return wrappingKeys.get(name);
}

/** Returns the answer to a case of a kind, in the form of its expectation. */
export const checks = {
  keys(vector) {
    const { zone } = vector;
    const generation = new KeyGeneration(hexBytes(vector.secret));
    const { nameKey, generations: [{ id, key }] } = keysOf(vector).zoneKeys(zone);
    return {
      id, checkWords: generation.checkWords(), phrase: generation.phrase(), zoneKey: hex(key),
      recordKey: hex(derived(key, "record", 64)), chunkKey: hex(derived(key, "chunk", 64)),
      chunkSeed: sealOf(vector).chunkSeed.toString(16).padStart(16, "0"),
      nameZoneKey: hex(nameKey), nameKey: hex(derived(nameKey, "name", 32)),
    };
  },
  phrase({ phrase }) {
    const { generation, fault } = KeyGeneration.ofPhrase(phrase);
    if (generation) return { secret: hex(generation.secret()) };
    return fault.number === undefined ? { fault: fault.kind }
      : { fault: fault.kind, number: fault.number };
  },
  wrap({ letters, salt: digits, account, keys }) {
    const salt = hexBytes(digits);
    const key = wrappingKey(letters, salt);
    const held = SealingKeys.ofStored(keys);
    same(held.storedValue, keys);
    return { wrapped: wrap(held, { account, salt, key }) };
  },
  unwrap({ letters, account, wrapped }) {
    const salt = wrapSaltOf(wrapped);
    const key = salt ? wrappingKey(letters, salt) : new Uint8Array(64);
    const { keys, fault } = unwrap(wrapped, { account, key });
    return fault ? { fault: fault.kind } : { keys: keys.storedValue };
  },
  x25519({ secret, other }) {
    const shared = x25519Secret(hexBytes(secret), hexBytes(other));
    return { publicKey: hex(x25519PublicKey(hexBytes(secret))), shared: shared && hex(shared) };
  },
  ring({ keys }) {
    const held = SealingKeys.ofStored(keys);
    const fields = ringFields(held);
    same(keysInRing(fields, held.account.current).keys.storedValue, keys);
    return { fields };
  },
  deviceKey({ secret, device, publicKey }) {
    const generation = new KeyGeneration(hexBytes(secret));
    const fields = deviceFields(hexBytes(publicKey), device, generation);
    same(hex(publicKeyIn(fields, device, generation)), publicKey);
    return { fields };
  },
  nextKeys({ keys, author, authorSecret, device, deviceSecret, without }) {
    const next = { keys: SealingKeys.ofStored(keys), author, without };
    const [own, other] = [authorSecret, deviceSecret].map(hexBytes);
    const fields = nextFields(next, { device, publicKey: x25519PublicKey(other), privateKey: own });
    const read = nextIn(fields,
      { device, author, publicKey: x25519PublicKey(own), privateKey: other });
    same({ ...read, keys: read.keys.storedValue }, { ...next, keys });
    return { fields };
  },
  joined({ own, others }) {
    const [held, given] = [own, others].map((keys) => SealingKeys.ofStored(keys).account);
    const joined = held.joined(given);
    return { generations: joined && joined.generations.map(({ id }) => id) };
  },
  name: (vector) => ({
    name: sealOf({ ...vector, secret: "00".repeat(32) }).name(vector.name),
  }),
  record(vector, expected) {
    const { device, author } = vector;
    const version = versionOf(vector.version);
    const record = { ...recordOf({ ...vector, device: author }), version };
    const seal = sealOf(vector, vector.shown ? [vector.type] : []);
    const sealed = seal.seal(record, device);
    same([sealed.device, sealed.deleted, "version" in sealed], [device, false, false]);
    if (device === author) same(seal.seal(record), sealed);
    const fields = serialize(sealed.fields);
    same(seal.sealedLength(record), fields.length);
    same(formOf(seal.open(sealed).record), formOf(record));
    const { name, type } = sealed;
    if (expected.fields) return { name, type, fields };
    return { name, type, length: fields.length, fieldsHash: hex(sha256(utf8.encode(fields))) };
  },
  chunk(vector, expected) {
    const seal = sealOf({ ...vector, nameSecret: "00".repeat(32) });
    const bytes = utf8.encode(textOf(vector.bytes));
    const sealed = seal.sealChunk(bytes);
    const opened = seal.openChunk(sealed);
    same(hex(opened.bytes), hex(bytes));
    const hash = hex(sha256(sealed));
    return expected.sealed ? { hash, sealed: hex(sealed) } : { hash };
  },
  open(vector) {
    const { record, fault } = sealOf(vector).open(recordOf(vector));
    if (fault) return { fault: fault.kind };
    const { name, type, device: author, version: { id, made: { floor, entries } } } = record;
    const version = { ...id, floor, made: entries };
    return { name, type, author, version, fields: serialize(record.fields) };
  },
};
