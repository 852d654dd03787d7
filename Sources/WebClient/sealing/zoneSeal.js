import { isObject, serialize } from "../json/jsonValue.js";
import { byteCount } from "../json/utf8.js";
import { areChunks } from "../model/fileReference.js";
import { derived } from "./accountKeys.js";
import { base64url, base64urlBytes, base64urlLength } from "./base64url.js";
import { hex, hexBytes, is64Bits } from "./hex.js";
import {
  contentLength, decodeContent, encodeContent, objectOf, paddedLength, paddingPlace,
} from "./recordContent.js";
import { RecordVersion } from "./recordVersion.js";
import { HMAC, sha256 } from "./sha256.js";
import { SIV } from "./siv.js";

const utf8 = new TextEncoder();
const recordLabel = utf8.encode("lockstep record 1");
const chunkLabel = utf8.encode("lockstep chunk 1");
/** Type at the relay of records whose type is not shown. */
export const sealedType = "Sealed";
/** Bytes of a text whose length is written in two bytes. */
const textBytesMax = 0xffff;
const digestBytes = 32;
/** Bytes of a file in each of its chunks but the last. Sealed, they are less than 4 MiB. */
export const fileBlockBytes = (4 << 20) - (64 << 10) - 1;
/** Bytes of the fields at the relay around the sealed text. */
const frameBytes = serialize({ key: "0".repeat(16), sealed: "" }).length;

/**
 * Reason why a record or chunk of the relay cannot be opened:
 *
 * - "notSealed": its fields do not have the form of sealed ones; a plain record, for example
 * - "unknownKey": sealed with a generation of keys that this device does not have; `keyId` names it
 * - "altered": not what was sealed for this place, or by another key; or changed since
 * - "malformed": sealed with the right key, but not by these rules
 */
export class SealFault extends Error {
  name = "SealFault";

  /**
   * @param {"notSealed" | "unknownKey" | "altered" | "malformed"} kind
   * @param {string=} keyId
   */
  constructor(kind, keyId) {
    super(sentences[kind]);
    this.kind = kind;
    this.keyId = keyId;
  }
}

const sentences = {
  notSealed: "the record is not sealed, but its zone is",
  unknownKey: "the record is sealed with a key that this device does not have; pair it again",
  altered: "the seal does not open: it was changed, or made for another place or with another key",
  malformed: "the content of the seal is not that of a record; update this device",
};

const failed = (kind, keyId) => ({ fault: new SealFault(kind, keyId) });

/**
 * A record as the relay stores it and `client/record.js` has it; other members are kept as they
 * are.
 *
 * @typedef {{zone: string, name: string, type: string, fields: object | null, modifiedAt: number,
 *   device: string, tag: number, deleted: boolean, chunks?: string[]}} RelayRecord
 */

/**
 * A record as the devices have it, with its version. `device` is the author: the device that made
 * the version.
 *
 * @typedef {RelayRecord & {version: RecordVersion}} SealableRecord
 */

/**
 * Seals the records and chunks of one zone for a relay that must not read them, and opens them.
 * Equal content has equal seals on all devices, so a save that is repeated is the same save.
 */
export class ZoneSeal {
  #zone;
  #names;
  /** By id. */
  #generations = new Map();
  #keyId;
  #shown;

  /**
   * @param {import("./accountKeys.js").ZoneKeys} keys
   * @param {Iterable<string>=} shownTypes types that the relay may see
   */
  constructor({ zone, nameKey, generations }, shownTypes = []) {
    if (generations.length === 0) throw new RangeError("a zone has a generation of keys");
    this.#zone = zone;
    this.#names = new HMAC(derived(nameKey, "name", digestBytes));
    for (const { id, key } of generations) this.#generations.set(id, keysOf(key));
    this.#keyId = generations[generations.length - 1].id;
    this.#shown = new Set(shownTypes);
  }

  get zone() { return this.#zone; }

  /** Id of the generation that seals. */
  get keyId() { return this.#keyId; }

  /** First value of the division of files into chunks: 64 bits, secret. @returns {bigint} */
  get chunkSeed() { return this.#generations.get(this.#keyId).seed; }

  /** Returns the name at the relay of the record of a name. @param {string} plain */
  name(plain) { return hex(this.#names.code(utf8.encode(plain))); }

  /**
   * Returns the bytes of a sealed record's fields as JSON, which must fit into a record too.
   *
   * @param {{name: string, type: string, fields: object | null, version: RecordVersion}} record
   */
  sealedLength({ name, type, fields, version }) {
    const length = contentLength({
      name: byteCount(name), type: byteCount(type), entries: version.made.entries.length,
      fields: fields === null ? 0 : byteCount(serialize(fields)),
    });
    return frameBytes + base64urlLength(SIV.overhead + length);
  }

  /**
   * Seals a record, or a tombstone; returns it as the relay stores it, which cannot tell one from
   * the other.
   *
   * @param {SealableRecord} record
   * @param {string=} savedBy device that saves it: its author, or another one that saves the same
   *   version again
   * @returns {RelayRecord} without `version`, which is sealed
   * @throws {TypeError} if it is not a record of this zone
   */
  seal(record, savedBy = record.device) {
    const { version, includes, ...rest } = record;
    if (!(version instanceof RecordVersion)) throw new TypeError("a record has a version");
    const fields = record.fields === null ? null : utf8.encode(serialize(record.fields));
    const content = encodeContent(
      { name: record.name, type: record.type, author: record.device, version, fields });
    const type = this.#shown.has(record.type) ? record.type : sealedType;
    const outer = {
      ...rest, name: this.name(record.name), type, device: savedBy, deleted: false,
    };
    const data = this.#associatedData(outer);
    if (data === null) throw new TypeError("only records of the zone can be sealed");
    const sealed = this.#generations.get(this.#keyId).records.seal(content, data);
    outer.fields = { key: this.#keyId, sealed: base64url(sealed) };
    return outer;
  }

  /**
   * Opens a record of the relay. Author and version are those inside of the seal. Every record that
   * a relay has stored has a tag above 0.
   *
   * @param {RelayRecord} record
   * @returns {{record: SealableRecord} | {fault: SealFault}}
   */
  open(record) {
    if (!isSealed(record.fields)) return failed("notSealed");
    const { key, sealed } = record.fields;
    const keys = this.#generations.get(key);
    if (!keys) return failed("unknownKey", key);
    const bytes = base64urlBytes(sealed);
    const data = this.#associatedData(record);
    const plaintext = record.tag > 0 && bytes && data && keys.records.open(bytes, data);
    if (!plaintext) return failed("altered");
    const content = decodeContent(plaintext);
    if (!content || this.name(content.name) !== record.name) return failed("malformed");
    if (record.type !== sealedType && record.type !== content.type) return failed("malformed");
    const fields = content.fields && objectOf(content.fields);
    if (content.fields && !fields) return failed("malformed");
    const { includes, ...rest } = record;
    const { name, type, author: device, version } = content;
    return { record: { ...rest, name, type, device, fields, deleted: fields === null, version } };
  }

  /** Returns the id of the generation with which a record of the relay is sealed; null if it is a
   * plain one. For a device without keys of the zone. @param {RelayRecord} record */
  static keyIdOf({ type, fields }) {
    return type === sealedType && isSealed(fields) ? fields.key : null;
  }

  /** Seals a chunk of a file, at least one byte. @param {Uint8Array} bytes */
  sealChunk(bytes) { return this.#generations.get(this.#keyId).chunks.seal(bytes, chunkLabel); }

  /**
   * Opens a chunk of the relay. A record that was sealed again names chunks of an older generation,
   * so all are tried, the newest first.
   *
   * @param {Uint8Array} sealed
   * @returns {{bytes: Uint8Array} | {fault: SealFault}}
   */
  openChunk(sealed) {
    for (const { chunks } of [...this.#generations.values()].reverse()) {
      const bytes = chunks.open(sealed, chunkLabel);
      if (bytes) return { bytes };
    }
    return failed("altered");
  }

  /**
   * Seals a block of a file, padded: its length reveals the block's only roughly.
   *
   * @param {Uint8Array} block from one to `fileBlockBytes` bytes
   */
  sealBlock(block) {
    const padded = new Uint8Array(paddedLength(block.length + 1));
    padded.set(block);
    padded[block.length] = 0x80;
    return this.sealChunk(padded);
  }

  /**
   * Opens a block of a file.
   *
   * @param {Uint8Array} sealed
   * @param {string} keyId generation with which it was sealed
   * @returns {{bytes: Uint8Array} | {fault: SealFault}}
   */
  openBlock(sealed, keyId) {
    const keys = this.#generations.get(keyId);
    if (!keys) return failed("unknownKey", keyId);
    const padded = keys.chunks.open(sealed, chunkLabel);
    if (!padded) return failed("altered");
    const length = paddingPlace(padded);
    return length < 0 ? failed("malformed") : { bytes: padded.subarray(0, length) };
  }

  /**
   * Returns the associated data of a record, by its fields at the relay; null if a part is not as
   * records have it. Device and stamp are among them: the relay cannot change who saved the
   * record, nor when it was edited, and so which edit is newer.
   */
  #associatedData({ zone, name, type, device, modifiedAt, chunks = [] }) {
    if (zone !== this.#zone || !Number.isSafeInteger(modifiedAt) || !areChunks(chunks)) return null;
    const texts = [zone, name, type, device].map((text) => utf8.encode(text));
    if (texts.some(({ length }) => length > textBytesMax)) return null;
    const length = texts.reduce((sum, text) => sum + 2 + text.length, recordLabel.length);
    const data = new Uint8Array(length + 8 + digestBytes);
    const view = new DataView(data.buffer);
    data.set(recordLabel);
    let place = recordLabel.length;
    for (const text of texts) {
      view.setUint16(place, text.length);
      data.set(text, place + 2);
      place += 2 + text.length;
    }
    view.setInt32(place, Math.floor(modifiedAt / 2 ** 32));
    view.setUint32(place + 4, modifiedAt >>> 0);
    data.set(chunks.length === 0 ? noChunks : sha256(hexBytes(chunks.join(""))), place + 8);
    return data;
  }
}

const noChunks = sha256(new Uint8Array(0));

function keysOf(zoneKey) {
  const seed = derived(zoneKey, "chunk seed", 8);
  return {
    records: new SIV(derived(zoneKey, "record", SIV.keyBytes)),
    chunks: new SIV(derived(zoneKey, "chunk", SIV.keyBytes)),
    seed: new DataView(seed.buffer, seed.byteOffset).getBigUint64(0),
  };
}

/**
 * True for an object with the strings `key`, of 16 hexadecimal digits, and `sealed`, and no other
 * member.
 */
function isSealed(fields) {
  return isObject(fields) && Object.keys(fields).length === 2
    && ["key", "sealed"].every((name) =>
      Object.hasOwn(fields, name) && typeof fields[name] === "string")
    && is64Bits(fields.key);
}
