import { isObject } from "../json/jsonValue.js";
import { areChunks } from "../model/fileReference.js";
import { base64Bytes } from "./base64url.js";
import { hex, hexBytes } from "./hex.js";
import { objectOf } from "./recordContent.js";
import { HMAC, hkdf, sha256 } from "./sha256.js";
import { SIV } from "./siv.js";

const keyBytes = 16;
const salt = new TextEncoder().encode("lockstep vault");
const utf8 = new TextEncoder();
const pieceData = utf8.encode("piece");

const derived = (key, purpose, count) => hkdf(key, { salt, info: utf8.encode(purpose), count });

/**
 * Keys that follow from a vault's own key, 128 random bits that an account which is not sealed has
 * (or had, before it was sealed). They open the vault's files:
 *
 *     {"sealed": Base64 of the sealed manifest, "key": id of the key,
 *      "chunks": [the hash of each sealed chunk, in order]}
 */
export class VaultKeys {
  #piece;
  #manifest;
  #name;

  /** @param {Uint8Array} key 16 bytes */
  constructor(key) {
    if (key.length !== keyBytes) throw new RangeError("a vault's key has 16 bytes");
    this.id = hex(derived(key, "id", 8));
    this.#piece = new SIV(derived(key, "piece", SIV.keyBytes));
    this.#manifest = new SIV(derived(key, "manifest", SIV.keyBytes));
    this.#name = new HMAC(derived(key, "name", 32));
  }

  /**
   * Returns the keys in a record of a sealed zone, `key/ID`: those of before the zone was sealed.
   * null for any other record.
   *
   * @param {{name: string, fields: any}} record
   */
  static former({ name, fields }) {
    const bytes = isObject(fields) ? base64Bytes(fields.secret) : null;
    if (bytes?.length !== keyBytes) return null;
    const keys = new VaultKeys(bytes);
    return name === `key/${keys.id}` ? keys : null;
  }

  /** Returns the name of the record of a file. @param {string} file */
  recordName(file) { return hex(this.#name.code(utf8.encode(file))); }

  /**
   * Returns the manifest of a record, `{file, size, sha256, chunks}`, as its writer had it; null if
   * it was not sealed with this key for this record.
   *
   * @param {any} fields
   * @param {string} name of the record
   */
  manifest(fields, name) {
    if (!isObject(fields) || fields.key !== this.id || !areChunks(fields.chunks)) return null;
    const sealed = base64Bytes(fields.sealed);
    const data = utf8.encode(`manifest ${name} `);
    const bound = new Uint8Array(data.length + 32);
    bound.set(data);
    bound.set(sha256(hexBytes(fields.chunks.join(""))), data.length);
    const bytes = sealed && this.#manifest.open(sealed, bound);
    return bytes && objectOf(bytes);
  }

  /** Returns the content of a chunk; null if it was not sealed with this key.
   * @param {Uint8Array} chunk */
  open(chunk) { return this.#piece.open(chunk, pieceData); }
}
