import { frozen } from "../../json/jsonValue.js";
import { shown } from "../../model/stamps.js";
import { isRing, keysZone, ringRecord } from "../../sealing/keyRing.js";
import { atTag, knowing, reach, readToken } from "../changeToken.js";
import { keyOf, unjoinedDevice } from "../record.js";
import { haveSameZones, includesWrites } from "../scope.js";
import { refuseBatch, reopenParked, retryParked, setAside } from "./answers.js";
import { DueIndex } from "./dueIndex.js";
import { adoptEdits, changeRecords, decide, EditError, makeDueEdits } from "./editing.js";
import { sealAwaitedZones, sealFurtherZones } from "./furtherZones.js";
import { applyArrivals, applyOvertaken } from "./incoming.js";
import { WriteTransaction } from "./writeTransaction.js";
import { limits } from "../limits.js";
import { wasIntercepted } from "../refusal.js";
import { adoptKeys, makeDeviceKey, makeKeys } from "./keyHandover.js";
import { notes } from "./lostTags.js";
import { Merging } from "./merging.js";
import { heldBackTest } from "./outbox.js";
import { freezeBatch } from "./outgoing.js";
import { isResealing, reseal } from "./resealing.js";
import { bringBack, endRestore, forgetCursor } from "./restore.js";
import { SealedZones, storedSeals } from "./sealedZones.js";
import { adoptSeals, checkedSeals, retryUnreadable, writeSeals } from "./sealing.js";
import { followSteps } from "./stamps.js";

/**
 * A device's records, cursor and outbox: performs jobs, one transaction each. Uses no network, no
 * clock and no store; its results depend only on its content and the jobs. `writes` has the changes
 * for the store, to be written in one transaction. If that fails, the caller discards the replica
 * and makes a new one from the content of the store.
 *
 * Position up to which the device has read (`position`): `nothing` (nothing is known, or the cursor
 * was lost: a snapshot comes next), `snapshot` (during a snapshot, up to `token`), `cursor`.
 *
 * One file per topic: `answers`, `editing`, `furtherZones`, `incoming`, `keyHandover`, `lineage`,
 * `lostTags`, `outgoing`, `plainZones`, `reconciling`, `resealing`, `restore`, `sealedVersions`,
 * `sealing`, `stamps`, `writer`.
 */
export class Replica {
  /**
   * @param {{records: object[], outbox: object[], values: [string, any][]}} contents
   * @param {import("./merging.js").App[]} apps
   */
  constructor(contents, apps) {
    this.transaction = new WriteTransaction(contents);
    this.apps = apps;
    const cursor = this.transaction.value("cursor");
    this.position = cursor === undefined ? { kind: "nothing" } : { kind: "cursor", token: cursor };
    /** Records that arrived while a local change to them was in flight, and wait for its answer.
     * Each record once, so not more than a batch has. */
    this.overtaken = [];
    /** Token of the newest answer that no cursor covers yet. The relay may lose what it answered
     * before the device has read that far. */
    this.answered = null;
    /** Zones in which records were written since surplus ones were last removed there. */
    this.zonesToTrim = new Set(apps.map(({ zone }) => zone));
    this.hasLost = this.transaction.lostRecords(1, 0).length > 0;
    if (cursor !== undefined && !this.hasLost && !this.restore) this.#addHeldTags(cursor);
    /** Steps of the wall clock that `assumedOffset` has followed, in milliseconds. */
    this.followedSteps = 0;
    /** Changes that are too large for the path to the relay, until they are retried: the entry's
     * number, and its stamp, because a later edit is another change. */
    this.setAside = new Map();
    /** Zones whose records are sealed, and the keys. */
    const seals = Object.entries(storedSeals)
      .map(([name, key]) => [name, this.transaction.value(key)]);
    this.sealing = new SealedZones(Object.fromEntries(seals));
    this.due = new DueIndex();
    this.merging = new Merging(apps, this.device);
    this.#indexDueEdits();
  }

  /** Adds the records beyond the stored cursor, which the relay may have lost meanwhile. A cursor
   * with a horizon is first sent as it is (`advanceByAnswer`). */
  #addHeldTags(cursor) {
    const greatest = this.transaction.greatestTag();
    if (greatest <= reach(cursor)) return;
    if (readToken(cursor)?.horizon === null) this.position.token = knowing(cursor, greatest);
    else this.answered = atTag(cursor, greatest);
  }

  #indexDueEdits() {
    for (const record of this.transaction.records()) {
      this.due.set(keyOf(record), this.dueEdit(record));
    }
  }

  /**
   * @param {{task: string, offer?: object, clock: import("./stamps.js").ClockReading}} job `offer`
   *   `{id, records, bytes, blockedZones, randomBytes}`: freeze the next batch in the same
   *   transaction, if none is in flight; `id` is a new random UUID
   */
  perform(job) {
    let { clock } = job;
    followSteps(this, clock);
    if (!clock.isMeasured) {
      clock = { ...clock, offset: this.assumedOffset, relayTime: clock.wall + this.assumedOffset };
    }
    let result = null;
    let error = null;
    let applied = null;
    try {
      const done = this.#run(job, clock);
      if (done?.isApplied) applied = done;
      else result = done;
    } catch (fault) {
      // Edits are checked before anything is written, so nothing is half done.
      if (!(fault instanceof EditError)) throw fault;
      error = fault;
    }
    let batch = null;
    if (job.offer && this.identity && !applied?.clockAhead && !applied?.foundGap) {
      batch = freezeBatch(this, job.offer, clock);
    }
    return { result, error, applied, batch, ...this.#finish() };
  }

  #run(job, clock) {
    switch (job.task) {
      case "load":
        reopenParked(this, ({ state }) => wasIntercepted(state.refusal));
        sealFurtherZones(this);
        return null;
      case "freezeBatch": return null;
      case "change": return this.#ordered(job, () => changeRecords(this, job.make, clock));
      case "decide":
        return this.#ordered(job, () => frozen(shown(decide(this, job.decision, clock))));
      case "join": return this.#join(job.identity, job.keys);
      case "follow": return this.#follow(job.relay);
      case "nameDevices": return this.transaction.setValue("devices", job.devices) ?? null;
      case "seal": return adoptSeals(this, job.keys);
      case "makeDeviceKey": return makeDeviceKey(this, job.secret, clock) ?? null;
      case "makeKeys": return makeKeys(this, job, clock);
      case "adoptKeys": return adoptKeys(this, job.made) ?? null;
      case "reseal": return reseal(this) ?? null;
      case "makeDueEdits": return makeDueEdits(this, job.isConnected, clock) ?? null;
      case "retryParked": return retryParked(this) ?? null;
      case "apply": return applyArrivals(this, job.arrivals, clock);
      case "refuseBatch": {
        const applied = this.newApplied();
        refuseBatch(this, job.id, job.refusal);
        return this.#finishBatch(applied);
      }
      case "setAside": {
        const applied = this.newApplied();
        setAside(this, job.id);
        return this.#finishBatch(applied);
      }
      case "retryRefused":
        this.setAside.clear();
        if (job.withParked) {
          reopenParked(this, () => true);
          retryUnreadable(this);
        }
        return this.newApplied();
      case "forgetCursor":
        forgetCursor(this, job.restoredThrough, job.generation, job.lostThrough);
        return this.newApplied();
      case "bringBack":
        bringBack(this);
        endRestore(this);
        return this.newApplied();
      default: throw new TypeError(`unknown task ${job.task}`);
    }
  }

  /** Handles what has waited for the end of a batch that was not answered. */
  #finishBatch(applied) {
    applyOvertaken(this, applied);
    const foundGap = sealAwaitedZones(this) || applied.foundGap;
    return { ...applied, foundGap, position: this.position };
  }

  /** Performs an order of another tab once. A tab that received no answer repeats its order. */
  #ordered({ order }, act) {
    const known = this.transaction.value("orders") ?? [];
    if (order && known.includes(order)) return { isRepeated: true };
    const result = act();
    if (order) {
      this.transaction.setValue("orders", [...known, order].slice(-limits.rememberedOrders));
    }
    return result;
  }

  /** Stores the account, and the keys that came with its code (`SealingKeys.storedValue`) in the
   * same transaction: without them the device would send records as they are. A device's data
   * belongs to one account and is never given to another; what was edited before the first join
   * goes to its account. Records that it has had without a seal are foreign to a sealed account. */
  #join(identity, keys) {
    const { identity: known, device } = this;
    if (known && known.accountID !== identity.accountID) {
      const words = "this device holds another account's data; sign out first";
      throw new EditError("otherAccount", words);
    }
    const options = { replacesPlain: true };
    const seals = keys === undefined ? null : checkedSeals(this, keys, options);
    this.transaction.setValue("identity", identity);
    this.merging = new Merging(this.apps, this.device);
    if (!known) adoptEdits(this, device);
    else this.#adoptScope(known.scope);
    if (seals) writeSeals(this, seals, options);
    return identity;
  }

  /** The account has moved to another relay. */
  #follow(relay) {
    if (this.identity.relay === relay) return this.identity;
    const identity = { ...this.identity, relay };
    this.transaction.setValue("identity", identity);
    return identity;
  }

  /** Reads the account from its beginning after this device has joined it again for other zones.
   * The cursor says nothing about zones that the relay has left out until now; records of zones
   * that it leaves out from now on are not in the snapshot, and go. */
  #adoptScope(known) {
    if (!haveSameZones(known, this.scope)) forgetCursor(this, null, null);
    this.#indexDueEdits();
  }

  #finish() {
    const { writes, changed } = this.transaction.finish();
    const visible = [];
    const tagged = [];
    for (const { before, now } of changed) {
      const record = now ?? before;
      if (!record) continue;
      this.due.set(keyOf(record), now ? this.dueEdit(now) : null);
      const difference = shownDifference(before, now);
      if (difference) visible.push(difference);
      else if (before && now && !now.deleted && before.tag !== now.tag) tagged.push(tagOf(now));
    }
    const outbox = this.#summary();
    outbox.mayBringBack = this.mayBringBack;
    return { writes, changed: visible, tagged, outbox, due: this.due.times(this.device),
      position: this.position };
  }

  #summary() {
    const summary = this.transaction.outbox.summary;
    summary.outOfScope = [...summary.waiting.keys()].filter((zone) => !this.mayWrite(zone));
    for (const zone of summary.outOfScope) summary.waiting.delete(zone);
    for (const number of this.setAside.keys()) {
      const entry = this.transaction.outbox.entry(number);
      if (!entry || !this.isSetAside(entry)) {
        this.setAside.delete(number);
        continue;
      }
      summary.setAsideCount += 1;
      countHeldBack(summary, entry);
    }
    this.#addUnreadable(summary);
    summary.needsKeys = this.#needsKeys;
    summary.isResealing = isResealing(this);
    return summary;
  }

  #addUnreadable(summary) {
    const { sealing, transaction } = this;
    if (!sealing.hasUnreadable) return;
    summary.unreadableCount = sealing.unreadableCount;
    summary.unreadable = sealing.firstUnreadable(limits.statusRecords);
    summary.lockedZones = this.#lockedZones();
    const isHeldBack = heldBackTest(this);
    for (const entry of transaction.outbox.entries()) {
      const waits = entry.state.kind === "waiting" && !this.isSetAside(entry);
      if (waits && isHeldBack(entry)) countHeldBack(summary, entry);
    }
  }

  /** True if the account has keys that the device does not have. */
  get #needsKeys() {
    const { sealing, transaction, scope } = this;
    if (sealing.held?.account) return false;
    const hasRing = !scope?.zones && isRing(transaction.record(ringKey) ?? {});
    return hasRing || sealing.lock.zones.length > 0;
  }

  /** Returns the locked zones of which the device has records, changes or rules, or the relay has
   * sealed records. */
  #lockedZones() {
    const { sealing, transaction, apps } = this;
    if (sealing.lock.isEmpty) return [];
    const zones = [...apps.map(({ zone }) => zone), ...transaction.zones, ...sealing.lock.zones];
    return [...new Set(zones)].filter((zone) => sealing.isLocked(zone)).sort();
  }

  // state for the files of the topics

  isSetAside({ number, state, modifiedAt }) {
    return state.kind === "waiting" && this.setAside.get(number) === modifiedAt;
  }

  get identity() { return this.transaction.value("identity") ?? null; }

  /** Id of this device. */
  get device() { return this.identity?.deviceID ?? unjoinedDevice; }

  /** Part of the account that this device may use; null: everything. */
  get scope() { return this.identity?.scope ?? null; }

  /** True if the device has the account's keys, and all of the account. */
  get hasAccountKeys() {
    return !!this.identity && this.scope === null && !!this.sealing.held?.account;
  }

  mayWrite(zone) { return includesWrites(this.scope, zone); }

  /** Returns the edit that the record will get by time, if this device may make it. */
  dueEdit(record) { return this.mayWrite(record.zone) ? this.merging.dueEdit(record) : null; }

  /** null before and during a snapshot. */
  get cursor() { return this.position.kind === "cursor" ? this.position.token : null; }

  get restore() { return this.transaction.value(notes.restore) ?? null; }

  get preRestoreTag() { return this.transaction.value(notes.preRestoreTag) ?? null; }

  get lostCursor() { return this.transaction.value(notes.lostCursor) ?? null; }

  /** Relay time minus wall clock, as assumed by untrusted stamps in the outbox. */
  get assumedOffset() { return this.transaction.value("clock.offset") ?? 0; }

  get lastSync() { return this.transaction.value("sync.last") ?? null; }

  /** Number of the last snapshot that was begun. */
  get snapshot() { return this.transaction.value("snapshot.number") ?? 0; }

  get mayBringBack() { return this.hasLost && this.transaction.outbox.hasRoomForLost; }

  setNote(name, value) { this.transaction.setValue(notes[name], value ?? undefined); }

  moveTo(position) {
    this.position = position;
    this.transaction.setValue("cursor", position.kind === "cursor" ? position.token : undefined);
  }

  beginSnapshot() { this.transaction.setValue("snapshot.number", this.snapshot + 1); }

  /** Result of a list of arrivals. */
  newApplied() {
    return {
      isApplied: true, position: this.position, foundGap: false, clockAhead: false, isAtEnd: false,
      isLinked: false, hasAnswer: false, retryLater: null, conflicts: 0,
    };
  }
}

const ringKey = keyOf({ zone: keysZone, name: ringRecord });

/** Counts a waiting entry as one that is not sent. */
function countHeldBack({ waiting }, { zone }) {
  if (!waiting.has(zone)) return;
  const left = waiting.get(zone) - 1;
  if (left > 0) waiting.set(zone, left);
  else waiting.delete(zone);
}

const tagOf = ({ zone, name, tag }) => ({ zone, name, tag });

/** Returns the record to show, without fields if it is gone; null if a person sees no
 * difference. */
function shownDifference(before, now) {
  const had = before?.fields ?? null;
  if (!now || now.deleted) {
    return had === null ? null : { ...(now ?? before), fields: null, deleted: true };
  }
  const isSame = had === now.fields && before.modifiedAt === now.modifiedAt
    && before.device === now.device && before.type === now.type;
  return isSame ? null : now;
}
