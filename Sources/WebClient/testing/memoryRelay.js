/** A relay in memory: the records of one account, in the order of their saves. */
export class MemoryRelay {
  #records = new Map();
  #sequence = 0;

  #token(sequence) { return `a1.${sequence}`; }

  /** Saves a batch of a device; a change that was not made on the present version is a conflict. */
  save(device, { zone, atomic, records }) {
    const since = this.#token(this.#sequence);
    const keys = records.map(({ name }) => `${zone}\n${name}`);
    const clashes = records.map(({ baseTag }, at) => this.#clashes(keys[at], baseTag));
    const isAborted = atomic && clashes.includes(true);
    const results = records.map((record, at) => {
      const { name, type, fields = null, modifiedAt } = record;
      if (clashes[at]) return { name, conflict: this.#records.get(keys[at]) };
      if (isAborted) return { name, error: { code: "batchAborted", detail: "another conflicts" } };
      const tag = this.#sequence += 1;
      this.#records.set(keys[at], structuredClone(
        { zone, name, type, fields, modifiedAt, device, tag, deleted: fields === null }));
      return { name, tag };
    });
    return { since, token: this.#token(this.#sequence), results };
  }

  #clashes(key, baseTag) {
    const there = this.#records.get(key);
    return baseTag === 0 ? !!there && !there.deleted : there?.tag !== baseTag;
  }

  /** Returns the page of all changes after a token; null: of all records. */
  changes(since) {
    const from = since === null ? 0 : Number(since.split(".")[1]);
    const changes = [...this.#records.values()]
      .filter(({ tag, deleted }) => tag > from && !(since === null && deleted))
      .sort((one, other) => one.tag - other.tag);
    return { since, token: this.#token(this.#sequence), more: false, lostTags: [],
      changes: structuredClone(changes) };
  }
}
