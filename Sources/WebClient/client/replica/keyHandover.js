import { hex } from "../../sealing/hex.js";
import {
  authorIn, deviceFields, deviceIn, deviceRecord, deviceType, nextIn, nextRecord, publicKeyIn,
} from "../../sealing/keyHandover.js";
import { keysInRing, keysZone, ringFields, ringRecord, ringType } from "../../sealing/keyRing.js";
import { SealingKeys } from "../../sealing/sealingKeys.js";
import { x25519Bytes, x25519PublicKey } from "../../sealing/x25519.js";
import { keyOf } from "../record.js";
import { writeChange } from "./editing.js";
import { storedSeals } from "./sealedZones.js";
import { restampAll, stampAfter } from "./stamps.js";

// Devices of an account that give each other new keys (`sealing/keyHandover.js`).

/** Random bytes of a device's own key. */
export const deviceKeyBytes = x25519Bytes;

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
  const record = state.transaction.record(keyOf({ zone: keysZone, name: ringRecord }));
  const { keys, fault } = keysInRing(record?.fields, held.account.current);
  // Another device may have made newer keys, which come to this one with its next sync.
  if (fault === "otherKey" || keys?.isSame(held)) return;
  putKeyRecord(state, { name: ringRecord, type: ringType, fields: ringFields(held) }, clock);
}

function putKeyRecord(state, { name, type, fields }, clock) {
  const held = state.transaction.record(keyOf({ zone: keysZone, name }));
  const stamp = stampAfter(state, held, clock);
  writeChange(state, { zone: keysZone, name, type, fields, chunks: [], stamp }, clock);
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
  const hasNew = records.filter((record) => takeNext(state, record)).length > 0;
  // A public key may be sealed with the generation that has just come.
  if (hasNew) for (const record of records) takePublicKey(state, record);
  return hasNew;
}

/** Takes a device's public key: the first that it has published is its key. Only the generation
 * that seals counts, because a device that was removed knows the others. */
function takePublicKey(state, { name, fields }) {
  const member = deviceIn(name);
  const { current } = state.sealing.held.account;
  const publicKey = member && publicKeyIn(fields, member, current);
  if (publicKey) putMember(state, member, publicKey);
}

/** Returns true if the device has more keys now. */
function takeNext(state, { name, fields }) {
  const { sealing, device } = state;
  const { privateKey, members } = sealing;
  const author = authorIn(fields);
  const publicKey = author && members.key(author);
  if (name !== nextRecord(device) || !privateKey || !publicKey) return false;
  const next = nextIn(fields, { device, author, publicKey, privateKey });
  return next ? adoptNext(state, next) : false;
}

/**
 * Adopts new keys of the account. Returns true if the device has more keys now.
 *
 * @param {{keys: SealingKeys, without: string[]}} next
 */
export function adoptNext({ sealing, transaction }, { keys, without }) {
  const { account, plainZones } = sealing.held;
  const joined = keys.account && account.joined(keys.account);
  if (!joined) return false;
  sealing.members.remove(without);
  transaction.setValue(storedSeals.members, sealing.members.storedValue);
  if (joined === account) return false;
  const plain = plainZones.filter((zone) => keys.plainZones.includes(zone));
  sealing.adopt(SealingKeys.ofAccount(joined, plain));
  sealing.retryConflicts();
  transaction.setValue(storedSeals.keys, sealing.held.storedValue);
  return true;
}

function putMember({ sealing, transaction }, member, publicKey) {
  if (!sealing.members.put(member, publicKey)) return;
  transaction.setValue(storedSeals.members, sealing.members.storedValue);
}
