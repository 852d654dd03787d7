/** Web Locks for one exclusive lock: granted in order, held until released or stolen. */
export class FakeLocks {
  #held = null;
  #queue = [];

  request(name, { steal = false }, act) {
    return new Promise((resolve, reject) => {
      const lock = { act, resolve, reject };
      if (steal) {
        const stolen = this.#held;
        this.#held = null;
        stolen?.reject(Object.assign(new Error("stolen"), { name: "AbortError" }));
        this.#queue.unshift(lock);
      } else {
        this.#queue.push(lock);
      }
      setImmediate(() => this.#grant());
    });
  }

  async #grant() {
    if (this.#held || this.#queue.length === 0) return;
    const lock = this.#queue.shift();
    this.#held = lock;
    await lock.act({});
    lock.resolve();
    if (this.#held === lock) this.#held = null;
    this.#grant();
  }
}
