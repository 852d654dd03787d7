import { isObject } from "../json/jsonValue.js";
import { base64Bytes } from "./base64url.js";
import { hex } from "./hex.js";
import { hkdf, sha256 } from "./sha256.js";
import { SIV } from "./siv.js";

/**
 * Key of an account's vault under a pairing code, in a record of the vault's zone:
 *
 *     "code/HASH"   {"key", "salt", "n", "r", "p", "wrapped", "expiresAt"}
 *
 * HASH is the beginning of SHA-256 of the letters of the relay's part. `key` is the id of the
 * vault's key, `salt` and `wrapped` are Base64: the key, sealed by AES-256-SIV under scrypt of the
 * code's second half. A page does not use it. That it opens shows that a person has typed the
 * second half for the vault.
 */

export const vaultZone = "Vault";

const utf8 = new TextEncoder();
const keyBytes = 16;
const idBytes = 8;
const saltBytes = { least: 8, most: 64 };
/** Limits of the cost: the record's author must not exhaust the memory or the time of a device. */
const scryptBytesMax = 2 ** 27;
const blocksMax = 32;
const lanesMax = 4;

/** Returns the name of the record. @param {string} letters those of the relay's part of a code */
export const vaultCodeRecord = (letters) =>
  `code/${hex(sha256(utf8.encode(letters)).subarray(0, 16))}`;

/**
 * Returns the parameters of `scrypt` for the key under which the vault's key is wrapped; null if
 * the fields are malformed, or ask for too much.
 *
 * @param {any} fields
 * @returns {import("./scrypt.js").ScryptParameters | null}
 */
export function vaultStretching(fields) {
  if (!isObject(fields)) return null;
  const { n: cost, r: blocks, p: lanes } = fields;
  const salt = base64Bytes(fields.salt);
  const isSalt = !!salt && salt.length >= saltBytes.least && salt.length <= saltBytes.most;
  const isCost = isWithin(cost, scryptBytesMax) && (cost & (cost - 1)) === 0 && cost > 1;
  const isPossible = isSalt && isCost && isWithin(blocks, blocksMax) && isWithin(lanes, lanesMax)
    && 128 * cost * blocks <= scryptBytesMax;
  return isPossible ? { salt, cost, blocks, lanes, count: SIV.keyBytes } : null;
}

/**
 * True if the record holds a vault's key that was wrapped for it under this key.
 *
 * @param {any} fields
 * @param {{name: string, key: Uint8Array}} context `name`: of the record; `key`: of scrypt
 */
export function holdsVaultKey(fields, { name, key }) {
  const wrapped = base64Bytes(fields.wrapped);
  const bytes = wrapped && new SIV(key).open(wrapped, utf8.encode(`vault key ${name}`));
  if (bytes?.length !== keyBytes) return false;
  const id = hkdf(bytes,
    { salt: utf8.encode("lockstep vault"), info: utf8.encode("id"), count: idBytes });
  return hex(id) === fields.key;
}

const isWithin = (value, most) => Number.isSafeInteger(value) && value >= 1 && value <= most;
