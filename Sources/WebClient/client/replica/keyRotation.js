import { KeyGeneration } from "../../sealing/accountKeys.js";
import {
  deviceFields, deviceRecord, deviceType, nextFields, nextRecord, nextType,
} from "../../sealing/keyHandover.js";
import { ringFields, ringRecord, ringType } from "../../sealing/keyRing.js";
import { SealingKeys } from "../../sealing/sealingKeys.js";
import { x25519PublicKey } from "../../sealing/x25519.js";

/**
 * New keys of an account for all its devices but some. `keys`: those that the device has then.
 * `records`: the records of the zone of keys that it saves for the others, all at once, with
 * `fields` null for those that it deletes. Of these, the ring decides: if another device has
 * replaced it, none may be saved. `receivers`: the devices that get the new keys, in the order of
 * their ids, without the one that makes them.
 *
 * @typedef {{keys: SealingKeys, receivers: string[],
 *   records: {name: string, type: string, fields: object | null}[]}} KeyRotation
 */

/**
 * Returns the rotation; null if the device has not the account's keys, or no more generations are
 * possible.
 *
 * @param {{keys: SealingKeys | null, secret: Uint8Array, device: string, privateKey: Uint8Array,
 *   members: import("./keyMembers.js").KeyMembers, without: string[]}} options `keys`: the present
 *   ones; `secret`: random, that of the new generation; `device`: the one that makes the keys, with
 *   its `privateKey`; `members`: the devices that it knows; `without`: those that must not get the
 *   new keys
 * @returns {KeyRotation | null}
 */
export function keyRotation({ keys, secret, device, privateKey, members, without }) {
  const generation = new KeyGeneration(secret);
  const next = keys?.account?.adding(generation);
  if (!next) return null;
  const all = SealingKeys.ofAccount(next, keys.sealed);
  const staying = members.list.filter((member) =>
    member.device !== device && !without.includes(member.device));
  const handover = { keys: all, author: device, without };
  const records = [{ name: ringRecord, type: ringType, fields: ringFields(all) }];
  for (const member of [...staying, { device, publicKey: x25519PublicKey(privateKey) }]) {
    records.push({ name: deviceRecord(member.device), type: deviceType,
      fields: deviceFields(member.publicKey, member.device, generation) });
    const fields = nextFields(handover, { ...member, privateKey });
    if (fields) records.push({ name: nextRecord(member.device), type: nextType, fields });
  }
  for (const gone of without) {
    records.push({ name: deviceRecord(gone), type: deviceType, fields: null },
      { name: nextRecord(gone), type: nextType, fields: null });
  }
  return { keys: all, records, receivers: staying.map((member) => member.device) };
}
