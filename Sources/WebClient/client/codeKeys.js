import { AccountKeys, KeyGeneration } from "../sealing/accountKeys.js";
import { keysInRing, keysZone, ringRecord } from "../sealing/keyRing.js";
import { scrypt } from "../sealing/scrypt.js";
import { SealingKeys } from "../sealing/sealingKeys.js";
import {
  newWrapSalt, unwrap, wrap, WrapFault, wrapSaltOf, wrapStretching,
} from "../sealing/wrappedKeys.js";
import {
  holdsVaultKey, vaultCodeRecord, vaultStretching, vaultZone,
} from "../sealing/wrappedVaultKey.js";
import { ZoneSet } from "../sealing/zoneSet.js";
import { limits } from "./limits.js";
import { lettersIn, newSecret, typedSecret } from "./pairingCode.js";
import { EditError } from "./replica/editing.js";
import { KeyMembers } from "./replica/keyMembers.js";
import { storedSeals } from "./replica/sealedZones.js";

const utf8 = new TextEncoder();

/**
 * Asks a person for the second half of a code. Resolves with the typed text, or with null if the
 * person gives up. `isWrong`: false the first time, if none was typed. `triesLeft`: at least 1.
 *
 * @typedef {(question: {isWrong: boolean, triesLeft: number}) => Promise<string | null>}
 *   AskSecondHalf
 */

/** Keys that pairing codes carry: of this device for others, and of a joined account for it. */
export class CodeKeys {
  #random;
  #scrypt;

  /**
   * @param {(count: number) => Uint8Array} random
   * @param {(...request: Parameters<typeof scrypt>) => Promise<Uint8Array>} [compute] computes
   *   scrypt; here if it is missing, which takes a part of a second
   */
  constructor(random, compute) {
    this.#random = random;
    this.#scrypt = compute ?? (async (...request) => scrypt(...request));
  }

  /**
   * Wraps keys under a new secret.
   *
   * @param {SealingKeys} keys
   * @param {string} account
   * @returns {Promise<{secret: string, wrapped: string}>}
   * @throws {EditError} if they are too many
   */
  async wrap(keys, account) {
    const secret = newSecret(this.#random);
    const salt = newWrapSalt(this.#random);
    const wrapped = wrap(keys, { account, salt, key: await this.#key(secret, salt) });
    if (wrapped === null) {
      throw new EditError("tooLarge",
        "a code cannot carry the keys of so many zones; make one for fewer zones");
    }
    return { secret, wrapped };
  }

  /**
   * Returns the stored form of wrapped keys. Asks for the second half while it is missing or wrong.
   *
   * @param {string} wrapped
   * @param {{account: string, code: string, secret: string | null,
   *   ask?: AskSecondHalf}} context `code`: the part that was sent
   * @throws {EditError}
   */
  async unwrap(wrapped, { account, ...typed }) {
    const salt = wrapSaltOf(wrapped);
    if (!salt) throw new EditError("badKeys", new WrapFault("form").message);
    const keys = await this.#opened(typed, async (secret) =>
      unwrap(wrapped, { account, key: await this.#key(secret, salt) }));
    return keys.storedValue;
  }

  /**
   * Checks that the second half of a code that has brought no keys opens the vault's key: it is
   * that of an account which is not sealed. Otherwise the relay has left the keys out, and the
   * device would send records as they are.
   *
   * @param {{code: string, secret: string, ask?: AskSecondHalf}} typed
   * @param {(place: {zone: string, name: string}) => Promise<object | null>} read returns a record
   *   of the relay
   * @throws {EditError}
   */
  async checkVaultKey(typed, read) {
    const name = vaultCodeRecord(lettersIn(typed.code));
    const fields = (await read({ zone: vaultZone, name }))?.fields;
    const parameters = vaultStretching(fields);
    if (!parameters) throw keysMissing();
    await this.#opened(typed, async (secret) => {
      const key = await this.#scrypt(utf8.encode(secret), parameters);
      return holdsVaultKey(fields, { name, key }) ? { keys: [] }
        : { fault: new WrapFault("secret") };
    });
  }

  /** Returns the keys that `open` returns for the second half, which it asks for while it is
   * missing or wrong. */
  async #opened({ code, secret: typed, ask }, open) {
    let secret = typed;
    for (let triesLeft = limits.secretTries; triesLeft > 0; triesLeft -= 1) {
      const isWrong = triesLeft < limits.secretTries;
      secret ??= await answerTo(ask, { isWrong, triesLeft }, code);
      const { keys, fault } = secret === null ? { fault: new WrapFault("secret") }
        : await open(secret);
      if (keys) return keys;
      if (fault.kind !== "secret") throw new EditError("badKeys", fault.message);
      secret = null;
    }
    throw new EditError("wrongSecondHalf",
      `the second half was wrong ${limits.secretTries} times; make a new code on the other device`);
  }

  #key(secret, salt) {
    const { password, parameters } = wrapStretching(secret, salt);
    return this.#scrypt(password, parameters);
  }
}

/** Returns the keys of a new account, which seal all zones but the account's own.
 * @param {(count: number) => Uint8Array} random */
export const newAccountKeys = (random) =>
  SealingKeys.ofAccount(AccountKeys.make(random), ZoneSet.allBut([keysZone]));

/** Place of the record that the recovery phrase opens. */
export const ringPlace = { zone: keysZone, name: ringRecord };

/**
 * Returns the keys of an account, from the recovery phrase and the record of the keys at the relay.
 *
 * @param {string} phrase
 * @param {{fields?: any} | null} record
 * @returns {SealingKeys}
 * @throws {EditError} if the words are no phrase, or not that of the keys in use
 */
export function keysOfPhrase(phrase, record) {
  const { generation, fault } = KeyGeneration.ofPhrase(phrase);
  if (fault) throw new EditError("badPhrase", `${fault.message}; nothing was changed`);
  const found = keysInRing(record?.fields, generation);
  if (found.keys) return found.keys;
  throw new EditError("badPhrase", record === null
    ? "this account has no keys that a phrase could open; nothing was changed"
    : "the phrase does not open this account's keys: it is another account's, or was written down "
      + "before the account had new keys; nothing was changed");
}

/**
 * Returns the keys in a device's store; null if it has none.
 *
 * @param {{value: (name: string) => Promise<any>}} store
 * @returns {Promise<SealingKeys | null>}
 * @throws {EditError} if they are not readable
 */
export async function keysIn(store) {
  const stored = await store.value(storedSeals.keys);
  if (stored === undefined) return null;
  const keys = SealingKeys.ofStored(stored);
  if (keys) return keys;
  throw new EditError("badKeys", "the keys of this device are not readable; pair it again");
}

/** Returns the devices that this one knows as holders of the account's keys.
 *
 * @param {{value: (name: string) => Promise<any>}} store */
export async function membersIn(store) {
  return new KeyMembers(await store.value(storedSeals.members));
}

const keysMissing = () => new EditError("noKeys",
  "that code opens keys, and the relay has given none: this device has not joined; make a new code "
    + "on the other device, and if it happens again, use another relay");

/** Returns the letters that a person types; null for a text that is no second half. */
async function answerTo(ask, question, code) {
  const typed = await ask?.(question) ?? null;
  if (typed === null) {
    throw new EditError("secondHalf",
      "the second half of the code opens this account, and is missing; make a new code on the "
        + "other device, and type all of it");
  }
  return typeof typed === "string" ? typedSecret(typed, code) : null;
}
