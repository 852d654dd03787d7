import { serialize } from "../../../../Sources/WebClient/changes/json.js";

/**
 * The least that a relay is: one account's records in the order of their saves, batches that are
 * recognised, snapshots by pages, tombstones that are forgotten, and backups that are put back.
 */
export class ModelRelay {
  records = new Map();
  batches = new Map();
  sequence = 0;
  generation = "a1";
  /** Newest last: up to which sequence each earlier generation is still had. */
  restores = [];
  /** Tags that its history has passed over: those after the first of each, up to the second. */
  gaps = [];
  /** Deletions up to here are not remembered any more. */
  forgotten = 0;
  pageRecords = 3;
  /** A version of the relay that does not say where it stands, to who comes from no history. */
  isEarlier = false;

  get token() { return `${this.generation}.${this.sequence}`; }

  copy() {
    const { records, batches, sequence, forgotten } = this;
    return { records: new Map(records), batches: new Map(batches), sequence, forgotten,
      generation: this.generation, restores: [...this.restores] };
  }

  /** An older copy is put back; the sequence goes on beyond all that was ever given. */
  putBack(copy, generation) {
    const given = this.sequence;
    Object.assign(this, { ...copy, records: new Map(copy.records),
      batches: new Map(copy.batches) });
    const through = copy.sequence;
    this.restores = [...copy.restores, { generation: copy.generation, through }];
    this.generation = generation;
    this.sequence = given + 1_000;
  }

  /** All of it goes back unseen; what it gives next lies beyond all that was ever given. */
  rollBack(copy) {
    const end = this.sequence + 1_000;
    Object.assign(this, { ...copy, records: new Map(copy.records),
      batches: new Map(copy.batches) });
    this.gaps = [...this.gaps, [copy.sequence, end]];
    this.sequence = end;
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
      if (record.baseTag === 0) return !!there && !there.deleted;
      return (there?.tag ?? 0) !== record.baseTag;
    });
    const isAborted = atomic && clashes.includes(true);
    const results = records.map((record, at) => {
      if (clashes[at]) return { name: record.name, conflict: this.#at(zone, record.name) };
      if (isAborted) return { name: record.name, error: { code: "batchAborted", detail: "" } };
      this.sequence += 1;
      const deleted = record.deleted === true;
      this.records.set(`${zone}\n${record.name}`, {
        zone, name: record.name, type: record.type, fields: deleted ? null : record.fields,
        modifiedAt: record.modifiedAt, device, tag: this.sequence, deleted,
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

  /** A page of changes after `since`, or of a snapshot; or why there is none. */
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
    const lostTags = this.gaps.filter(([after]) => {
      return since === null || (!isSnapshot && after >= from && after < end);
    });
    return { page: { since, token, more, changes, lostTags } };
  }

  /** Where a token stands in the history as it is now. */
  #place(text) {
    const [generation, sequence, ...rest] = text.split(".");
    const number = (letter) => rest.find((part) => part[0] === letter)?.slice(1);
    const place = { sequence: Number(sequence),
      pinned: number("p") === undefined ? null : Number(number("p")) };
    const reach = Math.max(place.sequence, place.pinned ?? 0, Number(number("h") ?? 0));
    const gap = this.gaps.find(([after, through]) => {
      return [place.sequence, place.pinned ?? 0, reach].some((tag) => tag > after && tag <= through
        && tag !== through);
    });
    if (gap && generation === this.generation) {
      return { error: { code: "storeRestored", detail: "", restoredThrough: gap[0],
        lostThrough: gap[1], token: this.token } };
    }
    const isKept = (place.pinned ?? place.sequence) >= this.forgotten;
    if (generation !== this.generation) {
      const at = this.restores.findIndex((restore) => restore.generation === generation);
      if (at < 0) {
        const told = this.isEarlier ? {} : { token: this.token };
        return { error: { code: "badChangeToken", detail: "of no history", ...told } };
      }
      const through = Math.min(...this.restores.slice(at).map((restore) => restore.through));
      // Who has to read a snapshot in any case must learn of the restore by it.
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
