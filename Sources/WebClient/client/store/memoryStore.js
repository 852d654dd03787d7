/** Failure of the store. `code`: `full` (no room), `deposed` (another tab leads now), `newer` (a
 * later version of the page has written here), `refused` (the browser gives pages none), `closed`,
 * `inUse` (another process has it open), `failed` (anything else). */
export class StoreError extends Error {
  constructor(code, message) {
    super(message);
    this.name = "StoreError";
    this.code = code;
  }
}

/**
 * Reference store, for tests and for browsers that refuse IndexedDB. Its content is lost when the
 * page closes.
 *
 * A store holds `records`, `outbox` and `values`, each by key, and the lead. `write` is one
 * transaction of the leader: it applies completely or not at all, and not at all once another tab
 * leads.
 */
export class MemoryStore {
  isDurable = false;
  /** True if several tabs of a browser use the store, and one of them leads. */
  isShared = false;
  #maps = { records: new Map(), outbox: new Map(), values: new Map() };
  #lead = { term: 0, holder: null, until: 0 };

  /** @param {string} [reason] reason that there is no better store, for a person */
  constructor(reason = "what is here is kept in memory alone") { this.reason = reason; }

  /** @returns {Promise<{records: object[], outbox: object[], values: [string, any][]}>} */
  async load() {
    const { records, outbox, values } = this.#maps;
    return structuredClone({
      records: [...records.values()], outbox: [...outbox.values()], values: [...values],
    });
  }

  async value(key) { return structuredClone(this.#maps.values.get(key)); }

  /** @param {{store: string, key: string | number, value?: any}[]} writes */
  async write(term, writes) {
    this.checkTerm(term);
    for (const { store, key, value } of structuredClone(writes)) {
      if (value === undefined) this.#maps[store].delete(key);
      else this.#maps[store].set(key, value);
    }
  }

  /**
   * Acquires or renews the lead, unless another tab has it at this time. `force`: acquires it in
   * any case, as a new term, so that writes begun in an earlier term fail.
   *
   * @param {{holder: string, now: number, milliseconds: number, force?: boolean}} claim
   * @returns {Promise<{isHeld: boolean, term: number}>}
   */
  async claim(claim) {
    const { lead, isHeld } = nextLead(this.#lead, claim);
    this.#lead = lead;
    return { isHeld, term: lead.term };
  }

  /** Removes all content; the lead is unchanged. */
  async erase(term) {
    this.checkTerm(term);
    for (const map of Object.values(this.#maps)) map.clear();
  }

  close() {}

  // for stores that are built on this one

  get term() { return this.#lead.term; }

  /** @throws {StoreError} if the term is over */
  checkTerm(term) {
    if (term !== this.#lead.term) throw new StoreError("deposed", "another tab leads now");
  }

  /** Fills an empty store with what it held when it was closed. The terms continue: a view ignores
   * changes of an earlier term than it has seen. */
  restore({ term, ...contents }) {
    for (const [name, rows] of Object.entries(contents)) this.#maps[name] = new Map(rows);
    this.#lead = { term, holder: null, until: 0 };
  }
}

/** Returns the lead after a claim: the same rule for every store. */
export function nextLead(lead, { holder, now, milliseconds, force = false }) {
  // A time further ahead than any lease was written by a clock that has since been set back.
  const isOpen = force || lead.holder === null || lead.until <= now
    || lead.until > now + milliseconds;
  if (lead.holder !== holder && !isOpen) return { lead, isHeld: false };
  const term = lead.holder === holder && !force ? lead.term : lead.term + 1;
  return { lead: { term, holder, until: now + milliseconds }, isHeld: true };
}
