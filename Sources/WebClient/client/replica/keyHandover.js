import { generationBytes, generationsMax } from "../../sealing/accountKeys.js";
import { hex } from "../../sealing/hex.js";
import {
  authorIn, deviceFields, deviceIn, deviceRecord, deviceType, nextIn, nextRecord, publicKeyIn,
} from "../../sealing/keyHandover.js";
import { keysInRing, keysZone, ringFields, ringRecord, ringType } from "../../sealing/keyRing.js";
import { SealingKeys } from "../../sealing/sealingKeys.js";
import { x25519Bytes, x25519PublicKey } from "../../sealing/x25519.js";
import { keyOf } from "../record.js";
import { EditError, writeChange } from "./editing.js";
import { keyRotation } from "./keyRotation.js";
import { beginResealing } from "./resealing.js";
import { readAgain } from "./restore.js";
import { storedSeals } from "./sealedZones.js";
import { restampAll, stampAfter } from "./stamps.js";

// Devices of an account that give each other new keys (`sealing/keyHandover.js`).

export { keysZone };

/** Random bytes of a device's own key, and of the secret of new keys. */
export const deviceKeyBytes = x25519Bytes;
export const newKeysBytes = generationBytes;

/**
 * Gives the device a key of its own, unless it has one, and makes it known to the account's other
 * devices with the next sync. Has no effect without the account's keys.
 *
 * @param {Uint8Array} secret random bytes
 */
export function makeDeviceKey(state, secret, clock) {
  const { sealing, transaction, device } = state;
  if (!state.hasAccountKeys) return;
  restampAll(state, clock);
  if (!sealing.privateKey) {
    sealing.privateKey = secret;
    transaction.setValue(storedSeals.privateKey, hex(secret));
  }
  putKeyRing(state, clock);
  // A record that another generation has sealed is sealed again by the device that has made the
  // newer one.
  const name = deviceRecord(device);
  if (transaction.record(keyOf({ zone: keysZone, name }))?.fields) return;
  const publicKey = x25519PublicKey(sealing.privateKey);
  putMember(state, device, publicKey);
  const fields = deviceFields(publicKey, device, sealing.held.account.current);
  putKeyRecord(state, { name, type: deviceType, fields }, clock);
}

/** Saves the record of the account's keys, if the device has none or one that was changed: it shows
 * other devices that the account is sealed, and a phrase needs it. */
function putKeyRing(state, clock) {
  const { held } = state.sealing;
  if (held.sealed.isEmpty) return;
  const record = state.transaction.record(keyOf({ zone: keysZone, name: ringRecord }));
  const { keys, fault } = keysInRing(record?.fields, held.account.current);
  if (isOfOthers(held, record, fault)) return;
  const all = keys ? held.sealing(keys.sealed) : held;
  // Devices that have joined the same keys may have them in another order.
  if (keys?.includes(all)) return;
  putKeyRecord(state, { name: ringRecord, type: ringType, fields: ringFields(all) }, clock);
}

/** True if the record of the keys is sealed with a generation that this device does not have:
 * another device may have made newer keys, which come to this one with its next sync. */
const isOfOthers = ({ account }, record, fault) => fault === "otherKey"
  && !account.generations.some(({ id }) => id === record.fields.key);

function putKeyRecord(state, { name, type, fields }, clock) {
  const held = state.transaction.record(keyOf({ zone: keysZone, name }));
  const stamp = stampAfter(state, held, clock);
  writeChange(state, { zone: keysZone, name, type, fields, chunks: [], stamp }, clock);
}

/**
 * New keys that the device makes for the account, as it sends and adopts them. `records`: mutations
 * of the zone of keys, to be saved all at once. `keys`: `SealingKeys.storedValue`. `receivers`: the
 * other devices that get the keys.
 *
 * @typedef {{records: object[], keys: any, without: string[], receivers: string[]}} MadeKeys
 */

/**
 * Makes new keys for all devices that this one knows but some. Stores nothing: they are adopted
 * once the relay has the records.
 *
 * @param {{secret: Uint8Array, without: string[]}} options `secret`: random bytes of the new
 *   generation
 * @returns {MadeKeys}
 * @throws {EditError} if the device can make none
 */
export function makeKeys(state, { secret, without }, clock) {
  const { sealing, device } = state;
  const { held, privateKey, members } = sealing;
  if (!state.hasAccountKeys || !privateKey) {
    throw new EditError("refused", "this device does not have the account's keys");
  }
  const ring = state.transaction.record(keyOf({ zone: keysZone, name: ringRecord }));
  const { keys, fault } = keysInRing(ring?.fields, held.account.current);
  const sealsMore = !!keys && !held.sealed.includes(keys.sealed);
  if (sealsMore || isOfOthers(held, ring, fault)) throw keysChanged();
  const rotation = keyRotation({ keys: held, secret, device, privateKey, members, without });
  if (!rotation) {
    throw new EditError("refused",
      `this account has had ${generationsMax} keys, and can have no more of them`);
  }
  const records = rotation.records.map((record) => mutationOf(state, record, clock))
    .filter((mutation) => mutation !== null);
  return { records, keys: rotation.keys.storedValue, without, receivers: rotation.receivers };
}

/** Returns the error that another device has made keys since this one has read. */
export const keysChanged = () => new EditError("keysChanged",
  "another device has just changed the keys; try again");

/** Returns what is saved; null for the deletion of a record that the relay is not known to have.
 * The record of the account's keys decides: it must be the one that this device has read. */
function mutationOf(state, { name, type, fields }, clock) {
  const held = state.transaction.record(keyOf({ zone: keysZone, name }));
  const isThere = !!held?.fields;
  const tag = isThere ? held.tag : 0;
  const mutation = { name, type, modifiedAt: stampAfter(state, held, clock),
    baseTag: name === ringRecord ? tag : "any" };
  if (fields === null) return isThere ? { ...mutation, deleted: true } : null;
  return { ...mutation, fields };
}

/**
 * Adopts keys that this device has made, and that the relay has.
 *
 * @param {{keys: any, without: string[]}} made
 */
export function adoptKeys(state, { keys, without }) {
  const next = SealingKeys.ofStored(keys);
  if (!state.hasAccountKeys || !next || !adoptNext(state, { keys: next, without })) return;
  beginResealing(state);
  if (state.sealing.hasUnreadable) readAgain(state);
}

/**
 * Takes what a page says about devices and keys. Returns true if the device has more keys now.
 *
 * @param {import("./sealing.js").Arrived[]} arrivals
 */
export function takeHandovers(state, arrivals) {
  if (!state.sealing.held?.account) return false;
  const records = arrivals.map((arrived) => arrived.record ?? arrived)
    .filter(({ zone, fields }) => zone === keysZone && fields);
  for (const record of records) takePublicKey(state, record);
  const taken = records.map((record) => takeNext(state, record)).filter((it) => it !== null);
  // A public key may be sealed with the generation that has just come.
  if (taken.length > 0) {
    const held = state.transaction.records(keysZone, deviceType);
    for (const record of [...held, ...records]) takePublicKey(state, record);
  }
  return taken.includes(true);
}

/** Takes a device's public key: the first that it has published is its key. Only the generation
 * that seals counts, because a device that was removed knows the others. */
function takePublicKey(state, { name, fields }) {
  const member = deviceIn(name);
  const { current } = state.sealing.held.account;
  const publicKey = member && publicKeyIn(fields, member, current);
  if (publicKey) putMember(state, member, publicKey);
}

/** Returns null if the record gives this device no keys; otherwise true if it has more now. */
function takeNext(state, { name, fields }) {
  const { sealing, device } = state;
  const { privateKey, members } = sealing;
  const author = authorIn(fields);
  const publicKey = author && members.key(author);
  if (name !== nextRecord(device) || !privateKey || !publicKey) return null;
  const next = nextIn(fields, { device, author, publicKey, privateKey });
  const hasNew = next ? adoptNext(state, next) : null;
  // The author has sealed the public keys of all devices that stay with these keys. A device that
  // was removed may have made others known with the former ones.
  if (hasNew !== null && sealing.held.account.current.id === next.keys.account.current.id) {
    members.removeAllBut(device);
    storeMembers(state);
  }
  return hasNew;
}

/**
 * Adopts new keys of the account. Returns true if the device has more keys now; null if they are
 * not the account's, or too many.
 *
 * @param {{keys: SealingKeys, without: string[]}} next
 */
function adoptNext(state, { keys, without }) {
  const { sealing, transaction } = state;
  const { account, sealed } = sealing.held;
  const joined = keys.account && account.joined(keys.account);
  if (!joined) return null;
  sealing.members.remove(without);
  storeMembers(state);
  if (joined === account) return false;
  sealing.adopt(SealingKeys.ofAccount(joined, sealed.union(keys.sealed)));
  sealing.retryConflicts();
  transaction.setValue(storedSeals.keys, sealing.held.storedValue);
  return true;
}

function putMember(state, member, publicKey) {
  if (state.sealing.members.put(member, publicKey)) storeMembers(state);
}

function storeMembers({ sealing, transaction }) {
  transaction.setValue(storedSeals.members, sealing.members.storedValue);
}
