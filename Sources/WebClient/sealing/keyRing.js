import { isObject, serialize } from "../json/jsonValue.js";
import { derived } from "./accountKeys.js";
import { base64url, base64urlBytes } from "./base64url.js";
import { is64Bits } from "./hex.js";
import { objectOf } from "./recordContent.js";
import { SealingKeys } from "./sealingKeys.js";
import { SIV } from "./siv.js";
import { ZoneSet } from "./zoneSet.js";

// An account's keys in a record at the relay, for a device that has nothing but the phrase of the
// generation that seals: the other generations, and the secret of the records' names.
//
//     zone "Keys", record "ring", type "keyRing"
//     {"key": id of the generation, "plain" or "only": the sealed zones (`ZoneSet`),
//      "sealed": AES-256-SIV of the JSON of `SealingKeys.storedValue`, in base64url}
//
// The key is HKDF of the generation's secret for the purpose "ring"; the associated data are
// "lockstep key ring". The zones beside it are a hint for devices without keys, and what is sealed
// decides.

/** Zone of an account's own keys. No app edits it. */
export const keysZone = "Keys";
export const ringRecord = "ring";
export const ringType = "keyRing";

const utf8 = new TextEncoder();
const data = utf8.encode("lockstep key ring");

const sealOf = (generation) => new SIV(derived(generation.secret(), "ring", SIV.keyBytes));

/** True for the record of an account's keys, unless it is deleted. */
export const isRing = ({ zone, name, fields }) =>
  zone === keysZone && name === ringRecord && isObject(fields);

/** Returns the record's fields; null if these are not the keys of a whole account.
 * @param {SealingKeys} keys */
export function ringFields(keys) {
  if (!keys.account) return null;
  const { current } = keys.account;
  const sealed = sealOf(current).seal(utf8.encode(serialize(keys.storedValue)), data);
  return { key: current.id, ...keys.sealed.member, sealed: base64url(sealed) };
}

/** Returns the zones that the record says are sealed: all, if it does not say it.
 * @param {any} fields */
export const sealedZonesIn = (fields) => ZoneSet.ofMember(fields) ?? ZoneSet.allBut([]);

/**
 * Returns the keys in the record, or a fault: "otherKey" if another generation has sealed it,
 * "malformed" if it has another form, or was changed.
 *
 * @param {any} fields
 * @param {import("./accountKeys.js").KeyGeneration} generation
 * @returns {{keys: SealingKeys} | {fault: "otherKey" | "malformed"}}
 */
export function keysInRing(fields, generation) {
  const sealed = typeof fields?.sealed === "string" ? base64urlBytes(fields.sealed) : null;
  if (!is64Bits(fields?.key) || !sealed) return { fault: "malformed" };
  if (fields.key !== generation.id) return { fault: "otherKey" };
  const bytes = sealOf(generation).open(sealed, data);
  const content = bytes && objectOf(bytes);
  const keys = content && SealingKeys.ofStored(content);
  const isOwn = keys?.account?.current.id === generation.id;
  return isOwn ? { keys } : { fault: "malformed" };
}
