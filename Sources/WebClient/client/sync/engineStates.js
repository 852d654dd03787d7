/**
 * The states of `SyncEngine`: its fetch, its save, and what the relay sends without a request. The
 * comment of each state names the legal next states; `Tests/WebClientTests/client/syncStates.json`
 * has them with the events that lead there, for this engine and for the devices' one in Swift.
 */

/** A state that events change. `moves`: for each event, the next states that differ. */
class Machine {
  #first;
  #name;

  constructor(first) {
    this.#first = first;
    this.#name = first;
  }

  get name() { return this.#name; }

  /** Returns to the first state: without an uplink. */
  reset() { this.#name = this.#first; }

  follow(moves) { this.#name = moves[this.#name] ?? this.#name; }
}

/**
 * The changes of other devices, and the fetch that reads them.
 *
 * - `behind`: changes may be missing; those that are known of come without a request, or are being
 *   applied. Also without an uplink. → required, caughtUp
 * - `required`: a fetch must begin. → fetching, behind
 * - `fetching` → behind, caughtUp, required, fetchingAgain, fetchingStale
 * - `fetchingAgain`: another fetch is required after the running one. → required, fetchingStale,
 *   behind
 * - `fetchingStale`: the running fetch follows a page that could not be applied. Its page is
 *   dropped, and another fetch is required. Not reached by this engine, which fetches no page ahead
 *   of those that are being applied. → required, behind
 * - `caughtUp`: all changes are here, as far as is known. → checkDue, required, behind
 * - `checkDue`: as `caughtUp`, and a routine fetch is due. → checking, required, behind
 * - `checking`: as `caughtUp`, and the routine fetch is running. → caughtUp, required,
 *   checkingAgain, fetchingAgain, fetchingStale, behind
 * - `checkingAgain`: as `checking`, and another one is due. → checkDue, required, fetchingAgain,
 *   fetchingStale, behind
 */
export class FetchState extends Machine {
  constructor() { super("behind"); }

  /** True if a fetch must begin, also if one is running. */
  get isRequired() {
    return ["required", "fetchingAgain", "fetchingStale", "checkDue", "checkingAgain"]
      .includes(this.name);
  }

  get isRunning() {
    return ["fetching", "fetchingAgain", "fetchingStale", "checking", "checkingAgain"]
      .includes(this.name);
  }

  get isCaughtUp() {
    return ["caughtUp", "checkDue", "checking", "checkingAgain"].includes(this.name);
  }

  /** True if no fetch is running or required. */
  get isIdle() { return this.name === "behind" || this.name === "caughtUp"; }

  get mayBegin() { return this.name === "required" || this.name === "checkDue"; }

  /** Requires a fetch, because changes may be missing. */
  require() {
    this.follow({ behind: "required", caughtUp: "required", checkDue: "required",
      fetching: "fetchingAgain", checking: "fetchingAgain", checkingAgain: "fetchingAgain" });
  }

  /** Requires a fetch, and that the page of the running one is dropped. */
  startAnew() {
    this.require();
    this.follow({ fetchingAgain: "fetchingStale" });
  }

  /** Requires a fetch as a routine. */
  check() {
    this.follow({ behind: "required", fetching: "fetchingAgain", caughtUp: "checkDue",
      checking: "checkingAgain" });
  }

  /** Begins the required fetch. */
  begin() { this.follow({ required: "fetching", checkDue: "checking" }); }

  /** Ends the running fetch. */
  end() {
    this.follow({ fetching: "behind", fetchingAgain: "required", fetchingStale: "required",
      checking: "caughtUp", checkingAgain: "checkDue" });
  }

  /** Records that all known changes are here, unless a fetch is running or required. */
  complete() { this.follow({ behind: "caughtUp" }); }
}

/**
 * The batch that is sent to the relay.
 *
 * - `idle` → offering
 * - `offering`: a job may freeze the next batch. → sent, idle
 * - `sent`: the batch was sent on this uplink, and not answered. → idle
 */
export class SaveState extends Machine {
  /** The batch that was sent; null in the other states. */
  batch = null;

  constructor() { super("idle"); }

  get isIdle() { return this.name === "idle"; }

  beginOffer() { this.follow({ idle: "offering" }); }

  endOffer() { this.follow({ offering: "idle" }); }

  beginSave(batch) {
    this.follow({ idle: "sent" });
    this.batch = batch;
  }

  /** Ends the save, with an answer or without. */
  endSave() {
    this.follow({ sent: "idle" });
    this.batch = null;
  }
}

/**
 * Messages of the relay without a fetch. Without an uplink: `plain`, and `chained` from the
 * greeting on.
 *
 * - `plain`: pushed changes, if there are any, need not follow the cursor. → chained, dropping,
 *   waiting, listening
 * - `chained`: the relay pushes what was missed, because the greeting had the cursor. → plain
 * - `dropping`: a batch of an earlier uplink is frozen; nothing pushed is applied before its
 *   answer, and before the fetch that follows. → plain
 * - `waiting`: a long-poll is held. → plain, listeningAndWaiting
 * - `listening`: a stream of events is open. → plain
 * - `listeningAndWaiting`: a stream of events is open, and a long-poll from before is still held.
 *   → waiting, listening, plain
 */
export class StreamState extends Machine {
  constructor() { super("plain"); }

  get isChained() { return this.name === "chained"; }
  get dropsPages() { return this.name === "dropping"; }
  get isWaiting() { return this.name === "waiting" || this.name === "listeningAndWaiting"; }
  get isListening() { return this.name === "listening" || this.name === "listeningAndWaiting"; }

  chain() { this.follow({ plain: "chained" }); }

  unchain() { this.follow({ chained: "plain" }); }

  /** Drops what is pushed until a fetch begins. */
  beginDropping() { this.follow({ plain: "dropping", chained: "dropping" }); }

  endDropping() { this.follow({ dropping: "plain" }); }

  beginWait() { this.follow({ plain: "waiting", listening: "listeningAndWaiting" }); }

  endWait() { this.follow({ waiting: "plain", listeningAndWaiting: "listening" }); }

  beginListening() { this.follow({ plain: "listening", waiting: "listeningAndWaiting" }); }

  endListening() { this.follow({ listening: "plain", listeningAndWaiting: "waiting" }); }
}
