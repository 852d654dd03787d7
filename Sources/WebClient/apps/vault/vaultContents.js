import { member, text } from "../../json/jsonValue.js";
import { compareText } from "../../json/utf8.js";
import { VaultKeys } from "../../sealing/vaultKeys.js";
import { deviceName, recordsOf } from "../edit.js";
import { originalOf } from "./conflictName.js";
import { contentsOf, fileType, isFileName, keyType } from "./vaultForm.js";

/**
 * File of the vault: its contents, and
 *
 * - `name`, `modifiedAt`, `device`, `deviceName`: of its record;
 * - `copyOf`: for a conflict copy, the name of the original file, else null; `isNeedless`: true if
 *   a copy has the same bytes as the original.
 *
 * @typedef {import("./vaultForm.js").VaultFile & {name: string, modifiedAt: number, device: string,
 *   deviceName: string, copyOf: string | null, isNeedless: boolean}} ListedFile
 */

/** Files that this device can read, and the records that it cannot. */
export class VaultContents {
  /** Sorted by name. @type {ListedFile[]} */
  files;
  /** `problem`: "noKey" if it is sealed with a key of the vault's own that this device does not
   * have, "malformed" for any other.
   * @type {{name: string, problem: "noKey" | "malformed"}[]} */
  unreadable = [];
  #keys = new Map();

  /**
   * @param {import("../edit.js").AppState} state
   * @param {{isZoneSealed: boolean}} zone only devices with the account's keys write into a sealed
   *   zone
   */
  constructor(state, { isZoneSealed }) {
    if (isZoneSealed) this.#readKeys(state);
    const files = [];
    for (const record of recordsOf(state, fileType)) {
      const contents = this.#contents(record, isZoneSealed);
      if (contents) files.push(listed(contents, record, state));
      else this.unreadable.push({ name: record.name, problem: problemOf(record) });
    }
    const bytes = new Set(files.map(({ file, sha256 }) => `${sha256}\n${file}`));
    this.files = files.sort(byName).map((file) => ({ ...file,
      isNeedless: file.copyOf !== null && bytes.has(`${file.sha256}\n${file.copyOf}`) }));
  }

  /** Returns the file of a record; null if there is none. @param {string | null} name */
  file(name) { return this.files.find((it) => it.name === name) ?? null; }

  /** Returns the file of a file's name; null if there is none. @param {string} file */
  fileNamed(file) { return this.files.find((it) => it.file === file) ?? null; }

  /** Returns the conflict copies of a file, the newest first. @param {ListedFile} file */
  copiesOf({ file }) {
    return this.files.filter(({ copyOf }) => copyOf === file).sort(newestFirst);
  }

  /** Returns a function that opens the chunks of a file which has a form of its own; undefined for
   * any other. @param {ListedFile} file */
  opener({ form, key }) {
    if (form === "plain") return (chunk) => chunk;
    const keys = form === "own" ? this.#keys.get(key) : undefined;
    return keys && ((chunk) => keys.open(chunk));
  }

  #readKeys(state) {
    for (const record of recordsOf(state, keyType)) {
      const keys = VaultKeys.former(record);
      if (keys) this.#keys.set(keys.id, keys);
    }
  }

  #contents({ fields, name }, isZoneSealed) {
    if (member(fields, "sealed") !== undefined) return this.#ownContents(fields, name);
    const contents = contentsOf(fields, name);
    return contents?.form === "zone" && !isZoneSealed ? null : contents;
  }

  #ownContents(fields, name) {
    const keys = this.#keys.get(text(fields, "key"));
    const manifest = keys?.manifest(fields, name);
    const file = text(manifest, "file");
    if (!isFileName(file) || keys.recordName(file) !== name) return null;
    const plain = contentsOf(manifest, file);
    if (!plain || plain.chunks.length !== fields.chunks.length) return null;
    return { ...plain, form: "own", chunks: fields.chunks, key: keys.id };
  }
}

function listed(contents, record, state) {
  const { name, modifiedAt, device } = record;
  return { ...contents, name, modifiedAt, device, deviceName: deviceName(state, device),
    copyOf: originalOf(contents.file) };
}

const problemOf = ({ fields }) => (member(fields, "sealed") !== undefined ? "noKey" : "malformed");

const byName = (one, other) =>
  compareText(one.file, other.file) || compareText(one.name, other.name);

const newestFirst = (one, other) =>
  other.modifiedAt - one.modifiedAt || compareText(other.name, one.name);
