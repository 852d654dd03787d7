import { covers, generationOf, isSamePlace } from "../changeToken.js";
import { limits } from "../limits.js";
import { advice, blamesContent, provenLoss } from "../refusal.js";
import { BatchBounds } from "./batchBounds.js";

/**
 * What to send, fetch and apply next. A pure machine: it is told what happened, and `next` gives
 * what to do, until there is nothing. Knows no bytes, no clock and no store.
 *
 * Its rules: a frozen batch goes before everything else; what must be fetched is fetched before
 * anything new is sent; one batch, one fetch and one application at a time.
 *
 * What is to be done, `{do, …}`: `job` (for the replica, with the `bounds` of a batch where one
 * may be frozen), `save` a `batch`, `fetch` / `wait` / `listen` from `since`, `measureClock`,
 * `pause` (try again later, by `resume`) and `fail` (nothing more until a person acts), both with
 * the `refusal`.
 */
export class SyncEngine {
  position = { kind: "nothing" };
  outbox = null;
  /** null while there is no uplink. */
  transport = null;
  /** Relay time is known, so that stamps can be trusted and batches be sent. */
  isClockTrusted = false;
  isPaused = false;
  /** Zones that the account's plan does not include. */
  blockedZones = [];

  #pending = [];
  #bounds = new BatchBounds();
  /** The batch that was sent by this uplink and not answered. */
  #saving = null;
  #isOffering = false;
  #applications = 0;
  #mustFetch = false;
  #isFetching = false;
  #fetchedSince = null;
  /** What is being fetched follows a page that could not be applied. */
  #isFetchStale = false;
  #isWaiting = false;
  #isListening = false;
  #hasCaughtUp = false;
  /** The relay sends what was missed by itself, since it was greeted with the cursor. */
  #isChained = false;
  /** A batch of an earlier uplink is frozen: nothing that comes is applied before its answer. */
  #dropsPages = false;
  /** Pages that were fetched, then what was pushed, and answers. */
  #arrivals = [];
  /** Batches in a row with a record from the future. */
  #clockFaults = 0;

  // the state of things

  /** As far as is known, all that the relay has is here; and all that may be sent is there. */
  get isInSync() {
    return this.transport !== null && this.#hasCaughtUp && this.#applications === 0
      && !this.#isOffering && !this.#saving && this.#arrivals.length === 0
      && this.#pending.length === 0 && !this.#hasSendable && !this.outbox.mayBringBack;
  }

  /** In sync, and nothing is being asked. */
  get isSettled() { return this.isInSync && !this.#mustFetch && !this.#isFetching; }

  /** Whatever became of this device's own changes. */
  get hasWhatOthersDid() {
    return this.transport !== null && this.#hasCaughtUp && this.#applications === 0
      && this.#arrivals.length === 0;
  }

  /** What was missed was promised, and has not come. */
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

  /** What to greet a socket with: the cursor, where what it brings could be applied at once. */
  greet() {
    const since = this.outbox.frozen === null && this.#isAtRest ? this.#cursor : null;
    this.#isChained = since !== null;
    return since;
  }

  /** `newest`: the account's newest token, where the relay told it. */
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
    // What the store is to be told stays true without an uplink.
    this.#pending = this.#pending.filter(({ do: what }) => what === "job" || what === "fail");
  }

  /** The ladder moved between two ways by HTTP. */
  changeTransport(transport) { if (this.transport !== null) this.transport = transport; }

  resume() { this.isPaused = false; }

  /** There is, or may be, something that the device lacks. */
  fetchNow() {
    if (this.transport === null) return;
    this.#mustFetch = true;
    this.#hasCaughtUp = false;
  }

  /** It is time to look whether there is something. */
  poll() { if (this.transport !== null) this.#mustFetch = true; }

  unblockZones() { this.blockedZones = []; }

  /** A person asks: what was given up on is tried again. */
  tryEverything() {
    this.isPaused = false;
    this.unblockZones();
    this.retryRefused(true);
    this.fetchNow();
  }

  /** What was too large for the way; `withParked`: and what the relay has refused. */
  retryRefused(withParked = false) {
    this.#bounds.reset();
    const { setAsideCount = 0, parkedCount = 0 } = this.outbox ?? {};
    const count = setAsideCount + (withParked ? parkedCount : 0);
    if (count > 0) this.#apply({ task: "retryRefused", withParked });
  }

  // what the relay says

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
    // A relay that pushes goes on by itself.
    if (page.more && !isUnasked) this.fetchNow();
    if (isUnasked && this.#dropsPages) {
      this.fetchNow();
      return;
    }
    if (page.changes.length === 0 && isSamePlace(this.#cursor, page.token) && this.#isAtRest) {
      // Nothing new: the device stands where the relay does.
      if (!this.#mustFetch && !this.#isFetching) this.#hasCaughtUp = true;
      return;
    }
    // Its own saves come back to a device on its stream, mostly when it knows of them already.
    const isKnown = this.#cursor !== null && covers(this.#cursor, page.token);
    if (origin === "stream" && this.#isAtRest && isKnown) return;
    if (this.#arrivals.length >= limits.waitingArrivals) {
      this.fetchNow();
      return;
    }
    // What was fetched precedes what was pushed meanwhile.
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
    // While a long-poll is held, the cursor it was asked with must stay.
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
      this.#refusedStamp(refusal);
    } else if (refusal.code === "batchMismatch") {
      this.#refuse(id, refusal);
    } else if (advice(refusal) === "askPerson") {
      this.#pending.push({ do: "fail", refusal });
    } else if (advice(refusal) === "fetchFirst") {
      this.#refuse(id, refusal);
      if (refusal.code === "storeRestored") this.#loseCursor(refusal);
      this.fetchNow();
    } else if (refusal.isTooLarge) {
      const what = this.#bounds.tooLarge(batch, refusal);
      if (what) this.#apply(what);
      else this.#pause(refusal);
    } else if (blamesContent(refusal)) {
      this.#bounds.blamed(batch);
      this.#refuse(id, refusal);
    } else {
      // It may be over in a while: the batch stays frozen, and goes again as it is.
      this.#pause(refusal);
    }
  }

  /** The long-poll was cut: what it may have missed is asked for. */
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

  // what the replica says

  /** Whether the next batch may be frozen with a job that is about to be given; the offer stands
   * until that job is done. */
  takeOffer() {
    if (!this.#canOffer) return null;
    this.#isOffering = true;
    return { ...this.#bounds, blockedZones: [...this.blockedZones] };
  }

  /** `offered`: the job carried an offer. `applied`: what came of an application. */
  finished({ offered, applied, batch, outbox }) {
    this.outbox = outbox;
    if (offered) this.#isOffering = false;
    if (applied) {
      this.#applications -= 1;
      this.#settle(applied);
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

  #settle(applied) {
    this.position = applied.position;
    if (applied.foundGap) {
      this.#isFetchStale = this.#isFetching;
      this.fetchNow();
    }
    if (applied.retryLater) this.#pause(applied.retryLater);
    if (applied.clockAhead) {
      this.#refusedStamp({ code: "clockAhead", detail: "a record's time is in the future" });
    } else if (applied.hasAnswer) {
      this.#clockFaults = 0;
    }
    const isDone = applied.isAtEnd && !this.#mustFetch && !this.#isFetching;
    if (isDone && this.transport !== null) this.#hasCaughtUp = true;
  }

  /** Stamps are in the relay's future: its time is asked for anew, and where that did not help,
   * time has to pass. */
  #refusedStamp(refusal) {
    this.#clockFaults += 1;
    this.#measureAgain();
    if (this.#clockFaults > 1) this.#pause(refusal);
  }

  #measureAgain() {
    if (this.transport === null) return;
    this.isClockTrusted = false;
    this.#pending.push({ do: "measureClock" });
  }

  // what to do

  next() {
    if (this.#pending.length > 0) return this.#pending.shift();
    // What was pushed waits for what is being fetched, which comes before it.
    if (this.#arrivals.length > 0 && this.#applications === 0 && !this.#isFetching) {
      const arrivals = this.#arrivals;
      this.#arrivals = [];
      // What is frozen may be answered by this very job, so only a new batch is offered.
      const bounds = this.#canOfferNew ? this.takeOffer() : null;
      this.#applications += 1;
      return job({ task: "apply", arrivals }, bounds);
    }
    if (this.outbox?.mayBringBack && this.#applications === 0) {
      this.#applications += 1;
      return job({ task: "bringBack" });
    }
    if (this.transport === null || this.isPaused) return null;
    const bounds = this.#hasSendable ? this.takeOffer() : null;
    if (bounds) return job({ task: "takeBatch" }, bounds);
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
    // What is being applied may answer what is frozen, and show that more must be fetched first.
    if (this.transport === null || this.isPaused || !this.isClockTrusted) return false;
    if (this.#saving || this.#isOffering || this.#applications > 0) return false;
    return this.outbox.frozen !== null || this.#canOfferNew;
  }

  #refuse(id, refusal) { this.#apply({ task: "refuseBatch", id, refusal }); }

  #apply(what) {
    this.#pending.push(job(what));
    this.#applications += 1;
  }

  #pause(refusal) {
    if (this.transport === null) return;
    this.isPaused = true;
    this.#pending.push({ do: "pause", refusal });
  }
}

const job = (what, bounds = null) => ({ do: "job", job: what, bounds });
