import { compareText } from "../../json/utf8.js";
import { base64url, base64urlBytes } from "../../sealing/base64url.js";
import { is64Bits } from "../../sealing/hex.js";
import { limits } from "../limits.js";

/** Devices that this one knows as holders of the account's keys, with their public keys. */
export class KeyMembers {
  /** Public keys by device. At most `limits.accountDevices`.
   * @type {Map<string, Uint8Array>} */
  #keys = new Map();
  /** Devices that were removed, the newest last; at most `limits.accountDevices`. */
  #removed = [];

  /** @param {any} stored `storedValue`; a value in another form has no members: they are learnt
   *   again from the records */
  constructor(stored) {
    for (const member of listIn(stored?.members)) {
      const key = typeof member?.key === "string" ? base64urlBytes(member.key) : null;
      if (is64Bits(member?.id) && key) this.put(member.id, key);
    }
    this.#removed = listIn(stored?.removed).filter(is64Bits);
  }

  /** Members in the order of their ids. */
  get list() {
    return [...this.#keys].sort(([one], [other]) => compareText(one, other))
      .map(([device, publicKey]) => ({ device, publicKey }));
  }

  /** Returns the device's public key; undefined if it is no member. */
  key(device) { return this.#keys.get(device); }

  /** Returns false if the device is known already, was removed, or there are too many. */
  put(device, publicKey) {
    const isRefused = this.#keys.has(device) || this.#removed.includes(device)
      || this.#keys.size >= limits.accountDevices;
    if (!isRefused) this.#keys.set(device, publicKey);
    return !isRefused;
  }

  /** @param {string[]} gone */
  remove(gone) {
    for (const device of gone) this.#keys.delete(device);
    const others = this.#removed.filter((device) => !gone.includes(device));
    this.#removed = [...others, ...gone].slice(-limits.accountDevices);
  }

  /** Forgets the members but one, and not which devices were removed. */
  removeAllBut(device) {
    for (const other of [...this.#keys.keys()]) if (other !== device) this.#keys.delete(other);
  }

  get storedValue() {
    const members = this.list.map(({ device, publicKey }) =>
      ({ id: device, key: base64url(publicKey) }));
    return { members, removed: [...this.#removed] };
  }
}

const listIn = (value) => (Array.isArray(value) ? value : []);
