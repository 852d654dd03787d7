import { serialize } from "../json/jsonValue.js";
import { derived } from "./accountKeys.js";
import { base64url, base64urlBytes } from "./base64url.js";
import { is64Bits } from "./hex.js";
import { objectOf } from "./recordContent.js";
import { SealingKeys } from "./sealingKeys.js";
import { SIV } from "./siv.js";
import { x25519Bytes, x25519Secret } from "./x25519.js";

// Records by which an account's devices give each other new keys, in the zone of `keyRing.js`:
//
//     "device/ID"   type "deviceKey"   a device's public key: {"key", "sealed"}
//     "next/ID"     type "nextKeys"    all keys of the account for that device: {"by", "sealed"}
//
// `key` is the id of the generation that seals the public key, `by` the author of the keys, and
// `sealed` AES-256-SIV, in base64url. The relay has no generation, so it can make no public key
// known. The new keys are sealed with what author and addressee share (X25519), so a device that
// was removed can make none in another's name.

export const deviceType = "deviceKey";
export const nextType = "nextKeys";

const utf8 = new TextEncoder();
const devicePrefix = "device/";
const nextPrefix = "next/";

/** @param {string} device its id */
export const deviceRecord = (device) => devicePrefix + device;

/** @param {string} device the id of the addressee */
export const nextRecord = (device) => nextPrefix + device;

/** Returns the id of the device whose public key the record of this name has; null for another
 * record. @param {string} name */
export function deviceIn(name) {
  if (!name.startsWith(devicePrefix)) return null;
  const device = name.slice(devicePrefix.length);
  return is64Bits(device) ? device : null;
}

const bytesIn = (text) => (typeof text === "string" ? base64urlBytes(text) : null);

// public keys

const deviceSeal = (generation) =>
  new SIV(derived(generation.secret(), "device key", SIV.keyBytes));

const deviceData = (device) => utf8.encode(`lockstep device key ${device}`);

/**
 * Returns the fields of a device's record.
 *
 * @param {Uint8Array} publicKey
 * @param {string} device
 * @param {import("./accountKeys.js").KeyGeneration} generation
 */
export function deviceFields(publicKey, device, generation) {
  const sealed = deviceSeal(generation).seal(publicKey, deviceData(device));
  return { key: generation.id, sealed: base64url(sealed) };
}

/**
 * Returns the device's public key; null if this generation has not sealed it.
 *
 * @param {any} fields
 * @param {string} device
 * @param {import("./accountKeys.js").KeyGeneration} generation
 */
export function publicKeyIn(fields, device, generation) {
  const sealed = bytesIn(fields?.sealed);
  if (fields?.key !== generation.id || !sealed) return null;
  const bytes = deviceSeal(generation).open(sealed, deviceData(device));
  return bytes?.length === x25519Bytes ? bytes : null;
}

// new keys

/**
 * New keys of an account. `author`: the device that has made them. `without`: the devices that do
 * not get them.
 *
 * @typedef {{keys: SealingKeys, author: string, without: string[]}} NextKeys
 */

/** Returns the seal of both sides; null if the public key is no key. */
function nextSeal(privateKey, publicKey) {
  const shared = x25519Secret(privateKey, publicKey);
  return shared && new SIV(derived(shared, "next keys", SIV.keyBytes));
}

const nextData = (author, device) => utf8.encode(`lockstep next keys ${author} ${device}`);

/**
 * Returns the fields of the record for a device; null if its public key is no key.
 *
 * @param {NextKeys} next
 * @param {{device: string, publicKey: Uint8Array, privateKey: Uint8Array}} parties `device` and
 *   `publicKey`: the addressee's; `privateKey`: the author's
 */
export function nextFields({ keys, author, without }, { device, publicKey, privateKey }) {
  const content = utf8.encode(serialize({ keys: keys.storedValue, without }));
  const sealed = nextSeal(privateKey, publicKey)?.seal(content, nextData(author, device));
  return sealed ? { by: author, sealed: base64url(sealed) } : null;
}

/** Returns the device that says that it has made the record; null if it is not one.
 * @param {any} fields */
export const authorIn = (fields) => (is64Bits(fields?.by) ? fields.by : null);

/**
 * Returns the new keys; null unless the author whose public key this is has made them for this
 * device.
 *
 * @param {any} fields
 * @param {{device: string, author: string, publicKey: Uint8Array, privateKey: Uint8Array}} parties
 *   `publicKey`: the author's; `privateKey`: that of the addressee, `device`
 * @returns {NextKeys | null}
 */
export function nextIn(fields, { device, author, publicKey, privateKey }) {
  const sealed = bytesIn(fields?.sealed);
  const bytes = sealed && nextSeal(privateKey, publicKey)?.open(sealed, nextData(author, device));
  const content = bytes && objectOf(bytes);
  const keys = content && SealingKeys.ofStored(content.keys);
  if (!keys) return null;
  const without = Array.isArray(content.without) ? content.without.filter(is64Bits) : [];
  return { keys, author, without };
}
