import { covers, generationOf, isSamePlace } from "../changeToken.js";
import { limits } from "../limits.js";
import { advice, blamesContent, provenLoss } from "../refusal.js";
import { BatchBounds } from "./batchBounds.js";

/**
 * Decides what to send, fetch and apply next. A pure state machine: its methods take events, and
 * `next` returns actions until there are none. Uses no bytes, no clock and no store.
 *
 * Rules: a frozen batch precedes everything else; required fetches precede new sends; one batch,
 * one fetch and one application at a time.
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

  #pending = [];
  #bounds = new BatchBounds();
  /** The batch that was sent on this uplink and not answered. */
  #saving = null;
  #isOffering = false;
  #applications = 0;
  #mustFetch = false;
  #isFetching = false;
  #fetchedSince = null;
  /** True if the running fetch follows a page that could not be applied. */
  #isFetchStale = false;
  #isWaiting = false;
  #isListening = false;
  #hasCaughtUp = false;
  /** True if the relay pushes what was missed, because the greeting had the cursor. */
  #isChained = false;
  /** True if a batch of an earlier uplink is frozen: nothing pushed is applied before its
   * answer. */
  #dropsPages = false;
  /** Fetched pages, then pushed pages and answers. */
  #arrivals = [];
  /** Consecutive batches with a record from the future. */
  #clockFaults = 0;

  // state

  /** True if, as far as is known, the device has everything from the relay, and the relay has
   * everything that may be sent. */
  get isInSync() {
    return this.transport !== null && this.#hasCaughtUp && this.#applications === 0
      && !this.#isOffering && !this.#saving && this.#arrivals.length === 0
      && this.#pending.length === 0 && !this.#hasSendable && !this.outbox.mayBringBack;
  }

  /** True if in sync, and no fetch is running or required. */
  get isSettled() { return this.isInSync && !this.#mustFetch && !this.#isFetching; }

  /** True if the device has all changes of other devices, whatever the state of its own. */
  get hasAllRemoteChanges() {
    return this.transport !== null && this.#hasCaughtUp && this.#applications === 0
      && this.#arrivals.length === 0;
  }

  /** True if missed changes were promised, and have not arrived. */
  get awaitsBacklog() {
    return this.#isChained && !this.#hasCaughtUp && !this.#mustFetch && !this.#isFetching;
  }

  get #hasSendable() {
    if (this.outbox.frozen !== null) return true;
    return [...this.outbox.waiting.keys()].some((zone) => !this.blockedZones.includes(zone));
  }

  get #isAtRest() {
    return this.#arrivals.length === 0 && this.#applications === 0 && !this.#isOffering
      && !this.#saving;
  }

  get #cursor() { return this.position.kind === "cursor" ? this.position.token : null; }

  // home and uplink

  loaded(position, outbox) {
    this.position = position;
    this.outbox = outbox;
    this.#applications = 0;
    this.#isOffering = false;
    this.#arrivals = [];
    this.#pending = [];
  }

  /** Returns the token to greet a socket with: the cursor, if pushed changes could be applied at
   * once. */
  greet() {
    const since = this.outbox.frozen === null && this.#isAtRest ? this.#cursor : null;
    this.#isChained = since !== null;
    return since;
  }

  /** `newest`: the account's newest token, if the relay sent it. */
  online(transport, newest) {
    this.transport = transport;
    this.isPaused = false;
    this.#dropsPages = this.outbox.frozen !== null;
    if (transport !== "websocket") this.#isChained = false;
    this.#hasCaughtUp = this.#isChained && !this.#dropsPages && newest !== null
      && isSamePlace(this.#cursor, newest);
    this.#mustFetch = !this.#isChained || this.#dropsPages || this.#cursor === null;
    if (this.outbox.mayRetryParked) this.#pending.push(job({ task: "retryParked" }));
    this.retryRefused();
  }

  offline() {
    this.transport = null;
    this.#saving = null;
    this.#isFetching = false;
    this.#isFetchStale = false;
    this.#isWaiting = false;
    this.#isListening = false;
    this.#mustFetch = false;
    this.#isChained = false;
    this.#hasCaughtUp = false;
    this.isPaused = false;
    // Pending actions for the store stay valid without an uplink.
    this.#pending = this.#pending.filter(({ do: what }) => what === "job" || what === "fail");
  }

  /** Follows a change between two HTTP transports. */
  changeTransport(transport) { if (this.transport !== null) this.transport = transport; }

  resume() { this.isPaused = false; }

  /** Fetches, because the device lacks something, or may lack something. */
  fetchNow() {
    if (this.transport === null) return;
    this.#mustFetch = true;
    this.#hasCaughtUp = false;
  }

  /** Checks for new changes. */
  poll() { if (this.transport !== null) this.#mustFetch = true; }

  unblockZones() { this.blockedZones = []; }

  /** Retries everything at a person's request. */
  tryEverything() {
    this.isPaused = false;
    this.unblockZones();
    this.retryRefused(true);
    this.fetchNow();
  }

  /** Retries changes that were too large for the path; `withParked`: also changes that the relay
   * has refused. */
  retryRefused(withParked = false) {
    this.#bounds.reset();
    const { setAsideCount = 0, parkedCount = 0 } = this.outbox ?? {};
    const count = setAsideCount + (withParked ? parkedCount : 0);
    if (count > 0) this.#apply({ task: "retryRefused", withParked });
  }

  // messages of the relay

  /** `origin`: `push`, `fetch`, `longPoll`, or `stream`. */
  page(page, origin) {
    const isUnasked = origin === "push" || origin === "stream";
    if (origin === "fetch") {
      this.#isFetching = false;
      if (this.#isFetchStale) {
        this.#isFetchStale = false;
        this.fetchNow();
        return;
      }
    }
    if (origin === "longPoll") this.#isWaiting = false;
    // A relay that pushes continues without a request.
    if (page.more && !isUnasked) this.fetchNow();
    if (isUnasked && this.#dropsPages) {
      this.fetchNow();
      return;
    }
    if (page.changes.length === 0 && isSamePlace(this.#cursor, page.token) && this.#isAtRest) {
      // Nothing new: the device is at the relay's position.
      if (!this.#mustFetch && !this.#isFetching) this.#hasCaughtUp = true;
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

  hint(token) {
    const last = this.#arrivals.at(-1);
    if (last?.kind === "page" && isSamePlace(last.page.token, token)) return;
    if (!isSamePlace(this.#cursor, token)) this.fetchNow();
  }

  saved(id, answer) {
    if (this.#saving?.id !== id) return;
    this.#saving = null;
    this.#bounds.saved();
    // While a long-poll is held, its cursor must not change.
    this.#arrivals.push({ kind: "answer", id, answer, isLink: !this.#isWaiting });
  }

  saveRefused(id, refusal) {
    const batch = this.#saving;
    if (batch?.id !== id) return;
    this.#saving = null;
    if (refusal.code === "planRequired") {
      if (!this.blockedZones.includes(batch.zone)) this.blockedZones.push(batch.zone);
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
      if (refusal.code === "storeRestored") this.#loseCursor(refusal);
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
    this.#isWaiting = false;
    this.poll();
  }

  fetchRefused(refusal, origin) {
    const since = origin === "fetch" ? this.#fetchedSince : this.position.token ?? null;
    if (origin === "fetch") {
      this.#isFetching = false;
      this.#isFetchStale = false;
    }
    if (origin === "longPoll") this.#isWaiting = false;
    if (origin === "stream") this.#isListening = false;
    this.#hasCaughtUp = false;
    this.#mustFetch = this.transport !== null;
    if (advice(refusal) === "fetchFirst" && since !== null) {
      this.#loseCursor(refusal);
    } else if (advice(refusal) === "askPerson") {
      this.#pending.push({ do: "fail", refusal });
    } else {
      this.#pause(refusal);
    }
  }

  #loseCursor(refusal) {
    this.#isChained = false;
    this.#apply({ task: "forgetCursor", restoredThrough: provenLoss(refusal),
      lostThrough: refusal.lostThrough ?? null, generation: generationOf(refusal.token) });
  }

  // results of the replica

  /** Returns bounds if the next batch may be frozen by a job that is about to be submitted. The
   * offer is valid until that job is done. */
  beginOffer() {
    if (!this.#canOffer) return null;
    this.#isOffering = true;
    return { ...this.#bounds, blockedZones: [...this.blockedZones] };
  }

  /** `offered`: true if the job carried an offer. `applied`: result of an application. */
  finished({ offered, applied, batch, outbox }) {
    this.outbox = outbox;
    if (offered) this.#isOffering = false;
    if (applied) {
      this.#applications -= 1;
      this.#completeApplication(applied);
    }
    if (!offered || this.transport === null) return;
    if (batch) {
      this.#saving = batch;
      this.#pending.push({ do: "save", batch });
    } else if (this.#hasSendable && this.isClockTrusted && !this.#mustFetch) {
      // It was not frozen because its stamps could not be trusted after all.
      this.#measureAgain();
    }
  }

  #completeApplication(applied) {
    this.position = applied.position;
    if (applied.foundGap) {
      this.#isFetchStale = this.#isFetching;
      this.fetchNow();
    }
    if (applied.retryLater) this.#pause(applied.retryLater);
    if (applied.clockAhead) {
      this.#handleClockAhead({ code: "clockAhead", detail: "a record's time is in the future" });
    } else if (applied.hasAnswer) {
      this.#clockFaults = 0;
    }
    const isDone = applied.isAtEnd && !this.#mustFetch && !this.#isFetching;
    if (isDone && this.transport !== null) this.#hasCaughtUp = true;
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
    if (this.#arrivals.length > 0 && this.#applications === 0 && !this.#isFetching) {
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
    if (this.#mustFetch && !this.#isFetching && this.outbox.frozen === null && this.#isAtRest) {
      return this.#fetch(this.position.token ?? null);
    }
    if (this.#isFetching || this.#mustFetch || this.#applications > 0) return null;
    if (this.#arrivals.length > 0 || this.#cursor === null) return null;
    if (this.transport === "long-poll" && !this.#isWaiting) {
      this.#isWaiting = true;
      return { do: "wait", since: this.#cursor };
    }
    if (this.transport === "events" && !this.#isListening) {
      this.#isListening = true;
      return { do: "listen", since: this.#cursor };
    }
    return null;
  }

  #fetch(since) {
    this.#mustFetch = false;
    this.#isFetching = true;
    this.#dropsPages = false;
    this.#fetchedSince = since;
    return { do: "fetch", since };
  }

  get #canOfferNew() { return !this.#mustFetch && !this.#isFetching && this.#cursor !== null; }

  get #canOffer() {
    // The running application may answer the frozen batch, and show that more must be fetched
    // first.
    if (this.transport === null || this.isPaused || !this.isClockTrusted) return false;
    if (this.#saving || this.#isOffering || this.#applications > 0) return false;
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
