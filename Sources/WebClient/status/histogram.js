/** What histograms tell: `{bounds, cumulative, sum}`, as `figures.js` reads them. */

export const countOf = (histogram) => histogram.cumulative.at(-1);

/**
 * What came in between the first and the last of some states of one histogram. One that has fewer
 * values than before began anew: the relay was started again.
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

/** Values of each bucket alone. */
export const bucketsOf = ({ cumulative }) =>
  cumulative.map((count, index) => count - (cumulative[index - 1] ?? 0));

/**
 * The value that a share of all stays below, as Prometheus' histogram_quantile reckons: values
 * spread evenly within their bucket, and nothing is known above the last bound. Null where there
 * are no values.
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
 * Where a value lies among the buckets, from 0 at their left to their number at their right; a
 * bucket is one wide.
 */
export function placeOf({ bounds }, value) {
  const index = bounds.findIndex((bound) => value <= bound);
  const [lower, upper] = [bounds[index - 1] ?? 0, bounds[index]];
  return upper === Infinity ? index : index + (value - lower) / (upper - lower);
}
