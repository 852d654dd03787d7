import { growth } from "./histogram.js";

/**
 * The relay's figures over the last minutes, a sample each time it was asked, and what they tell
 * together: a counter says something only beside an earlier one.
 */
export class History {
  /**
   * @param {number} capacity samples that are kept
   */
  constructor(capacity) {
    this.capacity = capacity;
    /** Oldest first; `figures` is null where the relay did not answer. */
    this.samples = [];
  }

  /** @param {number} at seconds of a clock that only goes forward */
  add(at, figures) {
    this.samples.push({ at, figures });
    if (this.samples.length > this.capacity) this.samples.shift();
  }

  /** The samples of the last `seconds` up to the newest that were answered, without a gap. */
  window(seconds) {
    const newest = this.samples.at(-1);
    if (!newest?.figures) return [];
    let first = this.samples.length - 1;
    while (first > 0 && this.samples[first - 1].figures
      && newest.at - this.samples[first - 1].at <= seconds) first -= 1;
    return this.samples.slice(first);
  }

  /**
   * How much a counter grew in the last `seconds`; null where that is not known yet.
   *
   * @param {(figures: object) => number | null} read
   */
  increase(seconds, read) {
    const values = this.window(seconds).map((it) => read(it.figures));
    if (values.length < 2 || values.includes(null)) return null;
    return values.slice(1).reduce((sum, value, index) => sum + step(values[index], value), 0);
  }

  /** The same a second. */
  rate(seconds, read) {
    const grown = this.increase(seconds, read);
    const samples = this.window(seconds);
    return grown === null ? null : grown / (samples.at(-1).at - samples[0].at);
  }

  /** What came into a histogram in the last `seconds`; null where that is not known yet. */
  histogram(seconds, read) {
    const values = this.window(seconds).map((it) => read(it.figures));
    return values.length < 2 || values.includes(null) ? null : growth(values);
  }
}

/** A counter that is smaller than before began anew at 0: the relay was started again. */
function step(before, after) { return after >= before ? after - before : after; }
