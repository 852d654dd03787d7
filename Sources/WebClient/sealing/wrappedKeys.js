import { serialize } from "../json/jsonValue.js";
import { base64url, base64urlBytes, base64urlLength } from "./base64url.js";
import { objectOf } from "./recordContent.js";
import { SealingKeys } from "./sealingKeys.js";
import { SIV } from "./siv.js";

/**
 * Keys that a pairing code carries, for the device that uses it. The relay stores them, and cannot
 * open them without the code's second half. In base64url without padding:
 *
 *      1 byte    01
 *     16 bytes   salt, random
 *      n bytes   AES-256-SIV of the JSON {"account", "keys"}: the account's id, and the stored form
 *                of the keys; associated data "lockstep wrapped keys" 01
 *
 * The key is scrypt of the second half's twelve letters, with the salt "lockstep wrapped keys" 00
 * and the 16 bytes.
 */

const utf8 = new TextEncoder();
const form = 1;
const saltBytes = 16;
const label = utf8.encode("lockstep wrapped keys");
const associatedData = Uint8Array.of(...label, form);
/** Characters of a text of wrapped keys that a relay accepts. */
const charactersMax = 8_192;

/**
 * Reason why wrapped keys cannot be taken:
 *
 * - "form": the text is not one of wrapped keys, or of a later version's
 * - "secret": they were wrapped under another second half, or changed since
 * - "account": they are the keys of another account
 * - "malformed": wrapped under this second half, but not by these rules
 */
export class WrapFault extends Error {
  name = "WrapFault";

  /** @param {"form" | "secret" | "account" | "malformed"} kind */
  constructor(kind) {
    super(sentences[kind]);
    this.kind = kind;
  }
}

const sentences = {
  form: "the keys that came with the code have an unknown form; update this device",
  secret: "the code's second half is not right; compare it with the other device",
  account: "the keys that came with the code are those of another account; do not use this code",
  malformed: "the keys that came with the code are not readable; update this device",
};

const failed = (kind) => ({ fault: new WrapFault(kind) });

/** Makes a new salt. @param {(count: number) => Uint8Array} random returns `count` random bytes */
export const newWrapSalt = (random) => random(saltBytes);

/** Returns the salt of a text of wrapped keys; null if it is not one. @param {string} text */
export function wrapSaltOf(text) { return partsOf(text)?.salt ?? null; }

/**
 * Returns the password and the parameters of `scrypt` for the key under which keys are wrapped.
 *
 * @param {string} secret the second half of a code: twelve letters, uppercase
 * @param {Uint8Array} salt
 */
export const wrapStretching = (secret, salt) => ({
  password: utf8.encode(secret),
  parameters: {
    salt: Uint8Array.of(...label, 0, ...salt), cost: 65_536, blocks: 8, lanes: 1,
    count: SIV.keyBytes,
  },
});

/**
 * Returns the text of wrapped keys; null if they are too many for a code.
 *
 * @param {SealingKeys} keys
 * @param {{account: string, salt: Uint8Array, key: Uint8Array}} context `account`: its id; `key`:
 *   the result of `scrypt`
 */
export function wrap(keys, { account, salt, key }) {
  const plaintext = utf8.encode(serialize({ account, keys: keys.storedValue }));
  const sealed = new SIV(key).seal(plaintext, associatedData);
  const length = 1 + salt.length + sealed.length;
  if (base64urlLength(length) > charactersMax) return null;
  return base64url(Uint8Array.of(form, ...salt, ...sealed));
}

/**
 * Opens wrapped keys.
 *
 * @param {string} text
 * @param {{account: string, key: Uint8Array}} context as for `wrap`
 * @returns {{keys: SealingKeys} | {fault: WrapFault}}
 */
export function unwrap(text, { account, key }) {
  const parts = partsOf(text);
  if (!parts) return failed("form");
  const plaintext = new SIV(key).open(parts.sealed, associatedData);
  if (!plaintext) return failed("secret");
  const content = objectOf(plaintext);
  if (typeof content?.account !== "string") return failed("malformed");
  if (content.account !== account) return failed("account");
  const keys = SealingKeys.ofStored(content.keys);
  return keys ? { keys } : failed("malformed");
}

function partsOf(text) {
  const bytes = text.length <= charactersMax ? base64urlBytes(text) : null;
  const start = 1 + saltBytes;
  if (bytes?.[0] !== form || bytes.length <= start + SIV.overhead) return null;
  return { salt: bytes.slice(1, start), sealed: bytes.subarray(start) };
}
