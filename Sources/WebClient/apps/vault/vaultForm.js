import { int64, member, text } from "../../json/jsonValue.js";
import { areChunks } from "../../model/fileReference.js";
import { isName } from "../../model/name.js";

/**
 * Contents of a record of the vault:
 *
 * - "zone": in a sealed zone, a reference to the file with `sha256` and `parts`, the hashes of its
 *   chunks before they were sealed;
 * - "plain": name, size, hash and chunks as they are;
 * - "own": sealed with a key of the vault's own (`sealing/vaultKeys.js`), in `manifest`.
 *
 * @typedef {{form: "zone" | "plain" | "own", file: string, bytes: number, sha256: string,
 *   chunks: string[], seal?: {zone: string, key: string}, parts?: string, key?: string}}
 *   VaultFile
 */

export const vaultZone = "Vault";
export const fileType = "VaultFile";
export const keyType = "VaultKey";
/** Name of the record of the vault's own key, which no file's record has. */
const keyRecord = "key";
const hash = /^[0-9a-f]{64}$/u;

/** True for a name of a file in a folder. Names become paths on other devices. @param {any} name */
export const isFileName = (name) =>
  isName(name) && name !== "." && name !== ".." && !name.includes("/");

/** Returns the name of the record of a new file of a sealed zone. @param {string} file */
export const recordName = (file) => (file === keyRecord ? `file/${file}` : file);

/** True if fields of a file are sealed in any way, as they say. */
export const isSealedForm = (fields) =>
  member(fields, "sealed") !== undefined || member(fields, "seal") !== undefined;

/**
 * Returns the contents of a record that is plain, or in a sealed zone; null for any other.
 *
 * @param {any} fields
 * @param {string} name of the record
 * @returns {VaultFile | null}
 */
export function contentsOf(fields, name) {
  if (member(fields, "sealed") !== undefined) return null;
  return member(fields, "seal") === undefined ? plainContents(fields, name)
    : zoneContents(fields, name);
}

function plainContents(fields, name) {
  const file = text(fields, "file");
  const contents = { form: "plain", file, bytes: sizeIn(member(fields, "size")),
    sha256: member(fields, "sha256"), chunks: member(fields, "chunks") };
  return file === name && isWhole(contents) ? contents : null;
}

function zoneContents(fields, name) {
  const [file, parts] = [text(fields, "name"), text(fields, "parts")];
  const seal = member(fields, "seal");
  const chunks = member(fields, "chunks");
  const contents = { form: "zone", file, bytes: sizeIn(member(fields, "bytes")),
    sha256: member(fields, "sha256"), chunks, parts, seal };
  const isSealed = text(seal, "zone") === vaultZone && text(seal, "key") !== undefined;
  // A file of before the zone was sealed keeps the name of its record, a keyed hash.
  const isPlace = isWhole(contents) && (name === recordName(file) || hash.test(name));
  return isSealed && isPlace && (chunks.length === 0) === (contents.bytes === 0)
    && parts?.length === Math.ceil(chunks.length * 32 * 8 / 6) ? contents : null;
}

const isWhole = ({ file, bytes, sha256, chunks }) => isFileName(file) && bytes !== undefined
  && typeof sha256 === "string" && hash.test(sha256) && areChunks(chunks);

function sizeIn(value) {
  const size = int64(value);
  return size !== undefined && size >= 0n && size <= BigInt(Number.MAX_SAFE_INTEGER)
    ? Number(size) : undefined;
}

/**
 * Returns the fields of a record with these contents, for a file of this name.
 *
 * @param {VaultFile} contents of the forms "zone" and "plain"
 * @param {string} file
 */
export function fieldsOf({ form, bytes, sha256, chunks, seal, parts }, file) {
  return form === "plain" ? { file, size: bytes, sha256, chunks }
    : { name: file, bytes, chunks, seal, sha256, parts };
}
