import { serialize } from "../../../../Sources/WebClient/json/jsonValue.js";

/**
 * A minimal relay: one account's records in the order of their saves, recognition of repeated
 * batches, snapshots in pages, tombstones that expire, and restores from backups.
 */
export class ModelRelay {
  records = new Map();
  batches = new Map();
  sequence = 0;
  generation = "a1";
  /** For each earlier generation, the sequence up to which the relay still has it; newest last. */
  restores = [];
  /** Gaps in the history's tags: those after the first of each pair, up to the second. */
  gaps = [];
  /** Sequence up to which deletions are forgotten. */
  forgotten = 0;
  pageRecords = 3;
  /** True for a version of the relay that does not report its position to a device from another
   * history. */
  isEarlier = false;

  get token() { return `${this.generation}.${this.sequence}`; }

  copy() {
    const { records, batches, sequence, forgotten, gaps } = this;
    return { records: new Map(records), batches: new Map(batches), sequence, forgotten, gaps,
      generation: this.generation, restores: [...this.restores] };
  }

  /** Restores an older copy; the sequence continues beyond all that was ever assigned. */
  putBack(copy, generation) {
    const given = this.#closeRun();
    Object.assign(this, { ...copy, records: new Map(copy.records),
      batches: new Map(copy.batches) });
    const through = copy.sequence;
    this.restores = [...copy.restores, { generation: copy.generation, through }];
    this.generation = generation;
    this.sequence = given + 1_000;
  }

  /** Resets the relay to an older copy without a new generation. The tags of its next saves are
   * beyond all that was ever assigned; until then it does not show that it reverted. */
  rollBack(copy) {
    const given = this.#closeRun();
    Object.assign(this, { ...copy, records: new Map(copy.records),
      batches: new Map(copy.batches) });
    this.#nextRunAfter = given + 1_000;
  }

  /** Greatest tag that was ever assigned. */
  #given = 0;
  /** End of the gap that the first save of the present run makes; 0 if it was made. */
  #nextRunAfter = 0;

  #closeRun() {
    this.#given = Math.max(this.#given, this.sequence, this.#nextRunAfter);
    this.#nextRunAfter = 0;
    return this.#given;
  }

  /** All gaps, with the one that the next save makes. */
  get #allGaps() {
    if (this.#nextRunAfter === 0) return this.gaps;
    return [...this.gaps, [this.sequence, this.#nextRunAfter]];
  }

  #enterRun() {
    if (this.#nextRunAfter === 0) return;
    this.gaps = this.#allGaps;
    this.sequence = this.#nextRunAfter;
    this.#nextRunAfter = 0;
  }

  /** Returns the gap with this tag. Its end is unknown until the present run has a save. */
  #gapAt(tag) {
    if (tag > this.sequence) return this.#nextRunAfter > 0 ? [this.sequence, null] : undefined;
    return this.gaps.find(([after, through]) => tag > after && tag <= through);
  }

  #restored([after, through]) {
    return { error: { code: "storeRestored", detail: "", restoredThrough: after,
      ...(through === null ? {} : { lostThrough: through }), token: this.token } };
  }

  forgetTombstones() {
    this.forgotten = this.sequence;
    for (const [key, record] of this.records) if (record.deleted) this.records.delete(key);
  }

  save(device, { id, zone, atomic, records }) {
    const known = this.batches.get(`${device} ${id}`);
    const content = serialize({ zone, atomic, records });
    if (known && known.content !== content) return { error: { code: "batchMismatch" } };
    const since = this.token;
    if (known) {
      const results = known.results.map((result) => (result.conflict
        ? { name: result.name, conflict: this.#at(zone, result.name) } : result));
      return { answer: { since, token: since, results } };
    }
    const clashes = records.map((record) => {
      const there = this.records.get(`${zone}\n${record.name}`);
      if (record.baseTag === 0) return !!there && (!there.deleted || !!record.unlessDeleted);
      return (there?.tag ?? 0) !== record.baseTag;
    });
    const lost = records.filter(({ baseTag }, at) => clashes[at] && baseTag > 0)
      .map(({ baseTag }) => this.#gapAt(baseTag)).find((gap) => gap);
    if (lost) return this.#restored(lost);
    const isAborted = atomic && clashes.includes(true);
    if (!isAborted && clashes.includes(false)) this.#enterRun();
    const results = records.map((record, at) => {
      if (clashes[at]) return { name: record.name, conflict: this.#at(zone, record.name) };
      if (isAborted) return { name: record.name, error: { code: "batchAborted", detail: "" } };
      this.sequence += 1;
      const deleted = record.deleted === true;
      const there = this.records.get(`${zone}\n${record.name}`);
      const named = record.includes ?? [];
      const former = there && there.tag === record.baseTag ? there.includes ?? [] : [];
      const includes = [...former.filter((print) => !named.includes(print)), ...named].slice(-8);
      this.records.set(`${zone}\n${record.name}`, {
        zone, name: record.name, type: record.type, fields: deleted ? null : record.fields,
        modifiedAt: record.modifiedAt, device, tag: this.sequence, deleted,
        ...(includes.length > 0 ? { includes } : {}),
      });
      return { name: record.name, tag: this.sequence };
    });
    this.batches.set(`${device} ${id}`, { content, results });
    return { answer: { since, token: this.token, results } };
  }

  #at(zone, name) {
    return this.records.get(`${zone}\n${name}`) ?? {
      zone, name, type: "Nothing", fields: null, modifiedAt: 0, device: "", tag: 0, deleted: true,
    };
  }

  /** Returns a page of changes after `since`, or of a snapshot; or the refusal. */
  changes(since) {
    const place = since === null ? null : this.#place(since);
    if (place?.error) return place;
    const isSnapshot = place === null || place.pinned !== null;
    const from = place?.sequence ?? 0;
    const to = isSnapshot ? place?.pinned ?? this.sequence : this.sequence;
    const found = [...this.records.values()]
      .filter((record) => record.tag > from && record.tag <= to && !(isSnapshot && record.deleted))
      .sort((a, b) => a.tag - b.tag);
    const changes = found.slice(0, this.pageRecords);
    const more = found.length > changes.length;
    const end = more ? changes.at(-1).tag : to;
    let token = `${this.generation}.${end}`;
    if (isSnapshot && more) token += `.p${to}`;
    if (this.sequence > (isSnapshot && more ? to : end)) token += `.h${this.sequence}`;
    const lostTags = since === null ? this.#allGaps
      : this.gaps.filter(([after]) => !isSnapshot && after >= from && after < end);
    return { page: { since, token, more, changes, lostTags } };
  }

  /** Returns the position of a token in the present history. */
  #place(text) {
    const [generation, sequence, ...rest] = text.split(".");
    const number = (letter) => rest.find((part) => part[0] === letter)?.slice(1);
    const place = { sequence: Number(sequence),
      pinned: number("p") === undefined ? null : Number(number("p")) };
    const reach = Math.max(place.sequence, place.pinned ?? 0, Number(number("h") ?? 0));
    const gap = [place.sequence, place.pinned ?? 0, reach]
      .map((tag) => this.#gapAt(tag)).find((found) => found);
    if (generation === this.generation) {
      if (gap) return this.#restored(gap);
      // The extent of the loss is unknown.
      if (reach > this.sequence) return this.#restored([0, null]);
    }
    const isKept = (place.pinned ?? place.sequence) >= this.forgotten;
    if (generation !== this.generation) {
      const at = this.restores.findIndex((restore) => restore.generation === generation);
      if (at < 0) {
        const told = this.isEarlier ? {} : { token: this.token };
        return { error: { code: "badChangeToken", detail: "of no history", ...told } };
      }
      const through = Math.min(gap?.[0] ?? Infinity,
        ...this.restores.slice(at).map((restore) => restore.through));
      // A device that must read a snapshot anyway has to learn of the restore by the refusal.
      if (reach > through || !isKept) {
        return { error: { code: "storeRestored", detail: "", restoredThrough: through,
          token: this.token } };
      }
    } else if (!isKept) {
      return { error: { code: "tokenExpired", detail: "" } };
    }
    return place;
  }

  get live() { return [...this.records.values()].filter((record) => !record.deleted); }
}
