import { vaultApp } from "../../apps/vault/vaultApp.js";
import { contentsOf, fileType } from "../../apps/vault/vaultForm.js";
import { serialize } from "../../lockstep.js";
import { limits } from "../limits.js";
import { changesBetween } from "../store/changesBetween.js";

/**
 * What this browser has seen happen to files while it was open. The relay keeps the content of a
 * version for a day after the last record has named it, so a recent one can be fetched.
 *
 * An event is `{name, file, kind, at, modifiedAt, device, bytes, sha256, fields}`: `kind` is
 * "replaced" or "removed"; the other members are those of the version that was replaced.
 */
export class VaultHistory {
  #store;
  #controller;
  /** Records as last seen, by name. */
  #seen = new Map();
  /** Changes of the store, one after the other. */
  #writing = Promise.resolve();

  constructor(controller) {
    this.#controller = controller;
    this.#store = controller.browser.pageStore;
    for (const record of controller.lockstep.records(vaultApp.zone, fileType)) {
      this.#seen.set(record.name, record);
    }
    controller.subscribe(({ kind, records }) => {
      if (kind === "changed") this.#follow(records.filter(({ zone }) => zone === vaultApp.zone));
    });
  }

  /** Returns the former versions of a file, the newest first. @param {string} file */
  async of(file) {
    await this.#writing;
    const all = await this.#store.all("files");
    return all.filter((event) => event.file === file).sort(newestFirst);
  }

  #follow(records) {
    const added = records.map((record) => this.#eventOf(record)).filter((it) => it !== null);
    if (added.length === 0) return;
    // A browser without room keeps no history; the files themselves are not concerned.
    this.#writing = this.#writing.catch(() => {})
      .then(() => this.#store.update("files", (held) => eventsWith(held, added)));
    this.#writing.catch(() => {});
  }

  #eventOf(record) {
    const before = this.#seen.get(record.name);
    const isThere = record.fields !== null && record.type === fileType;
    if (isThere) this.#seen.set(record.name, record);
    else this.#seen.delete(record.name);
    const was = before && contentsOf(before.fields, before.name);
    if (!was) return null;
    const is = isThere ? contentsOf(record.fields, record.name) : null;
    if (isThere && (!is || is.sha256 === was.sha256)) return null;
    const { name, modifiedAt, device, fields } = before;
    return { name, file: was.file, kind: isThere ? "replaced" : "removed",
      at: this.#controller.now, modifiedAt, device, bytes: was.bytes, sha256: was.sha256, fields };
  }
}

/** Returns the changes of the store that add events and hold its limits. */
export function eventsWith(held, added) {
  const all = new Map([...held, ...added].map((event) => [keyOf(event), event]));
  const counts = new Map();
  let length = 0;
  const kept = [...all.values()].sort(newestFirst).filter(({ file, fields }) => {
    const count = (counts.get(file) ?? 0) + 1;
    counts.set(file, count);
    length += serialize(fields).length;
    return count <= limits.versionsOfFile && length <= limits.fileHistoryLength;
  });
  return changesBetween(held, kept, keyOf);
}

/** Unique, and the same in each tab. A name has no line feed. */
const keyOf = ({ name, modifiedAt, device }) => `${name}\n${modifiedAt}\n${device}`;

const newestFirst = (one, other) => other.at - one.at || other.modifiedAt - one.modifiedAt;
