/**
 * Async iterator over the latest state of something that changes: each step gives the state as it
 * is then, once it differs from the one given before. A slow reader skips what lies between.
 */
export class Latest {
  #read;
  #end;
  #isNews;
  #isOver = false;
  #fault = null;
  /** Steps that wait: `{resolve, reject}`. */
  #waiting = [];

  /** @param {{read: () => any, end: () => void, isNews?: boolean}} options `read` returns the
   *   state; `end` is called once, when nobody reads any more; `isNews`: false if there is nothing
   *   to give at first */
  constructor({ read, end, isNews = true }) {
    this.#read = read;
    this.#end = end;
    this.#isNews = isNews;
  }

  /** The state has changed. Changes of one turn of the event loop are given as one. */
  changed() {
    if (this.#isOver) return;
    const isScheduled = this.#isNews;
    this.#isNews = true;
    if (!isScheduled && this.#waiting.length > 0) queueMicrotask(() => this.#give());
  }

  /** Ends the sequence; `fault`: the reader's next step throws it. */
  close(fault = null) {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#fault = fault;
    this.#end();
    for (const step of this.#waiting.splice(0)) this.#settle(step);
  }

  next() {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#give();
    });
  }

  async return(value) {
    this.close();
    return { done: true, value };
  }

  [Symbol.asyncIterator]() { return this; }

  #give() {
    if (this.#isOver) {
      for (const step of this.#waiting.splice(0)) this.#settle(step);
    } else if (this.#isNews && this.#waiting.length > 0) {
      this.#isNews = false;
      this.#waiting.shift().resolve({ done: false, value: this.#read() });
    }
  }

  #settle({ resolve, reject }) {
    const fault = this.#fault;
    this.#fault = null;
    if (fault) reject(fault);
    else resolve({ done: true, value: undefined });
  }
}

/** Async iterator over the elements of the lists that another one gives. */
export class Each {
  #lists;
  #rest = [].values();
  #turn = Promise.resolve();

  /** @param {Latest} lists */
  constructor(lists) { this.#lists = lists; }

  next() {
    const step = this.#turn.then(() => this.#next());
    this.#turn = step.catch(() => {});
    return step;
  }

  return(value) { return this.#lists.return(value); }

  [Symbol.asyncIterator]() { return this; }

  async #next() {
    for (;;) {
      const step = this.#rest.next();
      if (!step.done) return step;
      const list = await this.#lists.next();
      if (list.done) return list;
      this.#rest = list.value.values();
    }
  }
}
