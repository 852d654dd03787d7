/** Positions of values in a picture, and their shapes. */

/** Returns the least of 1, 2 and 5 times a power of ten that is not below `value`; 1 for 0 or
 * less. */
export function niceCeiling(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  // 0.3 is 2.9999… tenths: a value slightly above a step counts as that step.
  const step = [1, 2, 5, 10].find((it) => it * power >= value * (1 - 1e-9));
  return Number((step * power).toPrecision(1));
}

/** Returns the largest of the known values; 0 if there is none. */
export const largest = (values) => values.reduce((most, it) => Math.max(most, it ?? 0), 0);

/** Returns the least power of ten that is not below `value`. */
export const nextPower = (value) => Number(`1e${Math.ceil(Math.log10(value) - 1e-9)}`);

/** Scales: functions from a value to its share of the height, from 0 to 1. */
export const linear = (ceiling) => (value) => between(value / ceiling);
export const logarithmic = (floor, ceiling) => (value) =>
  between(Math.log(Math.max(value, floor) / floor) / Math.log(ceiling / floor));

const between = (share) => Math.min(1, Math.max(0, share));

/** @param {(number | null)[]} values null if not known */
export const sharesOf = (values, scale) =>
  values.map((value) => (value === null ? null : scale(value)));

/**
 * Returns the `d` attribute of a line through shares of the height in even steps, the newest at the
 * right edge; a null is a gap.
 *
 * @param {(number | null)[]} shares
 * @param {{width: number, height: number, places: number}} frame `places`: number of values that
 *   fit side by side
 */
export function linePath(shares, { width, height, places }) {
  const step = width / (places - 1);
  const words = [];
  shares.forEach((share, index) => {
    if (share === null) return;
    const x = width - (shares.length - 1 - index) * step;
    const y = height - share * height;
    const starts = index === 0 || shares[index - 1] === null;
    // A value between two gaps is a point, drawn as a line of length 0 with round ends.
    const isPoint = starts && (shares[index + 1] ?? null) === null;
    words.push(`${starts ? "M" : "L"}${round(x)} ${round(y)}${isPoint ? "h0" : ""}`);
  });
  return words.join("");
}

/** Returns the bars of a histogram's buckets, with the attributes of an SVG `rect`. A bar above 0
 * is at least one unit high, so that it is visible. */
export function bars(values, { width, height, gap, ceiling }) {
  const each = width / values.length;
  return values.map((value, index) => {
    const tall = value > 0 ? Math.max(1, (value / ceiling) * height) : 0;
    return {
      x: round(index * each + gap / 2), y: round(height - tall), width: round(each - gap),
      height: round(tall),
    };
  });
}

const round = (value) => Math.round(value * 100) / 100;
