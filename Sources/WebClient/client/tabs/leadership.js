import { limits } from "../limits.js";
import { Deadline } from "../uplink/environment.js";

/**
 * Of all tabs of a store one leads. With Web Locks it is the one that holds the lock, and the next
 * gets it when that tab is closed. Without them (plain http) it is the one whose lease stands in
 * the store: it renews it, and another tab takes over once it has run out.
 *
 * Either way the store counts terms, and takes no writes of an earlier one: a tab that was put to
 * sleep, and does not know that another leads by now, does no harm.
 */
export class Leadership {
  #store;
  #locks;
  #environment;
  #name;
  #holder;
  #led;
  #deposed;
  #term = null;
  #isClosed = false;
  #renewal;
  #release = null;

  /** @param {{store: object, locks: LockManager | undefined, environment: object, name: string,
   *   holder: string, led: (term: number) => void, deposed: () => void}} options */
  constructor({ store, locks, environment, name, holder, led, deposed }) {
    this.#store = store;
    this.#locks = store.isDurable ? locks : undefined;
    this.#environment = environment;
    this.#name = `lockstep ${name}`;
    this.#holder = holder;
    this.#led = led;
    this.#deposed = deposed;
    this.#renewal = new Deadline(environment);
  }

  get isLeading() { return this.#term !== null; }

  /** Leads if nobody does, or waits until nobody does. */
  start() {
    if (this.#locks) this.#awaitLock({});
    else this.#renew();
  }

  /** The tab that leads does not answer. */
  async takeOver() {
    if (this.#isClosed || this.isLeading) return;
    if (this.#locks) this.#awaitLock({ steal: true });
    else await this.#claim(true);
  }

  /** A new term, in which nothing counts that was begun before. */
  async renewTerm() {
    const { term } = await this.#store.claim(this.#claimOf(true));
    this.#term = term;
    return term;
  }

  /** Another tab has written as the leader. */
  stepDown() {
    if (!this.isLeading) return;
    this.#term = null;
    this.#release?.();
    this.#release = null;
    this.#deposed();
    if (!this.#isClosed) this.start();
  }

  close() {
    this.#isClosed = true;
    // The next need not wait until the lease runs out; where this fails, it does.
    if (this.isLeading && !this.#locks) {
      this.#store.claim({ ...this.#claimOf(false), milliseconds: 0 }).catch(() => {});
    }
    this.#term = null;
    this.#renewal.clear();
    this.#release?.();
    this.#release = null;
  }

  #awaitLock(options) {
    this.#locks.request(this.#name, options, () => {
      if (this.#isClosed || this.isLeading) return undefined;
      // Held until it is released, or stolen.
      return new Promise((resolve) => {
        this.#release = resolve;
        this.#claim(true).catch(resolve);
      });
    }).catch(() => {
      // Stolen by a tab that found this one silent.
      this.#release = null;
      this.stepDown();
    });
  }

  async #claim(force) {
    const { isHeld, term } = await this.#store.claim(this.#claimOf(force));
    if (this.#isClosed) return;
    if (isHeld && term !== this.#term) {
      this.#term = term;
      this.#led(term);
    }
    if (!isHeld && this.isLeading) {
      this.#term = null;
      this.#deposed();
    }
  }

  #claimOf(force) {
    return { holder: this.#holder, now: this.#environment.wall(), force,
      milliseconds: limits.leaseMilliseconds };
  }

  async #renew() {
    try {
      await this.#claim(false);
    } catch {
      // A store that fails now is tried again with the next renewal; the lease may run out.
    }
    if (!this.#isClosed) this.#renewal.set(limits.leaseRenewalMilliseconds, () => this.#renew());
  }
}
