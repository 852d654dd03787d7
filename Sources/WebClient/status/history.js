import { growth } from "./histogram.js";

/**
 * The relay's figures over the last minutes, one sample for each request, and values computed from
 * several samples: a counter is useful only compared with an earlier one.
 */
export class History {
  /** @param {number} capacity maximum number of samples */
  constructor(capacity) {
    this.capacity = capacity;
    /** Oldest first; `figures` is null if the relay did not answer. */
    this.samples = [];
  }

  /** @param {number} at seconds of a monotonic clock */
  add(at, figures) {
    this.samples.push({ at, figures });
    if (this.samples.length > this.capacity) this.samples.shift();
  }

  /** Returns the answered samples of the last `seconds` up to the newest, without a gap. */
  window(seconds) {
    const newest = this.samples.at(-1);
    if (!newest?.figures) return [];
    let first = this.samples.length - 1;
    while (first > 0 && this.samples[first - 1].figures
      && newest.at - this.samples[first - 1].at <= seconds) first -= 1;
    return this.samples.slice(first);
  }

  /**
   * Returns the increase of a counter in the last `seconds`; null if it is not known yet.
   *
   * @param {(figures: object) => number | null} read
   */
  increase(seconds, read) {
    const values = this.window(seconds).map((it) => read(it.figures));
    if (values.length < 2 || values.includes(null)) return null;
    return values.slice(1).reduce((sum, value, index) => sum + step(values[index], value), 0);
  }

  /** Returns the increase per second. */
  rate(seconds, read) {
    const grown = this.increase(seconds, read);
    const samples = this.window(seconds);
    return grown === null ? null : grown / (samples.at(-1).at - samples[0].at);
  }

  /** Returns the values added to a histogram in the last `seconds`; null if they are not known
   * yet. */
  histogram(seconds, read) {
    const values = this.window(seconds).map((it) => read(it.figures));
    return values.length < 2 || values.includes(null) ? null : growth(values);
  }
}

/** A counter that is smaller than before began at 0: the relay was restarted. */
function step(before, after) { return after >= before ? after - before : after; }
