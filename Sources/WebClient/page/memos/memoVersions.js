import { memosApp } from "../../apps/memos/memosApp.js";
import { limits } from "../limits.js";
import { changesBetween } from "../store/changesBetween.js";

/**
 * Former versions of memos, as this browser has seen them: relay and other devices keep the
 * last text alone. When a device writes another text, the text before is kept here, up to limits
 * of number and size. All that one device writes within five minutes is one version, unless most
 * of the text goes.
 *
 * A version is `{memo, content, modifiedAt, device, until}`, `until` the time of the text after it.
 */
export class MemoVersions {
  #store;
  #controller;
  /** Records as last seen, by name. */
  #seen = new Map();
  /** Changes of the store, one after the other. */
  #writing = Promise.resolve();

  constructor(controller) {
    this.#controller = controller;
    this.#store = controller.browser.pageStore;
    for (const record of controller.lockstep.records(memosApp.zone)) {
      this.#seen.set(record.name, record);
    }
    controller.subscribe(({ kind, records }) => {
      if (kind === "changed") this.#follow(records.filter(({ zone }) => zone === memosApp.zone));
    });
    this.#forget((memo) => !this.#seen.has(memo));
  }

  /** Returns the former versions of a memo, the newest first. */
  async of(memo) {
    await this.#writing;
    const all = await this.#store.all("versions");
    return all.filter((version) => version.memo === memo)
      .sort((one, other) => other.until - one.until || other.modifiedAt - one.modifiedAt);
  }

  /** Keeps versions again: those of a memo whose deletion was undone. */
  async keep(versions) {
    await this.#update((held) => versionsWith(held, versions));
  }

  #follow(records) {
    const added = [];
    const removed = new Set();
    for (const record of records) {
      const before = this.#seen.get(record.name);
      if (record.fields === null) {
        this.#seen.delete(record.name);
        removed.add(record.name);
        continue;
      }
      this.#seen.set(record.name, record);
      const version = before && versionBefore(before, record, this.#controller.now);
      if (version) added.push(version);
    }
    if (removed.size > 0) this.#forget((memo) => removed.has(memo));
    if (added.length > 0) this.#update((held) => versionsWith(held, added)).catch(() => {});
  }

  #forget(isGone) {
    this.#update((held) => ({
      remove: held.filter(({ memo }) => isGone(memo)).map(keyOf),
    })).catch(() => {});
  }

  #update(change) {
    const writing = this.#writing.then(() => this.#store.update("versions", change));
    // A browser without room keeps no further versions; the memos themselves are not concerned.
    this.#writing = writing.catch(() => {});
    return writing;
  }
}

/** Returns the text that a change has replaced, and what is needed to decide if it is kept; null if
 * the text is the same. */
function versionBefore(before, record, now) {
  const [content, next] = [before, record].map(({ fields }) => fields.content);
  if (typeof content !== "string" || typeof next !== "string" || content === next) return null;
  return {
    memo: record.name, content, modifiedAt: before.modifiedAt, device: before.device, until: now,
    isSameDevice: before.device === record.device,
    isCut: next.length * 2 < content.length,
  };
}

/**
 * Returns the changes of the store that add versions and hold its limits.
 *
 * @param {object[]} held all versions
 * @param {object[]} added versions, the older first, as `versionBefore` or `of` returns them
 * @returns {{put: [string, object][], remove: string[]}}
 */
export function versionsWith(held, added) {
  const all = new Map(held.map((version) => [keyOf(version), version]));
  const last = new Map();
  for (const { memo, until } of held) last.set(memo, Math.max(until, last.get(memo) ?? -Infinity));
  for (const { isSameDevice = false, isCut = false, ...version } of added) {
    const isOneEdit = isSameDevice && !isCut
      && version.until - (last.get(version.memo) ?? -Infinity) < limits.versionMilliseconds;
    if (isOneEdit || version.content.length > limits.versionsLength) continue;
    last.set(version.memo, version.until);
    if (!all.has(keyOf(version))) all.set(keyOf(version), version);
  }
  return changesBetween(held, withinLimits([...all.values()]), keyOf);
}

/** Returns the versions that stay: of each memo the newest, and of all memos the newest. */
function withinLimits(versions) {
  const counts = new Map();
  let length = 0;
  return versions.sort((one, other) =>
    other.until - one.until || other.modifiedAt - one.modifiedAt).filter(({ memo, content }) => {
    const count = (counts.get(memo) ?? 0) + 1;
    if (count > limits.versionsOfMemo) return false;
    counts.set(memo, count);
    length += content.length;
    return length <= limits.versionsLength;
  });
}

/** Unique, and the same in each tab. A name has no line feed. */
const keyOf = ({ memo, modifiedAt, device }) => `${memo}\n${modifiedAt}\n${device}`;
