import { covers, generationOf, isSamePlace } from "../changeToken.js";
import { limits } from "../limits.js";
import { advice, blamesContent, provenLoss } from "../refusal.js";
import { BatchBounds } from "./batchBounds.js";
import { FetchState, SaveState, StreamState } from "./engineStates.js";

/**
 * Decides what to send, fetch and apply next. A pure state machine: its methods take events, and
 * `next` returns actions until there are none. Uses no bytes, no clock and no store.
 *
 * Rules: a frozen batch precedes everything else; required fetches precede new sends; one batch,
 * one fetch and one application at a time. Three states hold where each of them is
 * (engineStates.js).
 *
 * Actions, `{do, …}`: `job` (for the replica, with the `bounds` of a batch if one may be frozen),
 * `save` a `batch`, `fetch` / `wait` / `listen` from `since`, `measureClock`, `pause` (retry later,
 * by `resume`) and `fail` (stop until a person acts), both with the `refusal`.
 */
export class SyncEngine {
  position = { kind: "nothing" };
  outbox = null;
  /** null if there is no uplink. */
  transport = null;
  /** True if relay time is known, so that stamps can be trusted and batches be sent. */
  isClockTrusted = false;
  isPaused = false;
  /** Zones that the account's plan does not include. */
  blockedZones = [];
  /** Zones in which the relay has refused a change because of the device's scope. */
  zonesRefusedByScope = [];

  #pending = [];
  #bounds = new BatchBounds();
  #fetching = new FetchState();
  #saving = new SaveState();
  #stream = new StreamState();
  #applications = 0;
  #fetchedSince = null;
  /** Fetched pages, then pushed pages and answers. */
  #arrivals = [];
  /** Consecutive batches with a record from the future. */
  #clockFaults = 0;
  /** Cursors that the relay has refused since it last sent changes after one. */
  #lostCursors = 0;

  // state

  /** The names of the three states. */
  get states() {
    return { fetch: this.#fetching.name, save: this.#saving.name, stream: this.#stream.name };
  }

  /** True if, as far as is known, the device has everything from the relay, and the relay has
   * everything that may be sent. */
  get isInSync() {
    return this.transport !== null && this.#fetching.isCaughtUp && this.#applications === 0
      && this.#saving.isIdle && this.#arrivals.length === 0 && this.#pending.length === 0
      && !this.#hasSendable && !this.outbox.mayBringBack;
  }

  /** True if in sync, and no fetch is running or required. */
  get isSettled() { return this.isInSync && this.#fetching.isIdle; }

  /** True if the device has all changes of other devices, whatever the state of its own. */
  get hasAllRemoteChanges() {
    return this.transport !== null && this.#fetching.isCaughtUp && this.#applications === 0
      && this.#arrivals.length === 0;
  }

  /** True if missed changes were promised, and have not arrived. */
  get awaitsBacklog() { return this.#stream.isChained && this.#fetching.name === "behind"; }

  get #hasSendable() {
    if (this.outbox.frozen !== null) return true;
    return [...this.outbox.waiting.keys()].some((zone) => !this.#heldZones.includes(zone));
  }

  get #heldZones() { return [...this.blockedZones, ...this.zonesRefusedByScope]; }

  get #isAtRest() {
    return this.#arrivals.length === 0 && this.#applications === 0 && this.#saving.isIdle;
  }

  get #cursor() { return this.position.kind === "cursor" ? this.position.token : null; }

  // home and uplink

  loaded(position, outbox) {
    this.position = position;
    this.outbox = outbox;
    this.#applications = 0;
    this.#saving.endOffer();
    this.#arrivals = [];
    this.#pending = [];
  }

  /** Follows a device that has joined its account again: it may have to read it from the beginning,
   * and other zones are in its scope. */
  joined(position) {
    this.position = position;
    this.unblockZones();
  }

  /** Returns the token to greet a socket with: the cursor, if pushed changes could be applied at
   * once. */
  greet() {
    const since = this.outbox.frozen === null && this.#isAtRest ? this.#cursor : null;
    this.#stream.reset();
    if (since !== null) this.#stream.chain();
    return since;
  }

  /** `newest`: the account's newest token, if the relay sent it. */
  online(transport, newest) {
    this.transport = transport;
    this.isPaused = false;
    if (transport !== "websocket") this.#stream.reset();
    if (this.outbox.frozen !== null) this.#stream.beginDropping();
    this.#fetching.reset();
    if (!this.#stream.isChained || this.#cursor === null) this.#fetching.require();
    else if (newest !== null && isSamePlace(this.#cursor, newest)) this.#fetching.complete();
    if (this.outbox.mayRetryParked) this.#pending.push(job({ task: "retryParked" }));
    this.retryRefused();
  }

  offline() {
    this.transport = null;
    this.#fetching.reset();
    this.#saving.endSave();
    this.#stream.reset();
    this.isPaused = false;
    // Pending actions for the store stay valid without an uplink.
    this.#pending = this.#pending.filter(({ do: what }) => what === "job" || what === "fail");
  }

  /** Follows a change between two HTTP transports. */
  changeTransport(transport) { if (this.transport !== null) this.transport = transport; }

  resume() { this.isPaused = false; }

  /** Fetches, because the device lacks something, or may lack something. */
  fetchNow() { if (this.transport !== null) this.#fetching.require(); }

  /** Checks for new changes. */
  poll() { if (this.transport !== null) this.#fetching.check(); }

  /** Unblocks all zones: the account's plan, or the device's scope, may have changed. */
  unblockZones() {
    this.blockedZones = [];
    this.zonesRefusedByScope = [];
  }

  /** Retries everything at a person's request. */
  tryEverything() {
    this.isPaused = false;
    this.unblockZones();
    this.retryRefused(true);
    this.fetchNow();
  }

  /** Retries changes that were too large for the path; `withParked`: also changes that the relay
   * has refused, and records that could not be read. */
  retryRefused(withParked = false) {
    this.#bounds.reset();
    const { setAsideCount = 0, parkedCount = 0, unreadableCount = 0 } = this.outbox ?? {};
    const count = setAsideCount + (withParked ? parkedCount + unreadableCount : 0);
    if (count > 0) this.#apply({ task: "retryRefused", withParked });
  }

  // messages of the relay

  /** `origin`: `push`, `fetch`, `longPoll`, or `stream`. */
  page(page, origin) {
    const isUnasked = origin === "push" || origin === "stream";
    if (origin === "fetch") {
      const isStale = this.#fetching.name === "fetchingStale";
      this.#fetching.end();
      if (isStale) return;
    }
    if (origin === "longPoll") this.#stream.endWait();
    if (page.since !== null && this.#cursor !== null) this.#lostCursors = 0;
    // A relay that pushes continues without a request.
    if (page.more && !isUnasked) this.fetchNow();
    if (isUnasked && this.#stream.dropsPages) {
      this.fetchNow();
      return;
    }
    if (page.changes.length === 0 && isSamePlace(this.#cursor, page.token) && this.#isAtRest) {
      // Nothing new: the device is at the relay's position.
      this.#fetching.complete();
      return;
    }
    // A device receives its own saves on its stream, usually after it knows about them.
    const isKnown = this.#cursor !== null && covers(this.#cursor, page.token);
    if (origin === "stream" && this.#isAtRest && isKnown) return;
    if (this.#arrivals.length >= limits.waitingArrivals) {
      this.fetchNow();
      return;
    }
    // Fetched pages precede those that were pushed meanwhile.
    if (origin === "fetch") this.#arrivals.unshift({ kind: "page", page });
    else this.#arrivals.push({ kind: "page", page });
  }

  /** Applies pages that were read before there is an uplink. They must begin at the device's
   * position. The replica skips them if there are local changes. */
  readAhead(pages) {
    if (this.transport !== null || !this.#isAtRest) return;
    if (this.#cursor === null || !isSamePlace(this.#cursor, pages[0]?.since ?? null)) return;
    // The relay may have more by now.
    for (const page of pages.slice(0, limits.waitingArrivals)) {
      this.#arrivals.push({ kind: "page", page: { ...page, more: true }, isReadAhead: true });
    }
  }

  hint(token) {
    const last = this.#arrivals.at(-1);
    if (last?.kind === "page" && isSamePlace(last.page.token, token)) return;
    if (!isSamePlace(this.#cursor, token)) this.fetchNow();
  }

  saved(id, answer) {
    if (this.#saving.batch?.id !== id) return;
    this.#saving.endSave();
    this.#bounds.saved();
    // While a long-poll is held, its cursor must not change.
    this.#arrivals.push({ kind: "answer", id, answer, isLink: !this.#stream.isWaiting });
  }

  saveRefused(id, refusal) {
    const { batch } = this.#saving;
    if (batch?.id !== id) return;
    this.#saving.endSave();
    if (refusal.code === "planRequired") {
      if (!this.blockedZones.includes(batch.zone)) this.blockedZones.push(batch.zone);
      this.#refuse(id, refusal);
    } else if (refusal.code === "outOfScope") {
      if (!this.zonesRefusedByScope.includes(batch.zone)) this.zonesRefusedByScope.push(batch.zone);
      this.#refuse(id, refusal);
    } else if (refusal.code === "clockAhead") {
      this.#refuse(id, refusal);
      this.#handleClockAhead(refusal);
    } else if (refusal.code === "batchMismatch") {
      this.#refuse(id, refusal);
    } else if (advice(refusal) === "askPerson") {
      this.#pending.push({ do: "fail", refusal });
    } else if (advice(refusal) === "fetchFirst") {
      this.#refuse(id, refusal);
      if (refusal.code === "storeRestored") this.#loseCursor(refusal, this.#isOfCursor(refusal));
      this.fetchNow();
    } else if (refusal.isTooLarge) {
      const task = this.#bounds.tooLarge(batch, refusal);
      if (task) this.#apply(task);
      else this.#pause(refusal);
    } else if (blamesContent(refusal)) {
      this.#bounds.contentRefused(batch);
      this.#refuse(id, refusal);
    } else {
      // The refusal may be temporary: the batch stays frozen, and is sent again unchanged.
      this.#pause(refusal);
    }
  }

  /** Handles a cut long-poll: what it may have missed is fetched. */
  longPollCut() {
    this.#stream.endWait();
    this.poll();
  }

  fetchRefused(refusal, origin) {
    const since = origin === "fetch" ? this.#fetchedSince : this.position.token ?? null;
    if (origin === "fetch") this.#fetching.end();
    if (origin === "longPoll") this.#stream.endWait();
    if (origin === "stream") this.#stream.endListening();
    this.fetchNow();
    if (advice(refusal) === "fetchFirst" && since !== null) {
      this.#loseCursor(refusal);
    } else if (advice(refusal) === "askPerson") {
      this.#pending.push({ do: "fail", refusal });
    } else {
      this.#pause(refusal);
    }
  }

  /** Discards the cursor. A relay that refuses each of its own cursors is not asked for snapshots
   * without a pause. */
  #loseCursor(refusal, isProven = true) {
    this.#stream.unchain();
    const found = isProven ? { restoredThrough: provenLoss(refusal),
      lostThrough: refusal.lostThrough ?? null } : { restoredThrough: null, lostThrough: null };
    this.#apply({ task: "forgetCursor", ...found, generation: generationOf(refusal.token) });
    this.#lostCursors += 1;
    if (this.#lostCursors > limits.lostCursors) this.#pause(refusal);
  }

  /** True if the refusal of a save reports how far the relay went back. It concerns the tags of the
   * batch: of a relay that was restored meanwhile, only a request with the cursor shows this. */
  #isOfCursor({ token = null }) {
    const seenIn = generationOf(token);
    return seenIn === null || seenIn === generationOf(this.position.token ?? null);
  }

  // results of the replica

  /** Returns bounds if the next batch may be frozen by a job that is about to be submitted. The
   * offer is valid until that job is done. */
  beginOffer() {
    if (!this.#canOffer) return null;
    this.#saving.beginOffer();
    return { ...this.#bounds, blockedZones: this.#heldZones };
  }

  /** `offered`: true if the job carried an offer. `applied`: result of an application. */
  finished({ offered, applied, batch, outbox }) {
    this.outbox = outbox;
    if (offered) this.#saving.endOffer();
    if (applied) {
      this.#applications -= 1;
      this.#completeApplication(applied);
    }
    if (!offered || this.transport === null) return;
    if (batch) {
      this.#saving.beginSave(batch);
      this.#pending.push({ do: "save", batch });
    } else if (this.#hasSendable && this.isClockTrusted && !this.#fetching.isRequired) {
      // It was not frozen because its stamps could not be trusted after all.
      this.#measureAgain();
    }
  }

  #completeApplication(applied) {
    this.position = applied.position;
    if (applied.foundGap && this.transport !== null) this.#fetching.startAnew();
    if (applied.retryLater) this.#pause(applied.retryLater);
    if (applied.clockAhead) {
      this.#handleClockAhead({ code: "clockAhead", detail: "a record's time is in the future" });
    } else if (applied.hasAnswer) {
      this.#clockFaults = 0;
    }
    if (applied.isAtEnd && this.transport !== null) this.#fetching.complete();
  }

  /** Handles stamps in the relay's future: its time is measured again, and if that did not help,
   * sync pauses. */
  #handleClockAhead(refusal) {
    this.#clockFaults += 1;
    this.#measureAgain();
    if (this.#clockFaults > 1) this.#pause(refusal);
  }

  #measureAgain() {
    if (this.transport === null) return;
    this.isClockTrusted = false;
    this.#pending.push({ do: "measureClock" });
  }

  // actions

  next() {
    if (this.#pending.length > 0) return this.#pending.shift();
    // Pushed pages wait for the running fetch, whose pages precede them.
    if (this.#arrivals.length > 0 && this.#applications === 0 && !this.#fetching.isRunning) {
      const arrivals = this.#arrivals;
      this.#arrivals = [];
      // This job may answer the frozen batch, so only a new batch is offered.
      const bounds = this.#canOfferNew ? this.beginOffer() : null;
      this.#applications += 1;
      return job({ task: "apply", arrivals }, bounds);
    }
    if (this.outbox?.mayBringBack && this.#applications === 0) {
      this.#applications += 1;
      return job({ task: "bringBack" });
    }
    if (this.transport === null || this.isPaused) return null;
    const bounds = this.#hasSendable ? this.beginOffer() : null;
    if (bounds) return job({ task: "freezeBatch" }, bounds);
    if (this.#fetching.mayBegin && this.outbox.frozen === null && this.#isAtRest) {
      return this.#fetch(this.position.token ?? null);
    }
    if (!this.#fetching.isIdle || this.#applications > 0) return null;
    if (this.#arrivals.length > 0 || this.#cursor === null) return null;
    if (this.transport === "long-poll" && !this.#stream.isWaiting) {
      this.#stream.beginWait();
      return { do: "wait", since: this.#cursor };
    }
    if (this.transport === "events" && !this.#stream.isListening) {
      this.#stream.beginListening();
      return { do: "listen", since: this.#cursor };
    }
    return null;
  }

  #fetch(since) {
    this.#fetching.begin();
    this.#stream.endDropping();
    this.#fetchedSince = since;
    return { do: "fetch", since };
  }

  get #canOfferNew() { return this.#fetching.isIdle && this.#cursor !== null; }

  get #canOffer() {
    // The running application may answer the frozen batch, and show that more must be fetched
    // first.
    if (this.transport === null || this.isPaused || !this.isClockTrusted) return false;
    if (!this.#saving.isIdle || this.#applications > 0) return false;
    return this.outbox.frozen !== null || this.#canOfferNew;
  }

  #refuse(id, refusal) { this.#apply({ task: "refuseBatch", id, refusal }); }

  #apply(task) {
    this.#pending.push(job(task));
    this.#applications += 1;
  }

  #pause(refusal) {
    if (this.transport === null) return;
    this.isPaused = true;
    this.#pending.push({ do: "pause", refusal });
  }
}

const job = (task, bounds = null) => ({ do: "job", job: task, bounds });
