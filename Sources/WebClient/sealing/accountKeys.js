import { hex } from "./hex.js";
import { proquintBits, proquintLetters, proquints } from "./proquints.js";
import { hkdf, sha256 } from "./sha256.js";

// Keys of an account's sealed zones:
//
//     HKDF-SHA-256(secret of a generation, salt "lockstep account", info …)
//       "id"                8 bytes    identifies the generation; not secret
//       "check words"      12 bytes    compared by a person on two devices
//       "zone" 0 ZONE      32 bytes    key of a zone (ZoneSeal)
//       "ring"             64 bytes    seals the record of all keys (keyRing.js)
//       "device key"       64 bytes    seals a device's public key (keyHandover.js)
//     HKDF-SHA-256(secret ‖ secret of the generation with the greater id, …)
//       "merge"            32 bytes    the generation that follows from both
//     HKDF-SHA-256(name secret, …)
//       "zone" 0 ZONE      32 bytes    makes the names of a zone's records

const secretBytes = 32;
/** Random bytes of the secret of a generation. */
export const generationBytes = secretBytes;
const idBytes = 8;
const checkBytes = 12;
const checksumBytes = 2;
/** Generations of an account's keys that a device has: one for each revocation of a device. */
export const generationsMax = 64;
const phraseLetters = ((secretBytes + checksumBytes) / 2) * proquintLetters;

const utf8 = new TextEncoder();
const salt = utf8.encode("lockstep account");

/**
 * Derives `count` bytes from a secret for a purpose.
 *
 * @param {Uint8Array} secret
 * @param {string} purpose
 * @param {number} count
 */
export const derived = (secret, purpose, count) =>
  hkdf(secret, { salt, info: utf8.encode(purpose), count });

const zoneKey = (secret, zone) => derived(secret, `zone\0${zone}`, secretBytes);

function checkedSecret(bytes) {
  if (bytes?.length !== secretBytes) throw new RangeError("a secret has 32 bytes");
  return Uint8Array.from(bytes);
}

/** Reason why some words are not a phrase. `kind` is "letters", "word" or "checksum". */
export class PhraseFault extends Error {
  name = "PhraseFault";

  /**
   * @param {"letters" | "word" | "checksum"} kind
   * @param {number=} number of letters that there are, or of the word, from 1
   */
  constructor(kind, number) {
    super(sentences[kind](number));
    this.kind = kind;
    this.number = number;
  }
}

const sentences = {
  letters: (count) =>
    `a phrase has 17 words of five letters, ${phraseLetters} letters in all; there are ${count}`,
  word: (place) => `the word ${place} is not a word of a phrase; check how it is written`,
  checksum: () => "a word is not right, or two are exchanged; compare them with what was written",
};

/** Secret of one generation of an account's keys, 32 random bytes. A rotation adds one. */
export class KeyGeneration {
  #secret;
  #id;

  /** @param {Uint8Array} secret 32 bytes */
  constructor(secret) {
    this.#secret = checkedSecret(secret);
    this.#id = hex(derived(this.#secret, "id", idBytes));
  }

  /** @param {(count: number) => Uint8Array} random returns `count` random bytes */
  static make(random) { return new KeyGeneration(random(secretBytes)); }

  /**
   * Reads the words of `phrase`. Upper and lower case, and all that is no letter, have no effect.
   *
   * @param {string} text
   * @returns {{generation: KeyGeneration} | {fault: PhraseFault}}
   */
  static ofPhrase(text) {
    const letters = text.toLowerCase().replace(/[^a-z]/g, "");
    if (letters.length !== phraseLetters) {
      return { fault: new PhraseFault("letters", letters.length) };
    }
    const bytes = new Uint8Array(secretBytes + checksumBytes);
    for (let place = 0; 2 * place < bytes.length; place += 1) {
      const start = place * proquintLetters;
      const bits = proquintBits(letters.slice(start, start + proquintLetters));
      if (bits === null) return { fault: new PhraseFault("word", place + 1) };
      bytes[2 * place] = bits >> 8;
      bytes[2 * place + 1] = bits;
    }
    const secret = bytes.subarray(0, secretBytes);
    const isRight = checksum(secret).every((byte, index) => byte === bytes[secretBytes + index]);
    return isRight ? { generation: new KeyGeneration(secret) }
      : { fault: new PhraseFault("checksum") };
  }

  /** Identifier, sixteen hexadecimal digits; not secret. */
  get id() { return this.#id; }

  /** Returns the 32 bytes of the secret, for a wrapped key or the device's own store. */
  secret() { return this.#secret.slice(); }

  /** Returns six words that are the same on devices with the same secret. */
  checkWords() { return proquints(derived(this.#secret, "check words", checkBytes)).join(" "); }

  /** Returns the secret as 17 words, separated by spaces. */
  phrase() {
    return proquints(Uint8Array.of(...this.#secret, ...checksum(this.#secret))).join(" ");
  }

  /** Returns the generation that follows from both, which nobody has who lacks one of them.
   * @param {KeyGeneration} other */
  merged(other) {
    const [first, second] = this.id < other.id ? [this, other] : [other, this];
    const both = Uint8Array.of(...first.#secret, ...second.#secret);
    return new KeyGeneration(derived(both, "merge", secretBytes));
  }

  /** Returns the 32 bytes of a zone's key of this generation. @param {string} zone */
  zoneKey(zone) { return zoneKey(this.#secret, zone); }
}

const checksum = (secret) => sha256(
  Uint8Array.of(...utf8.encode("lockstep account phrase"), ...secret)).subarray(0, checksumBytes);

/**
 * Keys of one zone: all that a device needs that is paired for that zone alone. The last generation
 * seals, the others only open.
 *
 * @typedef {{zone: string, nameKey: Uint8Array,
 *   generations: {id: string, key: Uint8Array}[]}} ZoneKeys
 */

/** Keys of an account: the secret of its names, which a rotation keeps, and its generations. */
export class AccountKeys {
  #nameSecret;
  #generations;

  /**
   * @param {Uint8Array} nameSecret 32 bytes
   * @param {KeyGeneration[]} generations oldest first, at least one
   */
  constructor(nameSecret, generations) {
    if (generations.length === 0) throw new RangeError("an account has a generation of keys");
    this.#nameSecret = checkedSecret(nameSecret);
    this.#generations = [...generations];
  }

  /** Makes the keys of a new account. @param {(count: number) => Uint8Array} random */
  static make(random) {
    return new AccountKeys(random(secretBytes), [KeyGeneration.make(random)]);
  }

  /** Returns these keys with one more generation. @param {(count: number) => Uint8Array} random */
  rotated(random) {
    return new AccountKeys(this.#nameSecret, [...this.#generations, KeyGeneration.make(random)]);
  }

  /** Returns these keys with one more generation, which seals from now on; null if there are too
   * many, or it is among them. @param {KeyGeneration} generation */
  adding(generation) {
    if (this.#has(generation) || this.#generations.length >= generationsMax) return null;
    return new AccountKeys(this.#nameSecret, [...this.#generations, generation]);
  }

  /**
   * Returns the keys that a device has which gets the others. If two devices have made a generation
   * at the same time, each without another device, neither may seal: what follows from both does,
   * on all devices that have both. null: they are of another account, or too many.
   *
   * @param {AccountKeys} others
   */
  joined(others) {
    if (hex(this.#nameSecret) !== hex(others.#nameSecret)) return null;
    const added = others.#generations.filter((it) => !this.#has(it));
    if (added.length === 0) return this;
    if (this.#generations.every((it) => others.#has(it))) return others;
    const merged = this.current.merged(others.current);
    const all = [...this.#generations, ...added].filter(({ id }) => id !== merged.id);
    if (all.length >= generationsMax) return null;
    return new AccountKeys(this.#nameSecret, [...all, merged]);
  }

  #has({ id }) { return this.#generations.some((it) => it.id === id); }

  /** Generations, oldest first. */
  get generations() { return [...this.#generations]; }

  /** Generation that seals. */
  get current() { return this.#generations[this.#generations.length - 1]; }

  /** Returns the 32 bytes, for a wrapped key or the device's own store. */
  nameSecret() { return this.#nameSecret.slice(); }

  /** @param {string} zone @returns {ZoneKeys} */
  zoneKeys(zone) {
    return {
      zone,
      nameKey: zoneKey(this.#nameSecret, zone),
      generations: this.#generations.map((it) => ({ id: it.id, key: it.zoneKey(zone) })),
    };
  }
}
