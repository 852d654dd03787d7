import { copyName } from "../../model/mergeParts.js";
import { fileTime } from "../universalTime.js";

const mark = "_conflict_";
const copyForm = /^(.+)_conflict_\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z(\.[^.]*)?$/su;

/**
 * Returns the name of a conflict copy: `vault_conflict_2026-03-01T12-00-00.000Z.db`. The extension
 * begins at the last dot, but a dot at the front does not count.
 *
 * @param {string} file
 * @param {bigint} modifiedAt
 */
export function conflictName(file, modifiedAt) {
  const { stem, extension } = nameParts(file);
  return copyName(stem, mark + fileTime(modifiedAt) + extension);
}

/** Returns the original file's name for the name of a conflict copy; null for any other file. If
 * the copy's name had to be cut, only the rest of the original name is known. */
export function originalOf(file) {
  const found = copyForm.exec(file);
  return found ? found[1] + (found[2] ?? "") : null;
}

/** Returns a name like that of a file that no other file has: `vault 2.db`. The same on each device
 * that has the same files.
 *
 * @param {string} file
 * @param {Set<string>} taken
 */
export function freeName(file, taken) {
  const { stem, extension } = nameParts(file);
  let name = file;
  for (let number = 2; taken.has(name); number += 1) {
    name = copyName(stem, ` ${number}${extension}`);
  }
  return name;
}

function nameParts(file) {
  const dot = file.lastIndexOf(".");
  return dot > 0 ? { stem: file.slice(0, dot), extension: file.slice(dot) }
    : { stem: file, extension: "" };
}
