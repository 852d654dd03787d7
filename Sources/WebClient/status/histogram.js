/** Statistics of histograms `{bounds, cumulative, sum}`, as `figures.js` reads them. */

export const countOf = (histogram) => histogram.cumulative.at(-1);

/**
 * Returns the values added between the first and the last of several states of one histogram. A
 * state with fewer values than the one before began at 0: the relay was restarted.
 */
export function growth(states) {
  const { bounds } = states.at(-1);
  const cumulative = bounds.map(() => 0);
  let sum = 0;
  for (let index = 1; index < states.length; index += 1) {
    const [before, after] = [states[index - 1], states[index]];
    const isAnew = countOf(after) < countOf(before) || before.bounds.length !== bounds.length;
    if (after.bounds.length !== bounds.length) continue;
    after.cumulative.forEach((count, at) => {
      cumulative[at] += count - (isAnew ? 0 : before.cumulative[at]);
    });
    sum += after.sum - (isAnew ? 0 : before.sum);
  }
  return { bounds, cumulative, sum };
}

/** Returns the number of values in each bucket. */
export const bucketsOf = ({ cumulative }) =>
  cumulative.map((count, index) => count - (cumulative[index - 1] ?? 0));

/**
 * Returns the value below which a share of all values is, as Prometheus' histogram_quantile
 * computes it: values are evenly distributed within their bucket, and nothing is known above the
 * last bound. null if there are no values.
 *
 * @param {number} share from 0 to 1
 */
export function quantileOf(histogram, share) {
  const { bounds, cumulative } = histogram;
  const count = countOf(histogram);
  if (count === 0) return null;
  const rank = share * count;
  const index = cumulative.findIndex((upTo) => upTo >= rank);
  if (bounds[index] === Infinity) return bounds.at(-2) ?? null;
  const lower = bounds[index - 1] ?? 0;
  const below = cumulative[index - 1] ?? 0;
  const within = cumulative[index] - below;
  return within === 0
    ? bounds[index] : lower + (bounds[index] - lower) * ((rank - below) / within);
}

/**
 * Returns the position of a value among the buckets, from 0 at their left edge to their number at
 * their right edge; a bucket has width 1.
 */
export function placeOf({ bounds }, value) {
  const index = bounds.findIndex((bound) => value <= bound);
  const [lower, upper] = [bounds[index - 1] ?? 0, bounds[index]];
  return upper === Infinity ? index : index + (value - lower) / (upper - lower);
}
