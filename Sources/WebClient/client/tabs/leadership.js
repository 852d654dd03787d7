import { limits } from "../limits.js";
import { Deadline } from "../transport/environment.js";

/**
 * Choice of the tab that leads among all tabs of a store. With Web Locks it is the tab that holds
 * the lock, and the next tab gets the lock when that tab closes. Without them (plain http) it is
 * the tab whose lease is in the store: the tab renews it, and another tab takes over after it
 * expires.
 *
 * In both cases the store counts terms, and accepts no writes of an earlier term. So a suspended
 * tab that does not know that another tab leads can do no harm.
 */
export class Leadership {
  #store;
  #locks;
  #environment;
  #name;
  #holder;
  #onLeading;
  #onDeposed;
  #term = null;
  #isClosed = false;
  #renewal;
  #release = null;

  /** @param {{store: object, locks: LockManager | undefined, environment: object, name: string,
   *   holder: string, onLeading: (term: number) => void, onDeposed: () => void}} options */
  constructor({ store, locks, environment, name, holder, onLeading, onDeposed }) {
    this.#store = store;
    this.#locks = store.isShared ? locks : undefined;
    this.#environment = environment;
    this.#name = `lockstep ${name}`;
    this.#holder = holder;
    this.#onLeading = onLeading;
    this.#onDeposed = onDeposed;
    this.#renewal = new Deadline(environment);
  }

  get isLeading() { return this.#term !== null; }

  /** Leads if no tab leads, or waits until then. */
  start() {
    if (this.#locks) this.#awaitLock({});
    else this.#renew();
  }

  /** Becomes the leader in place of a tab that does not answer. */
  async takeOver() {
    if (this.#isClosed || this.isLeading) return;
    if (this.#locks) this.#awaitLock({ steal: true });
    else await this.#claim(true);
  }

  /** Begins a new term, which invalidates everything begun before. */
  async renewTerm() {
    const { term } = await this.#store.claim(this.#claimOf(true));
    this.#term = term;
    return term;
  }

  /** Gives up the lead, because another tab has written as the leader. */
  stepDown() {
    if (!this.isLeading) return;
    this.#term = null;
    this.#release?.();
    this.#release = null;
    this.#onDeposed();
    if (!this.#isClosed) this.start();
  }

  close() {
    this.#isClosed = true;
    // The next tab need not wait until the lease expires. If this fails, it waits.
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
      // Stolen by a tab that received no answer from this one.
      this.#release = null;
      this.stepDown();
    });
  }

  async #claim(force) {
    const { isHeld, term } = await this.#store.claim(this.#claimOf(force));
    if (this.#isClosed) return;
    if (isHeld && term !== this.#term) {
      this.#term = term;
      this.#onLeading(term);
    }
    if (!isHeld && this.isLeading) {
      this.#term = null;
      this.#onDeposed();
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
      // After a failure of the store the next renewal tries again; the lease may expire.
    }
    if (!this.#isClosed) this.#renewal.set(limits.leaseRenewalMilliseconds, () => this.#renew());
  }
}
