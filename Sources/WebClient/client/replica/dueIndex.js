/** Index of the records that have a due edit, and of its time. There are few. */
export class DueIndex {
  /** @type {Map<string, {dueAt: number, owner: string, graceMilliseconds: number}>} */
  #marks = new Map();

  set(key, edit) {
    if (!edit) this.#marks.delete(key);
    else {
      const { dueAt, owner, graceMilliseconds } = edit;
      this.#marks.set(key, { dueAt, owner, graceMilliseconds });
    }
  }

  keys() { return [...this.#marks.keys()].sort(); }

  dueAt(key) { return this.#marks.get(key)?.dueAt; }

  /** Returns the mark that is due first, and its time: an own edit at once, that of another device
   * after a grace period, in which the owner may make it itself. A device whose clock is not
   * trusted makes only its own edits: with a wrong clock it would end countdowns of other
   * devices. */
  first(device, { isConnected, isClockTrusted }) {
    let first = null;
    for (const key of this.keys()) {
      const { dueAt, owner, graceMilliseconds } = this.#marks.get(key);
      if (!isClockTrusted && owner !== device) continue;
      const waits = isConnected && owner !== device;
      const time = dueAt + (waits ? Math.max(0, graceMilliseconds) : 0);
      if (!first || time < first.time) first = { key, time };
    }
    return first;
  }

  /** Returns the relay time of the next due edit; null if there is none. */
  times(device) {
    const at = (isConnected, isClockTrusted) =>
      this.first(device, { isConnected, isClockTrusted })?.time ?? null;
    return { whileConnected: at(true, true), whileOffline: at(false, true), own: at(false, false) };
  }
}
