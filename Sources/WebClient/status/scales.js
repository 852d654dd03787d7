/** Where values lie in a picture, and the shapes that they make there. */

/** The least of 1, 2 and 5 times a power of ten that is not below `value`; 1 for nothing. */
export function niceCeiling(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  // 0.3 is 2.9999… tenths: a hair above a step is that step.
  const step = [1, 2, 5, 10].find((it) => it * power >= value * (1 - 1e-9));
  return Number((step * power).toPrecision(1));
}

/** The largest of the values that are there; 0 where none is. */
export const largest = (values) => values.reduce((most, it) => Math.max(most, it ?? 0), 0);

/** The least power of ten that is not below `value`. */
export const nextPower = (value) => Number(`1e${Math.ceil(Math.log10(value) - 1e-9)}`);

/** Scales: the share of the height at which a value lies, from 0 to 1. */
export const linear = (ceiling) => (value) => between(value / ceiling);
export const logarithmic = (floor, ceiling) => (value) =>
  between(Math.log(Math.max(value, floor) / floor) / Math.log(ceiling / floor));

const between = (share) => Math.min(1, Math.max(0, share));

/** @param {(number | null)[]} values of which null is not known */
export const sharesOf = (values, scale) =>
  values.map((value) => (value === null ? null : scale(value)));

/**
 * The `d` of a line through shares of the height in even steps, the newest at the right edge; a
 * null is a gap.
 *
 * @param {(number | null)[]} shares
 * @param {{width: number, height: number, places: number}} frame
 *   `places`: how many fit side by side
 */
export function linePath(shares, { width, height, places }) {
  const step = width / (places - 1);
  const words = [];
  shares.forEach((share, index) => {
    if (share === null) return;
    const x = width - (shares.length - 1 - index) * step;
    const y = height - share * height;
    const starts = index === 0 || shares[index - 1] === null;
    // One between two gaps is a point, which a line of no length with round ends shows.
    const stands = starts && (shares[index + 1] ?? null) === null;
    words.push(`${starts ? "M" : "L"}${round(x)} ${round(y)}${stands ? "h0" : ""}`);
  });
  return words.join("");
}

/** The bars of a histogram's buckets: what an SVG `rect` needs. What is there is seen. */
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
