/**
 * Which records wait for a moment in time, and for which. Few: only what runs down stands here.
 */
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

  /** The mark whose time comes first, and when. This device's own come at once, another's after a
   * while, in which that one may do it itself. A device whose clock is not trusted makes its own
   * alone: by a wrong clock it would end what runs elsewhere. */
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

  /** When the next edit falls due, in relay time; null where none does. */
  times(device) {
    const at = (isConnected, isClockTrusted) =>
      this.first(device, { isConnected, isClockTrusted })?.time ?? null;
    return { whileConnected: at(true, true), whileOffline: at(false, true), own: at(false, false) };
  }
}
